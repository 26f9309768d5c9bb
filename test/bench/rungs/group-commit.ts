// Ceiling of submission: one row for each submission and one transaction for all that arrive together, nothing else.
import { Database } from "bun:sqlite";
import { ACCOUNTS, BODY, STORED } from "./parts.ts";

export type Row = {
  account: number;
  model: string;
  input: string;
  credits: number;
  idempotencyKey: string;
  bodyHash: string;
  atMs: number;
};
type Letter = { row: Row; seq: number; resolve: (seq: number) => void };

/** Rows between checkpoints: rare enough to cost little, frequent enough for a small log. */
const FOLD_EACH = 20_000;

/**
 * Balances and idempotency keys are in memory; the row number is the id, so only the table's own index is written. Each account
 * of a batch is updated once.
 * @returns a promise of the row number after the commit; undefined for a used key or an insufficient balance.
 */
export const openGroupCommit = (path: string): ((row: Row) => Promise<number | undefined>) => {
  const db = new Database(path, { create: true, strict: true });
  db.run("PRAGMA journal_mode = WAL");
  db.run("PRAGMA synchronous = FULL");
  db.run("PRAGMA cache_size = -65536");
  db.run("PRAGMA wal_autocheckpoint = 0");
  db.run(
    "CREATE TABLE account (seq INTEGER PRIMARY KEY, balance INTEGER NOT NULL, held INTEGER NOT NULL, running INTEGER NOT NULL)",
  );
  db.run(
    "CREATE TABLE generation (seq INTEGER PRIMARY KEY, account INTEGER NOT NULL, model TEXT NOT NULL, input TEXT NOT NULL, credits INTEGER NOT NULL, idempotency_key TEXT NOT NULL, body_hash TEXT NOT NULL, at_ms INTEGER NOT NULL)",
  );
  const insertAccount = db.prepare("INSERT INTO account VALUES (?1, 1000000000000, 0, 0)");
  db.transaction(() => {
    for (let account = 0; account < ACCOUNTS; account += 1) insertAccount.run(account);
  })();
  const begin = db.prepare("BEGIN IMMEDIATE");
  const commit = db.prepare("COMMIT");
  const fold = db.prepare("PRAGMA wal_checkpoint(TRUNCATE)");
  const insert = db.prepare("INSERT INTO generation VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
  const hold = db.prepare("UPDATE account SET held = held + ?2, running = running + ?3 WHERE seq = ?1");

  const balances = new Float64Array(ACCOUNTS).fill(1e12);
  const keys = new Map<string, number>();
  let letters: Letter[] = [];
  let seq = STORED;
  let sinceFold = 0;
  db.transaction(() => {
    for (let n = 1; n <= STORED; n += 1) insert.run(n, n % ACCOUNTS, "vidmodel-2.0-fast", BODY, 55, `stored-${n}`, "", 0);
  })();

  const flush = () => {
    const batch = letters;
    letters = [];
    const touched = new Map<number, { credits: number; count: number }>();
    begin.run();
    for (const { row, seq } of batch) {
      insert.run(seq, row.account, row.model, row.input, row.credits, row.idempotencyKey, row.bodyHash, row.atMs);
      const sum = touched.get(row.account);
      if (sum) {
        sum.credits += row.credits;
        sum.count += 1;
      } else touched.set(row.account, { credits: row.credits, count: 1 });
    }
    for (const [account, { credits, count }] of touched) hold.run(account, credits, count);
    commit.run();
    sinceFold += batch.length;
    if (sinceFold >= FOLD_EACH) {
      sinceFold = 0;
      fold.run();
    }
    for (const letter of batch) letter.resolve(letter.seq);
  };

  return async (row) => {
    const key = `${row.account}:${row.idempotencyKey}`;
    const balance = balances[row.account] ?? 0;
    if (keys.has(key) || balance < row.credits) return undefined;
    balances[row.account] = balance - row.credits;
    seq += 1;
    keys.set(key, seq);
    return new Promise((resolve) => {
      if (letters.push({ row, seq, resolve }) === 1) setImmediate(flush);
    });
  };
};
