// Stores the results of a run for `--out`, and reads those of an earlier run of the same code.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Result } from "./bench.ts";
import type { Unmeasured } from "./table.ts";

export const RESULTS = "results.json";

export type Measured = Result & { bench: string };
export type RunResults = {
  /** Results with a target, and informational ones. */
  results: Measured[];
  notes: Measured[];
  skipped: Unmeasured[];
  failed: Unmeasured[];
  machine: string;
  commit: string;
  /** The digest of the product and the benches; different commits may share it. */
  code: string;
  isShort: boolean;
  /** The time of the last measurement. */
  at: string;
};
type Kept = { measured: Measured[]; skipped: Unmeasured[]; failed: Unmeasured[] };
export const NOTHING: Kept = { measured: [], skipped: [], failed: [] };

/** The results of the last run in a directory; undefined if there are none. */
export const readInformational = (dir: string): RunResults | undefined => {
  const path = join(dir, RESULTS);
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as RunResults) : undefined;
};

/** The results of benches that are not run again, if code and setting are the same; otherwise nothing. */
export const keptOf = (dir: string, now: Pick<RunResults, "code" | "isShort">, again: readonly string[]): Kept => {
  const reported = readInformational(dir);
  if (reported?.code !== now.code || reported.isShort !== now.isShort) return NOTHING;
  const isOther = ({ bench }: { bench: string }) => !again.includes(bench);
  return {
    measured: [...reported.results, ...reported.notes].filter(isOther),
    skipped: reported.skipped.filter(isOther),
    failed: reported.failed.filter(isOther),
  };
};
