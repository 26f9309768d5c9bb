// What `--out` keeps of a run, and what another run of the same code takes over from it.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Result } from "./bench.ts";
import type { Unmeasured } from "./table.ts";

export const RESULTS = "results.json";

export type Measured = Result & { bench: string };
export type Told = {
  /** Held against a target, and only told. */
  results: Measured[];
  notes: Measured[];
  skipped: Unmeasured[];
  failed: Unmeasured[];
  machine: string;
  commit: string;
  /** The digest of what is measured and of what measures: other commits may share it. */
  code: string;
  isShort: boolean;
  /** When the last of it was measured. */
  at: string;
};
type Kept = { measured: Measured[]; skipped: Unmeasured[]; failed: Unmeasured[] };
export const NOTHING: Kept = { measured: [], skipped: [], failed: [] };

/** What a directory has of the last run; undefined where there was none. */
export const readTold = (dir: string): Told | undefined => {
  const path = join(dir, RESULTS);
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Told) : undefined;
};

/** What was measured there by benches that are not run again: of the same code and setting, or nothing. */
export const keptOf = (dir: string, now: Pick<Told, "code" | "isShort">, again: readonly string[]): Kept => {
  const told = readTold(dir);
  if (told?.code !== now.code || told.isShort !== now.isShort) return NOTHING;
  const isOther = ({ bench }: { bench: string }) => !again.includes(bench);
  return {
    measured: [...told.results, ...told.notes].filter(isOther),
    skipped: told.skipped.filter(isOther),
    failed: told.failed.filter(isOther),
  };
};
