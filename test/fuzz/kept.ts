// Reads cases of earlier failures from test/regressions, which run before new ones.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../src/domain/types.ts";
import type { Case } from "./case.ts";

/** The directory of kept cases; other programs use it with other file names. */
export const KEPT = join(import.meta.dir, "../regressions");

/** A kept case that failed. */
export type Kept = { name: string; faults: string[]; case: Case };

const readKept = (json: unknown): Kept => {
  const { name, faults, case: kept } = json as JsonObject & { case: Case };
  if (typeof name !== "string" || !Array.isArray(faults) || !["call", "bytes", "life"].includes(kept.kind))
    throw new Error(`no kept case: ${JSON.stringify(json).slice(0, 200)}`);
  return { name, faults: faults.map(String), case: kept };
};

/** All kept cases, sorted by name. */
export const keptCases = (): Kept[] =>
  readdirSync(KEPT)
    .filter((name) => /^fuzz-.*\.json$/.test(name))
    .sort()
    .map((name) => readKept(JSON.parse(readFileSync(join(KEPT, name), "utf8"))));
