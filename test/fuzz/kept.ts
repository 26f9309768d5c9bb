// Cases that once failed, kept as JSON in test/regressions, to be played before any new one.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../src/domain/types.ts";
import type { Case } from "./case.ts";

/** Where they are; others keep theirs beside them under other names. */
export const KEPT = join(import.meta.dir, "../regressions");

/** A case that failed, as it is kept. */
export type Kept = { name: string; faults: string[]; case: Case };

const readKept = (json: unknown): Kept => {
  const { name, faults, case: kept } = json as JsonObject & { case: Case };
  if (typeof name !== "string" || !Array.isArray(faults) || !["call", "bytes", "life"].includes(kept.kind))
    throw new Error(`no kept case: ${JSON.stringify(json).slice(0, 200)}`);
  return { name, faults: faults.map(String), case: kept };
};

/** All of them, by name. */
export const keptCases = (): Kept[] =>
  readdirSync(KEPT)
    .filter((name) => /^fuzz-.*\.json$/.test(name))
    .sort()
    .map((name) => readKept(JSON.parse(readFileSync(join(KEPT, name), "utf8"))));
