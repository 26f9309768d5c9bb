// Locates faults in JSON files: the line of a JSON pointer or of a syntax error.
import { readFileSync } from "node:fs";
import { findNodeAtLocation, type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";

/** Format of catalogue faults: `FILE#/pointer: message`, or `FILE: cannot be read as JSON: …`. */
const POINTED = /^(.+?\.jsonc?)#(\/.*?): (.*)$/s;
const UNREAD = /^(.+?\.jsonc?): cannot be read as JSON: /;

const lineAt = (text: string, offset: number): number => text.slice(0, offset).split("\n").length;
const columnAt = (text: string, offset: number): number => offset - text.lastIndexOf("\n", offset - 1);

/** `CommaExpected` → `comma expected` */
const wordsOf = (fault: ParseError): string =>
  printParseErrorCode(fault.error)
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase();

/** Node of a pointer, or its nearest existing ancestor. A missing member is thus reported where it belongs. */
const nearest = (root: Node, pointer: string): Node => {
  let found = root;
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    const below = findNodeAtLocation(found, [found.type === "array" ? Number(key) : key]);
    if (!below) return found;
    found = below;
  }
  // The line of a member is the line of its name.
  return found.parent?.type === "property" ? found.parent : found;
};

const textOf = (path: string): string | undefined => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
};

const READ = { allowTrailingComma: true, disallowComments: false };

/** Adds the line to a fault: `FILE:LINE: message (at /pointer)`. A fault without a readable file is returned unchanged. */
export const withLine = (fault: string): string => {
  const [, file = "", pointer = "", message = ""] = POINTED.exec(fault) ?? UNREAD.exec(fault) ?? [];
  const text = file === "" ? undefined : textOf(file);
  if (text === undefined) return fault;
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, READ);
  if (pointer === "") {
    const [first] = errors;
    if (!first) return fault;
    return `${file}:${lineAt(text, first.offset)}:${columnAt(text, first.offset)}: not JSON: ${wordsOf(first)}`;
  }
  const line = root ? lineAt(text, nearest(root, pointer).offset) : 1;
  return `${file}:${line}: ${message}${pointer === "/" ? "" : ` (at ${pointer})`}`;
};
