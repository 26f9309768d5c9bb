// Interned strings: a table of numbered texts that many rows share, with a cache.
import type { Database } from "bun:sqlite";
import { MutationRejected } from "../sql/mutation-rejected.ts";

/** Maximum number of cached texts. */
const KNOWN_AT_MOST = 10_000;

export type Interned = {
  /** Row number of a text, which is inserted if it is new. */
  seqOf(text: string): number;
  /** Drops the cache after a rollback. */
  forget(): void;
};

/** @param table has a `seq` and one UNIQUE `column`; rows are only added. */
export const prepareInterned = (db: Database, table: "plan" | "route_options", column: "routes" | "options"): Interned => {
  const insert = db.prepare<{ seq: number }, [string]>(`INSERT INTO ${table} (${column}) VALUES (?1) RETURNING seq`);
  const select = db.prepare<{ seq: number }, [string]>(`SELECT seq FROM ${table} WHERE ${column} = ?1`);
  const known = new Map<string, number>();
  return {
    seqOf: (text) => {
      const before = known.get(text);
      if (before !== undefined) return before;
      const row = select.get(text) ?? insert.get(text);
      if (!row) throw new MutationRejected(`a row of ${table} was not kept`);
      if (known.size >= KNOWN_AT_MOST) known.clear();
      known.set(text, row.seq);
      return row.seq;
    },
    forget: () => known.clear(),
  };
};
