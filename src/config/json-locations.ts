// Where in a file a fault is: the line that a JSON pointer names, or the line and column where JSON ends to be JSON.
import { readFileSync } from "node:fs";
import { findNodeAtLocation, type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";

/** As the readers of the catalogue tell faults: `FILE#/pointer: message`, or `FILE: cannot be read as JSON: …`. */
const POINTED = /^(.+?\.jsonc?)#(\/.*?): (.*)$/s;
const UNREAD = /^(.+?\.jsonc?): cannot be read as JSON: /;

const lineAt = (text: string, offset: number): number => text.slice(0, offset).split("\n").length;
const columnAt = (text: string, offset: number): number => offset - text.lastIndexOf("\n", offset - 1);

/** `CommaExpected` → `comma expected` */
const wordsOf = (fault: ParseError): string =>
  printParseErrorCode(fault.error)
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase();

/** What a pointer names, or what is nearest above it: a member that is missing is told where it should be. */
const nearest = (root: Node, pointer: string): Node => {
  let found = root;
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    const below = findNodeAtLocation(found, [found.type === "array" ? Number(key) : key]);
    if (!below) return found;
    found = below;
  }
  // The line of a member is that of its name.
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

/** One fault with its line: `FILE:LINE: message (at /pointer)`; one that names no file that can be read stays as it is. */
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
