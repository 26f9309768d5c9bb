// Copies of a stocked generation: the rows that the store's writer made of one, written again under other names and at other times.
import type { Database, SQLQueryBindings } from "bun:sqlite";
import { generationId, newGenerationSeq } from "../../src/ids.ts";
import { type Chained, chain, chainStart, type Head } from "../../src/store/sqlite/money.ts";
import type { LedgerSide, MovementKind } from "../../src/terms.ts";
import type { Tenant } from "./service.ts";
import type { Stocked } from "./stock.ts";

type Value = string | number | null;
type Row = Record<string, Value>;
/** What differs from copy to copy. */
type Copy = { seq: number; id: string; body: string; jobId: string; atMs: number; accountSeq: number; keySeq: number; hold: Row };
type Maker = (copy: Copy) => Value;
type Posting = {
  kind: MovementKind;
  credits: number;
  from_side: LedgerSide;
  to_side: LedgerSide;
  attempt_n: number | null;
  at_ms: number;
};

/** In the order in which they refer to each other; postings are chained and come apart. */
const TABLES = ["generation", "snapshot", "attempt", "attempt_request", "journal"] as const;
/** They watch each step towards what is written here at once as its end; what they guard is verified afterwards. */
const STEPWISE = ["balance_moves", "posting_settles", "attempt_begins"];
const LONGEST_LIFE_MS = 10 * 86_400_000;
const HOLD_COLUMNS = ["hold_chain_seq", "hold_previous", "hold_available_after", "hold_held_after", "hold_hash"] as const;

/** A text with places for what differs: the ids in it, and every time of the sample's life. */
const textMaker = (text: string, sample: Copy): Maker => {
  const isTime = (word: string) => /^\d{13}$/.test(word) && Math.abs(Number(word) - sample.atMs) < LONGEST_LIFE_MS;
  const words = new RegExp(`(${sample.body}|${sample.jobId || "\\b\\B"}|\\b\\d{13}\\b)`);
  const parts = text.split(words).map((word): string | Maker => {
    if (word === sample.body) return ({ body }) => body;
    if (word === sample.jobId && word !== "") return ({ jobId }) => jobId;
    if (!isTime(word)) return word;
    const afterMs = Number(word) - sample.atMs;
    return ({ atMs }) => String(atMs + afterMs);
  });
  if (parts.every((part) => typeof part === "string")) return () => text;
  return (copy) => {
    let made = "";
    for (const part of parts) made += typeof part === "string" ? part : part(copy);
    return made;
  };
};

const makerOf = (column: string, value: Value, sample: Copy): Maker => {
  if (column === "idempotency_key") return () => crypto.randomUUID();
  if (column in sample.hold) return ({ hold }) => hold[column] ?? null;
  if (typeof value === "string") return textMaker(value, sample);
  if (value === null) return () => null;
  if (column === "seq") return ({ seq }) => seq;
  if (column === "account_seq") return ({ accountSeq }) => accountSeq;
  if (column === "key_seq") return ({ keySeq }) => keySeq;
  if (!column.endsWith("_ms")) return () => value;
  const afterMs = value - sample.atMs;
  return ({ atMs }) => atMs + afterMs;
};

/** Writes one row of a copy. */
const prepareRow = (db: Database, table: string, row: Row, sample: Copy): ((copy: Copy) => void) => {
  const makers = Object.entries(row).map(([column, value]) => makerOf(column, value, sample));
  const insert = db.prepare(`INSERT INTO ${table} (${Object.keys(row)}) VALUES (${makers.map(() => "?")})`);
  return (copy) => void insert.run(...makers.map((make): SQLQueryBindings => make(copy)));
};

type Account = Omit<Head, "chainHash"> & { seq: number; id: string; charged: number; hash: string | null };

/** A hold as the columns of its generation. */
const holdOf = ({ head, link, hash }: Chained): Record<(typeof HOLD_COLUMNS)[number], Value> => ({
  ...{ hold_chain_seq: link.chainSeq, hold_previous: head.chainEnd, hold_available_after: link.availableAfter },
  ...{ hold_held_after: link.heldAfter, hold_hash: hash },
});

