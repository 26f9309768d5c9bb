// Renders the API reference without scripts: every operation with its parameters and responses. It is readable before the viewer
// has loaded, and where scripts are off.
import type { JsonObject } from "../../domain/types.ts";
import { openApiDocument } from "../openapi/document.ts";
import { escaped } from "./page.ts";

type Named = { name: string; in: string; description?: string; required?: boolean };
type Operation = {
  summary: string;
  description?: string;
  tags?: string[];
  parameters?: JsonObject[];
  responses: Record<string, JsonObject>;
};

/** Text in Markdown as HTML, without headings of its own. */
const prose = (text: string): string => Bun.markdown.html(escaped(text).replaceAll("&quot;", '"'));

/** Follows a `$ref` of the document. */
const resolved = (document: JsonObject, node: JsonObject): JsonObject => {
  const ref = node.$ref;
  if (typeof ref !== "string") return node;
  return ref
    .slice(2)
    .split("/")
    .reduce<JsonObject>((at, part) => at[part] as JsonObject, document);
};

const rows = (pairs: readonly (readonly [string, string])[]): string =>
  pairs.length === 0 ? "" : `<dl>\n${pairs.map(([name, text]) => `<dt>${name}</dt><dd>${text}</dd>`).join("\n")}\n</dl>`;

const operationHtml = (document: JsonObject, method: string, path: string, operation: Operation): string => {
  const parameters = (operation.parameters ?? []).map((each): readonly [string, string] => {
    const { name, in: place, description = "", required } = resolved(document, each) as unknown as Named;
    return [`<code>${escaped(name)}</code>`, `${place}${required ? ", required" : ""}${prose(description)}`];
  });
  const responses = Object.entries(operation.responses).map(([status, response]): readonly [string, string] => {
    const { description } = resolved(document, response) as { description?: string };
    return [`<code>${escaped(status)}</code>`, prose(description ?? "")];
  });
  return `<section>
<h3><code>${method.toUpperCase()} ${escaped(path)}</code> ${escaped(operation.summary)}</h3>
${prose(operation.description ?? "")}
${rows(parameters)}
${rows(responses)}
</section>`;
};

/** HTML for the place that the viewer fills later. */
export const staticReference = (): string => {
  const document = openApiDocument() as JsonObject & { info: { description: string }; paths: JsonObject };
  const operations = Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => method !== "options")
      .map(([method, operation]) => ({ method, path, operation })),
  );
  const byTag = Map.groupBy(operations, ({ operation }) => operation.tags?.[0] ?? "other");
  const parts = [...byTag].map(
    ([tag, some]) =>
      `<h2>${escaped(tag)}</h2>\n${some.map(({ method, path, operation }) => operationHtml(document, method, path, operation)).join("\n")}`,
  );
  return `<main class="static">
<h1>API reference</h1>
${prose(document.info.description)}
<p>OpenAPI document: <a href="/openapi.json">/openapi.json</a></p>
${parts.join("\n")}
</main>`;
};
