// Requests of a dialect: builds URL, query, headers and body from templates.
//
// The same attempt always gives the same bytes.
import { ok } from "node:assert/strict";
import type { Json } from "../../domain/types.ts";
import type { ProviderRequest } from "../port.ts";
import { DialectError, type Known, type Reading, type Scope, writtenReading } from "./placeholders.ts";
import type { RequestTemplate } from "./schema.ts";
import { templateReading, within } from "./template.ts";

/** The values that may occur in a URL; none of them contains client input. */
const IN_ADDRESSES = ["route", "job", "ref", "ref_uuid", "page"];

/** Encoded by segment, because an endpoint and some job names contain slashes. */
const encoded = (value: string): string => value.split("/").map(encodeURIComponent).join("/");

const membersOf = (templates: Readonly<Record<string, Json>> | undefined, known: Known): [string, Reading][] =>
  Object.entries(templates ?? {}).map(([name, template]) => [name, within(name, () => templateReading(template, known))]);

const wordOf = (value: Json): string => (typeof value === "object" ? JSON.stringify(value) : String(value));

const filled = (members: readonly [string, Reading][], scope: Scope): [string, string][] =>
  members.flatMap(([name, read]) => {
    const value = read(scope);
    return value === undefined ? [] : [[name, wordOf(value)] as [string, string]];
  });

export type MakeRequest = (scope: Scope, baseUrl: string) => ProviderRequest;

/** Compiles the template of a request. @param known the names that its templates may use @throws DialectError */
export const requestOf = (template: RequestTemplate, shared: Readonly<Record<string, string>>, known: Known): MakeRequest => {
  const { url, path, query, headers, body, form } = template;
  if (url === undefined && path === undefined) throw new DialectError("a request needs a path or a url");
  if (body !== undefined && form !== undefined) throw new DialectError("a request has a body or a form, not both");
  const inAddresses = known.filter((name) => IN_ADDRESSES.includes(name));
  const address = url === undefined ? undefined : within("url", () => writtenReading(url, inAddresses));
  const way = path === undefined ? undefined : within("path", () => writtenReading(path, inAddresses, encoded));
  const requested = within("query", () => membersOf(query, known));
  const reported = within("headers", () => membersOf({ ...shared, ...headers }, known));
  const whole = body === undefined ? undefined : within("body", () => templateReading(body, known));
  const parts = form === undefined ? undefined : within("form", () => membersOf(form, known));
  const method = (template.method ?? (whole || parts ? "POST" : "GET")) as ProviderRequest["method"];
  return (scope, baseUrl) => {
    const below = way?.(scope);
    const target = address?.(scope) ?? (below === undefined ? undefined : `${baseUrl}${below}`);
    ok(target !== undefined, "the address of a request lacks a value");
    const search = new URLSearchParams(filled(requested, scope)).toString();
    const json = whole?.(scope);
    return {
      method,
      url: search === "" ? target : `${target}${target.includes("?") ? "&" : "?"}${search}`,
      headers: {
        ...(whole ? { "content-type": "application/json" } : {}),
        ...Object.fromEntries(filled(reported, scope).map(([name, value]) => [name.toLowerCase(), value])),
      },
      ...(whole ? { body: json ?? {} } : {}),
      ...(parts ? { form: Object.fromEntries(filled(parts, scope)) } : {}),
    };
  };
};