/** Chains what moves the credits of a copy behind what its account has; the balances are written at the end. */
const openBooks = (db: Database, credits: number, postings: readonly Posting[], epoch: number, sample: Copy) => {
  const accounts = db
    .query<Account, []>(
      `SELECT a.seq, a.id, b.available_credits AS availableCredits, b.held_credits AS heldCredits, b.charged_credits AS charged,
         b.in_progress AS inProgress, b.chain_seq AS chainSeq, b.chain_end AS chainEnd,
         coalesce((SELECT hold_hash FROM generation WHERE seq = -b.chain_end), (SELECT hash FROM posting WHERE seq = b.chain_end)) AS hash
       FROM balance b JOIN account a ON a.seq = b.account_seq`,
    )
    .all();
  const heads = new Map(
    accounts.map(({ seq, id, hash, charged: _, ...head }) => [seq, { ...head, chainHash: hash ?? chainStart(id) }]),
  );
  const charged = new Map(accounts.map(({ seq, charged }) => [seq, charged]));
  const insert = db.prepare(
    `INSERT INTO posting (seq, account_seq, chain_seq, previous, after_seq, kind, credits, from_side, to_side, generation_seq, attempt_n,
       available_after, held_after, at_ms, epoch, hash, note)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?5, ?10, ?11, ?12, ?13, ${epoch}, ?14, NULL)`,
  );
  let newest = db.query<{ seq: number | null }, []>("SELECT max(seq) AS seq FROM posting").get()?.seq ?? 0;
  const headOf = (accountSeq: number): Head => {
    const head = heads.get(accountSeq);
    if (!head) throw new Error(`there is no account ${accountSeq}`);
    return head;
  };
  const goOn = (accountSeq: number, { move, head, link, hash }: Chained, chainEnd: number) =>
    heads.set(accountSeq, {
      ...{ availableCredits: link.availableAfter, heldCredits: link.heldAfter, inProgress: head.inProgress + move.progress },
      ...{ chainSeq: link.chainSeq, chainEnd, chainHash: hash },
    });
  return {
    hold: (accountSeq: number, seq: number, atMs: number): Row => {
      const held = chain(headOf(accountSeq), {
        ...{
          kind: "hold",
          credits,
          from: "available",
          to: "held",
          generationSeq: seq,
          attemptN: null,
          atMs,
          note: null,
          progress: 1,
        },
      });
      goOn(accountSeq, held, -seq);
      return holdOf(held);
    },
    settle: ({ seq, accountSeq, atMs }: Copy) => {
      for (const [at, { kind, credits: moved, from_side: from, to_side: to, attempt_n: attemptN, at_ms }] of postings.entries()) {
        const posted = chain(headOf(accountSeq), {
          ...{ kind, credits: moved, from, to, generationSeq: seq, attemptN, note: null },
          ...{ atMs: atMs + at_ms - sample.atMs, progress: at === postings.length - 1 ? -1 : 0 },
        });
        const { head, link, hash } = posted;
        newest += 1;
        insert.run(
          ...[newest, accountSeq, link.chainSeq, head.chainEnd, seq, kind, moved, from, to, attemptN],
          ...[link.availableAfter, link.heldAfter, link.atMs, hash],
        );
        goOn(accountSeq, posted, newest);
        if (to === "charged") charged.set(accountSeq, (charged.get(accountSeq) ?? 0) + moved);
      }
    },
    close: () => {
      const update = db.prepare(
        `UPDATE balance SET available_credits = ?2, held_credits = ?3, charged_credits = ?4, in_progress = ?5, chain_seq = ?6,
           chain_end = ?7 WHERE account_seq = ?1`,
      );
      for (const [seq, { availableCredits, heldCredits, inProgress, chainSeq, chainEnd }] of heads)
        update.run(seq, availableCredits, heldCredits, charged.get(seq) ?? 0, inProgress, chainSeq, chainEnd);
    },
  };
};

type CopyPlan = {
  sampleId: string;
  count: number;
  perCommit: number;
  tenantOf: (n: number) => Tenant;
  /** When copy `n` was submitted, ms. */
  atMsOf: (n: number) => number;
  made: (n: number, stocked: Stocked) => void;
  committed: (n: number) => Promise<void>;
};

/** Copies one generation so many times. The connection is alone with the file, whose rows `verify` then judges like all others. */
export const writeCopies = async (db: Database, plan: CopyPlan): Promise<void> => {
  const rowsOf = (table: string, column = "seq") =>
    db.query<Row, [number]>(`SELECT * FROM ${table} WHERE ${column} = ?1`).all(sampleSeq);
  const first = db.query<
    Row & { seq: number; reserved_credits: number; hold_epoch: number; created_at_ms: number; account_seq: number },
    [string]
  >("SELECT * FROM generation WHERE id = ?1");
  const found = first.get(plan.sampleId);
  if (!found) throw new Error("the sample is not in the store");
  const sampleSeq = found.seq;
  const jobId = String(rowsOf("attempt")[0]?.job_id ?? "");
  const body = plan.sampleId.slice("gen_".length);
  const hold = Object.fromEntries(HOLD_COLUMNS.map((column) => [column, found[column] ?? null]));
  const sample: Copy = {
    ...{
      seq: found.seq,
      id: plan.sampleId,
      body,
      jobId,
      atMs: found.created_at_ms,
      accountSeq: found.account_seq,
      keySeq: 0,
      hold,
    },
  };
  const writers = TABLES.flatMap((table) => rowsOf(table).map((row) => prepareRow(db, table, row, sample)));
  const postings = rowsOf("posting", "generation_seq").sort((a, b) => Number(a.seq) - Number(b.seq));
  const books = openBooks(db, found.reserved_credits, postings as unknown as Posting[], found.hold_epoch, sample);

  const guards = db
    .query<{ name: string; sql: string }, []>("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
    .all()
    .filter(({ name }) => STEPWISE.includes(name));
  db.run("PRAGMA foreign_keys = OFF");
  for (const { name } of guards) db.run(`DROP TRIGGER ${name}`);
  for (let from = 0; from < plan.count; from += plan.perCommit) {
    db.run("BEGIN");
    for (let n = from; n < Math.min(plan.count, from + plan.perCommit); n += 1) {
      const atMs = plan.atMsOf(n);
      const seq = newGenerationSeq(atMs);
      const id = generationId(seq);
      const { accountSeq, keySeq, key } = plan.tenantOf(n);
      const hold = books.hold(accountSeq, seq, atMs);
      const copy: Copy = { seq, id, body: id.slice("gen_".length), jobId: crypto.randomUUID(), atMs, accountSeq, keySeq, hold };
      for (const write of writers) write(copy);
      books.settle(copy);
      plan.made(n, { id, key });
    }
    db.run("COMMIT");
    await plan.committed(Math.min(plan.count, from + plan.perCommit));
  }
  books.close();
  for (const { sql } of guards) db.run(sql);
  db.run("PRAGMA foreign_keys = ON");
};
