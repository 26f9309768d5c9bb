// Loads the built-in dialect files and those of the operator.
//
// A load with faults fails and reports all of them, each as `path: message`.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { schemaCheck } from "../../domain/compiled-schema.ts";
import { schemaFault } from "../../domain/schema-errors.ts";
import type { JsonObject } from "../../domain/types.ts";
import type { Adapter } from "../port.ts";
import { adapterOf, adapterOnUse } from "./adapter.ts";
import { BUILT_IN_DIALECTS } from "./built-in.ts";
import { DialectError } from "./placeholders.ts";
import { type Dialect, DialectSchema } from "./schema.ts";

/** A provider's dialect with its adapter. */
export type LoadedDialect = { dialect: Dialect; adapter: Adapter };
export type Dialects = ReadonlyMap<string, LoadedDialect>;

/**
 * Invalid dialect files. One line per fault, `providers/x.json#/submit/request: message`. `isPassing`: a file could not be read,
 * which a retry may fix.
 */
export class DialectsError extends Error {
  readonly faults: readonly string[];
  readonly isPassing: boolean;
  constructor(faults: readonly string[]) {
    super(`the providers' dialects have ${faults.length === 1 ? "a fault" : `${faults.length} faults`}: ${faults.join("; ")}`);
    this.faults = faults;
    this.isPassing = faults.some((line) => UNREAD.test(line));
  }
}
const UNREAD = /^[^#]*: cannot be read/;

const dialectCheck = schemaCheck(DialectSchema);

/** `isShipped`: validated before release. */
type Written = { path: string; content: JsonObject; isShipped?: true };

/** With `like` a file contains only its differences from another file. */
const completed = (written: Written, all: readonly Written[]): JsonObject => {
  const { like, ...own } = written.content;
  if (like === undefined) return own;
  const other = all.findLast(({ content }) => content.id === like && content.like === undefined);
  if (!other) throw new DialectError(`/like: ${String(like)} is not a dialect without like`);
  return { ...other.content, ...own };
};

const requireDialectShape = (content: JsonObject): void => {
  if (dialectCheck.Check(content)) return;
  const first = dialectCheck.Errors(content).First();
  const { path, message } = first ? schemaFault(first) : { path: "/", message: "is not a dialect" };
  throw new DialectError(`${path || "/"}: ${message}`);
};

/** The pattern that keys are compared with when an operator stores one. */
const requireKeyForm = ({ key_form: form }: Dialect): void => {
  if (form === undefined) return;
  let pattern: RegExp;
  try {
    pattern = new RegExp(form.pattern);
  } catch {
    throw new DialectError(`/key_form/pattern: "${form.pattern}" is not a regular expression`);
  }
  if (!pattern.test(form.example)) throw new DialectError("/key_form/example: does not match the pattern");
};

const loadedDialect = (content: JsonObject, isShipped: boolean): LoadedDialect => {
  const dialect = content as unknown as Dialect;
  if (isShipped) return { dialect, adapter: adapterOnUse(dialect) };
  requireDialectShape(content);
  requireKeyForm(dialect);
  return { dialect, adapter: adapterOf(dialect) };
};

const dialectsOf = (files: readonly Written[], earlier: readonly string[]): Map<string, LoadedDialect> => {
  const faults = [...earlier];
  const dialects = new Map<string, LoadedDialect>();
  for (const written of files)
    try {
      const spoken = loadedDialect(completed(written, files), written.isShipped ?? false);
      dialects.set(spoken.dialect.id, spoken);
    } catch (fault) {
      if (!(fault instanceof DialectError)) throw fault;
      faults.push(`${written.path}#${fault.message}`);
    }
  if (faults.length > 0) throw new DialectsError(faults);
  return dialects;
};

const ownFiles = (dir: string): { files: Written[]; faults: string[] } => {
  const folder = join(dir, "providers");
  const files: Written[] = [];
  const faults: string[] = [];
  let names: string[] = [];
  try {
    names = readdirSync(folder).filter((name) => /^[^.].*\.jsonc?$/.test(name));
  } catch (fault) {
    // A catalogue without a `providers` folder is valid.
    if (!(fault instanceof Error && "code" in fault && fault.code === "ENOENT"))
      faults.push(`${folder}: cannot be read: ${fault instanceof Error ? fault.message : String(fault)}`);
  }
  for (const name of names.sort()) {
    const path = join(folder, name);
    try {
      files.push({ path, content: Bun.JSONC.parse(readFileSync(path, "utf8")) as JsonObject });
    } catch (fault) {
      faults.push(`${path}: cannot be read as JSON: ${fault instanceof Error ? fault.message : String(fault)}`);
    }
  }
  return { files, faults };
};

/**
 * Loads the built-in dialects and those in `DIR/providers/*.json` and `*.jsonc`. A file replaces the built-in dialect with its
 * id. @throws DialectsError with every fault of every file
 */
export const readDialects = (dir: string | null): Dialects => {
  const builtIn = Object.entries(BUILT_IN_DIALECTS).map(
    ([path, content]): Written => ({ path, content: content as JsonObject, isShipped: true }),
  );
  const own = dir === null ? { files: [], faults: [] } : ownFiles(dir);
  return dialectsOf([...builtIn, ...own.files], own.faults);
};
