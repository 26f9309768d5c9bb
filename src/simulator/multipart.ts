// Parses `multipart/form-data` bodies for providers that accept forms instead of JSON.
import type { JsonObject } from "../domain/types.ts";
import { isObject, type SimulatorRequest } from "./http-server.ts";

const KIND = /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"]+)"|([^\s;"]+))/i;
const NAME = /^content-disposition:\s*form-data\s*;\s*(?:.*;\s*)?name="([^"]*)"/im;
const FILE_NAME = /^content-disposition:.*;\s*filename\*?=/im;
const FILE_KIND = /^content-type:\s*([^\s;]+)/im;

/** One part as `[name, value]`: a text unchanged, a file as a data URI. Undefined if it has no name. */
const partOf = (part: string): [string, string] | undefined => {
  const end = part.indexOf("\r\n\r\n");
  const head = part.slice(0, end);
  const [, name] = NAME.exec(head) ?? [];
  if (end < 0 || name === undefined) return undefined;
  const value = Buffer.from(part.slice(end + 4), "latin1");
  if (!FILE_NAME.test(head)) return [name, value.toString("utf8")];
  const [, mime = "application/octet-stream"] = FILE_KIND.exec(head) ?? [];
  return [name, `data:${mime};base64,${value.toString("base64")}`];
};

/** Adds a part to the form: `size` by its name, `image[]` at the end of a list, `picture[url]` into an object. */
const place = (form: JsonObject, [path, value]: [string, string]): void => {
  const [, name = path, member] = /^([^[]+)\[([^\]]*)\]$/.exec(path) ?? [];
  const there = form[name];
  if (member === undefined) form[name] = value;
  else if (member === "") form[name] = [...(Array.isArray(there) ? there : []), value];
  else form[name] = { ...(isObject(there) ? there : {}), [member]: value };
};

/**
 * A form as an object; of parts with the same plain name the last counts. Undefined if the body is not a form or is incomplete.
 */
export const formObject = (request: SimulatorRequest): JsonObject | undefined => {
  const [, quoted, plain] = KIND.exec(request.headers["content-type"] ?? "") ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) return undefined;
  // One character per byte, because parts can contain arbitrary bytes.
  const body = Buffer.from(request.body.buffer, request.body.byteOffset, request.body.byteLength).toString("latin1");
  const [, ...pieces] = `\r\n${body}`.split(`\r\n--${boundary}`);
  const tail = pieces.pop();
  if (tail === undefined || !tail.startsWith("--")) return undefined;
  const parts = pieces.map((piece) => (piece.startsWith("\r\n") ? partOf(piece.slice(2)) : undefined));
  if (parts.some((part) => part === undefined)) return undefined;
  const form: JsonObject = {};
  for (const part of parts) if (part) place(form, part);
  return form;
};
