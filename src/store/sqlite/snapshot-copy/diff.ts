// Difference between a database and an older copy: the loss by a restore.
import { constants, Database } from "bun:sqlite";
import { pathToFileURL } from "node:url";
import { snapshotName } from "../open.ts";

export type Loss = {
  generations: number;
  /** Generations that ended since and would be open again. */
  ended: number;
  topUps: { count: number; credits: number };
  adjustments: number;
  accounts: { count: number; ids: string[] };
  keys: { count: number; ids: string[] };
  /** Keys revoked since, which would be valid again. */
  revived: { count: number; ids: string[] };
  /** Provider credentials set or changed since. */
  providerKeys: number;
  /** Credits captured since, which would return to customers. */
  capturedCredits: number;
};

/** Maximum number of listed ids. */
const NAMED = 10;

/** Compares both in one state of the database, which its owner may be writing. */
export const lossOf = (path: string, copy: string): Loss => {
  const db = new Database(pathToFileURL(path).href, constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI);
  try {
    db.run("PRAGMA busy_timeout = 5000");
    db.run("PRAGMA query_only = 1");
    db.run("ATTACH ? AS old", [snapshotName(copy)]);
    db.run("BEGIN");
    const sum = (sql: string): number => Object.values(db.query<Record<string, number | null>, []>(sql).get() ?? {})[0] ?? 0;
    const ids = (sql: string) => {
      const found = db.query<{ id: string }, []>(sql).all();
      return { count: found.length, ids: found.slice(0, NAMED).map(({ id }) => id) };
    };
    const newCredits =
      "FROM main.balance_adjustment c LEFT JOIN old.balance_adjustment o ON o.seq = c.seq AND o.at_ms = c.at_ms WHERE o.seq IS NULL";
    const newKeys = "SELECT count(*) FROM main.provider_credential WHERE id NOT IN (SELECT id FROM old.provider_credential)";
    return {
      generations: sum(
        "SELECT count(*) FROM main.generation g LEFT JOIN old.generation o ON o.seq = g.seq AND o.id = g.id WHERE o.seq IS NULL",
      ),
      ended: sum(
        `SELECT count(*) FROM old.generation o JOIN main.generation g ON g.seq = o.seq AND g.id = o.id
         WHERE o.completed_at_ms IS NULL AND g.completed_at_ms IS NOT NULL`,
      ),
      topUps: {
        count: sum(`SELECT count(*) ${newCredits} AND c.kind = 'topup'`),
        credits: sum(`SELECT sum(c.transferred_credits) ${newCredits} AND c.kind = 'topup'`),
      },
      adjustments: sum(`SELECT count(*) ${newCredits} AND c.kind = 'adjust'`),
      accounts: ids("SELECT id FROM main.account WHERE id NOT IN (SELECT id FROM old.account) ORDER BY seq"),
      keys: ids("SELECT id FROM main.api_key WHERE id NOT IN (SELECT id FROM old.api_key) ORDER BY seq"),
      revived: ids(
        `SELECT id FROM main.api_key WHERE revoked_at_ms IS NOT NULL
           AND id IN (SELECT id FROM old.api_key WHERE revoked_at_ms IS NULL) ORDER BY seq`,
      ),
      providerKeys: sum(newKeys),
      capturedCredits: sum(
        `SELECT sum(p.credits) FROM main.transfer p LEFT JOIN old.transfer o ON o.seq = p.seq AND o.hash = p.hash
         WHERE p.kind = 'capture' AND o.seq IS NULL`,
      ),
    };
  } finally {
    db.close();
  }
};
