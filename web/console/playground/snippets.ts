// Formats a playground request as code, with the API key as an environment variable.
import type { JsonObject } from "../../../src/domain/types.ts";

export type SnippetRequest = { model: string; input: JsonObject };

/** Shell quoting: inside single quotes only the quote itself is special. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
const indented = (value: unknown, spaces: number): string =>
  JSON.stringify(value, null, 2).replaceAll("\n", `\n${" ".repeat(spaces)}`);

const curl = (origin: string, request: SnippetRequest): string => `curl ${origin}/v1/generations \\
  -H "Authorization: Bearer $GENROUTER_API_KEY" \\
  -H "Content-Type: application/json" \\
  -H "Idempotency-Key: $(uuidgen)" \\
  -d ${quoted(JSON.stringify(request))}`;

const typescript = (origin: string, request: SnippetRequest): string => `import { createClient } from "@genrouter/client";

const client = createClient({
  url: ${JSON.stringify(origin)},
  key: process.env.GENROUTER_API_KEY ?? "",
});
const { generation, files } = await client.generate(${indented(request, 0)});
console.log(generation.cost_usd, files);`;

/** JSON differs from Python in three literals, which are replaced outside of strings. */
const pythonOf = (value: unknown): string =>
  indented(value, 4).replace(/"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b/g, (part) =>
    part === "true" ? "True" : part === "false" ? "False" : part === "null" ? "None" : part,
  );

const python = (origin: string, request: SnippetRequest): string => `import os, time, uuid
import requests

api = ${JSON.stringify(`${origin}/v1/generations`)}
key = {"Authorization": "Bearer " + os.environ["GENROUTER_API_KEY"]}
answer = requests.post(
    api,
    headers={**key, "Idempotency-Key": str(uuid.uuid4())},
    json=${pythonOf(request)},
    timeout=60,
)
answer.raise_for_status()
generation = answer.json()
while generation["status"] in ("queued", "running"):
    time.sleep(2)
    generation = requests.get(api + "/" + generation["id"], headers=key, timeout=60).json()
print(generation["output"] or generation["error"])`;

export const SNIPPETS = [
  { id: "curl", says: "curl", of: curl },
  { id: "typescript", says: "TypeScript", of: typescript },
  { id: "python", says: "Python", of: python },
] as const;
