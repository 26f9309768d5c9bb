// Reads values of settings from files and classifies read failures as transient or permanent.
import { readFileSync } from "node:fs";
import type { Entry } from "./load.ts";

/** Records a fault without aborting. `isPassing` is true if a later start may succeed. */
export type Note = (line: string, isPassing?: boolean) => void;

const codeIn = (fault: unknown): string | undefined =>
  fault instanceof Error && "code" in fault ? String(fault.code) : undefined;

/** ` (EACCES)`, appended to a sentence. */
export const codeOf = (fault: unknown): string => {
  const code = codeIn(fault);
  return code === undefined ? "" : ` (${code})`;
};

/**
 * Errors of the path itself. All other errors (permissions, descriptors, disks, mounts) may be fixed without a change of the
 * settings.
 */
const MISNAMED = new Set(["ENOENT", "ENOTDIR", "EISDIR", "ELOOP", "ENAMETOOLONG", "ERR_INVALID_ARG_VALUE"]);
export const isPassing = (fault: unknown): boolean => {
  const code = codeIn(fault);
  return code !== undefined && !MISNAMED.has(code);
};

/** The single line of a file; undefined with a noted fault if there is none. */
const lineIn = (path: string, from: string, note: Note): string | undefined => {
  try {
    const text = readFileSync(path, "utf8").trim();
    if (text !== "") return text;
    note(`${from}: ${path} is empty; it must contain only the value`);
  } catch (fault) {
    note(`${from}: ${path} cannot be read${codeOf(fault)}`, isPassing(fault));
  }
  return undefined;
};

/** An entry with the content of a file. */
export const entryIn = (file: string, path: readonly string[], from: string, note: Note): Entry[] => {
  const value = lineIn(file, from, note);
  return value === undefined ? [] : [{ path, value, from }];
};
