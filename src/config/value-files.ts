// Values of settings in files of their own: how one is read, and whether a failure to read it may pass.
import { readFileSync } from "node:fs";
import type { Entry } from "./load.ts";

/** Takes note of a fault, so that reading goes on to the next. `isPassing`: a later start may not find it. */
export type Note = (line: string, isPassing?: boolean) => void;

const codeIn = (fault: unknown): string | undefined =>
  fault instanceof Error && "code" in fault ? String(fault.code) : undefined;

/** ` (EACCES)`, to end a sentence with. */
export const codeOf = (fault: unknown): string => {
  const code = codeIn(fault);
  return code === undefined ? "" : ` (${code})`;
};

/** What the path itself is wrong by. Rights, descriptors, disks and mounts are others' to change while this process does not run. */
const MISNAMED = new Set(["ENOENT", "ENOTDIR", "EISDIR", "ELOOP", "ENAMETOOLONG", "ERR_INVALID_ARG_VALUE"]);
export const isPassing = (fault: unknown): boolean => {
  const code = codeIn(fault);
  return code !== undefined && !MISNAMED.has(code);
};

/** The one line in a file; undefined, and noted, where there is none. */
const lineIn = (path: string, from: string, note: Note): string | undefined => {
  try {
    const text = readFileSync(path, "utf8").trim();
    if (text !== "") return text;
    note(`${from}: ${path} is empty; put the value into it, and nothing else`);
  } catch (fault) {
    note(`${from}: ${path} cannot be read${codeOf(fault)}`, isPassing(fault));
  }
  return undefined;
};

/** An entry of what is in a file. */
export const entryIn = (file: string, path: readonly string[], from: string, note: Note): Entry[] => {
  const value = lineIn(file, from, note);
  return value === undefined ? [] : [{ path, value, from }];
};
