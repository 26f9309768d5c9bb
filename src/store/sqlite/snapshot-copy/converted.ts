// Reads database copies of earlier schemas through a temporary, migrated copy.
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FORMER_SQLITE_TABLES } from "../../sql/pre-release-schema.ts";
import { isFormer, isPreRelease, migrateCopy, schemaVersion } from "../migrate.ts";
import { DATABASE_FILE, openWriter } from "../open.ts";
import { statsOfSnapshot } from "./stats.ts";

/** Runs work over the path of a copy with the present schema: the copy itself, or a migrated one that is removed afterwards. */
export const withPresentSchema = <T>(path: string, work: (readable: string) => T): T => {
  if (!isFormer(statsOfSnapshot(path, schemaVersion))) return work(path);
  const dir = mkdtempSync(join(tmpdir(), "genrouter-converted-"));
  try {
    const copy = join(dir, DATABASE_FILE);
    copyFileSync(path, copy);
    const db = openWriter(copy);
    try {
      migrateCopy(db, 0);
    } finally {
      db.close();
    }
    return work(copy);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
};

/** The record of migrations, the tables into which schema 15 moved columns of others, and the sums that schema 20 added. */
const UNCOUNTED: ReadonlySet<string> = new Set(["migration", "generation_request", "attempt_answer", "outcome_hourly"]);

/** Row counts by the present names of tables, without empty tables and those that a manifest of an earlier schema does not count. */
export const presentRowCounts = (rows: Readonly<Record<string, number>>, schema: number): Record<string, number> => {
  const formerly = new Map(Object.entries(FORMER_SQLITE_TABLES).map(([name, former]) => [former.name, name]));
  const named = Object.entries(rows).map(
    ([name, count]) => [(isPreRelease(schema) && formerly.get(name)) || name, count] as const,
  );
  return Object.fromEntries(named.filter(([name, count]) => !UNCOUNTED.has(name) && count > 0));
};
