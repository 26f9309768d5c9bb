// Placeholders of a dialect file, compiled once and filled for each request.
//
// Examples are `{input.prompt}` and `{input.duration|string}`.
import type { Json } from "../../domain/types.ts";
import { readPlaceholder } from "../request-body.ts";

/** Values by their first name: `input`, `raw`, `mapped`, `route`, `ref`, `job`, … */
export type Scope = Readonly<Record<string, unknown>>;
export type Reading = (scope: Scope) => Json | undefined;
/** The names that a template of a dialect file may use, e.g. `input` and `route` in a submission. */
export type Known = readonly string[];

/** A fault of a dialect file. The caller that knows the path reports it as `path: message`. */
export class DialectError extends Error {}

const PLACEHOLDER = /\{([^{}]*)\}/g;
const PATH = /^[a-z][a-z0-9_]*(\.[A-Za-z0-9_-]+)*$/;

type Filter = (value: Json, argument: string) => Json | undefined;
const numberOf = (value: Json): number | undefined => {
  const number =
    typeof value === "number" ? value : typeof value === "string" && value.trim() !== "" ? Number(value) : Number.NaN;
  return Number.isFinite(number) ? number : undefined;
};
const wholeOf = (value: Json): number | undefined => {
  const number = numberOf(value);
  return number !== undefined && Number.isSafeInteger(number) ? number : undefined;
};
const wordOf = (value: Json): string | undefined => (typeof value === "object" ? undefined : String(value));
const cut = (value: Json, at: string, side: 0 | 1): string | undefined => {
  const word = wordOf(value);
  const place = word?.indexOf(at) ?? -1;
  if (word === undefined || at === "" || place < 0) return undefined;
  return side === 0 ? word.slice(0, place) : word.slice(place + at.length);
};

/** The file extension of a link in lower case: `jpg` of `https://a.example/b.JPG?c=d`. */
const extensionOf = (link: string): string =>
  /\.([a-z0-9]{2,5})$/i.exec(link.split(/[?#]/, 1)[0]?.slice(-8) ?? "")?.[1]?.toLowerCase() ?? "";
/**
 * For providers that require the media type of a link. It is derived from the extension, because the file itself is not
 * available. The type of a file inside the request is known.
 */
const MIME_BY_EXTENSION: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  webp: "image/webp",
  gif: "image/gif",
  bmp: "image/bmp",
  avif: "image/avif",
  heic: "image/heic",
  heif: "image/heif",
  mp4: "video/mp4",
  mov: "video/quicktime",
  webm: "video/webm",
  mp3: "audio/mpeg",
  wav: "audio/wav",
  ogg: "audio/ogg",
  flac: "audio/flac",
  m4a: "audio/mp4",
};

/** Filters for values in a request. A value that a filter cannot convert is omitted like a missing one. */
const FILTERS: Readonly<Record<string, Filter>> = {
  string: wordOf,
  int: wholeOf,
  number: numberOf,
  upper: (value) => wordOf(value)?.toUpperCase(),
  lower: (value) => wordOf(value)?.toLowerCase(),
  first: (value) => (Array.isArray(value) ? value[0] : value),
  before: (value, at) => cut(value, at, 0),
  after: (value, at) => cut(value, at, 1),
  times: (value, by) => {
    const number = numberOf(value);
    return number === undefined ? undefined : number * Number(by);
  },
  iso: (value) => {
    const ms = numberOf(value);
    return ms === undefined ? undefined : new Date(ms).toISOString();
  },
  unix: (value) => {
    const ms = numberOf(value);
    return ms === undefined ? undefined : Math.floor(ms / 1000);
  },
  mime: (value, byDefault) => {
    const word = wordOf(value) ?? "";
    return readPlaceholder(word)?.mime ?? MIME_BY_EXTENSION[extensionOf(word)] ?? byDefault;
  },
  base64: (value) => {
    const word = wordOf(value);
    return word === undefined ? undefined : Buffer.from(word, "utf8").toString("base64");
  },
};
const ARGUED = ["before", "after", "times", "mime"];

const argumentFault = (name: string, argument: string | undefined): string | undefined => {
  if (ARGUED.includes(name) !== (argument !== undefined))
    return `|${name} ${argument === undefined ? "needs an" : "takes no"} argument`;
  if (name === "times" && !Number.isFinite(Number(argument))) return "|times needs a number";
  return undefined;
};

/** Compiles the path of a value, e.g. `input.prompt`. @throws DialectError for an unknown name. */
export const pathReading = (path: string, known: Known): Reading => {
  if (!PATH.test(path)) throw new DialectError(`"${path}" is not the name of a value`);
  const [first = "", ...rest] = path.split(".");
  if (!known.includes(first)) throw new DialectError(`"${first}" is not a known value; allowed are ${known.join(", ")}`);
  return (scope) => {
    let value: unknown = scope[first];
    for (const name of rest) {
      if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
      value = (value as Record<string, unknown>)[name];
    }
    return (value ?? undefined) as Json | undefined;
  };
};

/** Compiles the content of the braces. `else` gives the default for a missing value, as JSON if it parses. */
const placeholderReading = (text: string, known: Known): Reading => {
  const [path = "", ...filters] = text.split("|");
  const read = pathReading(path.trim(), known);
  const steps = filters.map((filter): ((value: Json | undefined) => Json | undefined) => {
    const [, name = "", argument] = /^([a-z0-9]+)(?::(.*))?$/.exec(filter.trim()) ?? [];
    if (name === "else") {
      if (argument === undefined) throw new DialectError("|else needs a value");
      const standIn = jsonOr(argument);
      return (value) => value ?? standIn;
    }
    const apply = Object.hasOwn(FILTERS, name) ? FILTERS[name] : undefined;
    if (!apply)
      throw new DialectError(`"|${filter}" is not a filter; allowed are ${[...Object.keys(FILTERS), "else"].join(", ")}`);
    const fault = argumentFault(name, argument);
    if (fault) throw new DialectError(fault);
    return (value) => (value === undefined ? undefined : apply(value, argument ?? ""));
  });
  return (scope) => steps.reduce((value, step) => step(value), read(scope));
};

const jsonOr = (text: string): Json => {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
};

/** @throws DialectError for an unknown name or filter, and for an unmatched brace. */
const partsOf = (text: string, known: Known): (string | Reading)[] => {
  const parts: (string | Reading)[] = [];
  let end = 0;
  for (const found of text.matchAll(PLACEHOLDER)) {
    if (found.index > end) parts.push(text.slice(end, found.index));
    parts.push(placeholderReading(found[1] ?? "", known));
    end = found.index + found[0].length;
  }
  if (end < text.length) parts.push(text.slice(end));
  if (parts.some((part) => typeof part === "string" && /[{}]/.test(part)))
    throw new DialectError(`"${text}" has an unmatched brace`);
  return parts;
};

/**
 * Compiles a text with embedded values, e.g. a URL. The whole text is missing if one of its values is.
 * @param write encodes a value, e.g. as percent-encoding
 * @throws DialectError
 */
export const writtenReading = (text: string, known: Known, write: (value: string) => string = (value) => value) => {
  const parts = partsOf(text, known);
  return (scope: Scope): string | undefined => {
    let whole = "";
    for (const part of parts) {
      const value = typeof part === "string" ? part : part(scope);
      if (value === undefined || typeof value === "object") return undefined;
      whole += typeof part === "string" ? part : write(String(value));
    }
    return whole;
  };
};

/** Compiles a text that may be a single placeholder, which then keeps the type of its value. @throws DialectError */
export const valueReading = (text: string, known: Known): Reading => {
  const [only, ...more] = partsOf(text, known);
  return typeof only === "function" && more.length === 0 ? only : writtenReading(text, known);
};
