// Copies a stocked generation: writes its rows again with other ids and times.
import type { Database } from "bun:sqlite";
import { generationId } from "../../src/domain/ids.ts";
import type { Link, Transfer } from "../../src/store/sql/ledger.ts";
import { newGenerationSeq } from "../new-generation.ts";
import { openBooks } from "./books.ts";
import type { Tenant } from "./service.ts";
import type { Stocked } from "./stock.ts";

type Row = Record<string, string | number | null>;
type Generation = Row & { seq: number; account_seq: number; reserved_credits: number; created_at_ms: number };
type TransferRow = Row &
  Pick<Transfer, "kind" | "credits"> & {
    from_side: Transfer["from"];
    to_side: Transfer["to"];
    attempt_no: number | null;
    at_ms: number;
  };
type Sample = { body: string; jobId: string; atMs: number };
/** SQL for the columns of a row that need a special expression. */
type Given = Readonly<Record<string, string>>;

/** These triggers check each intermediate step, but copies are written in their final state; verify checks them afterwards. */
const STEPWISE = ["balance_follows_transfer", "transfer_settlement_bounds", "attempt_starts_as_intent"];
const LONGEST_LIFE_MS = 10 * 86_400_000;
/** For more copies than this, the indexes are created last. */
const LATE_INDEXES = 50_000;

/**
 * The values that differ between copies, one row for each. One statement per table then creates the rows of thousands of copies,
 * which is much faster than a statement for each. From `transfer_no` on they are values before the copy; the hashes of its
 * transfers are last.
 */
const COPY_COLUMNS = [
  ...["seq INTEGER PRIMARY KEY", "body TEXT", "job_id TEXT", "idempotency_key TEXT", "at_ms INTEGER", "account_seq INTEGER"],
  ...[
    "key_seq INTEGER",
    "transfer_no INTEGER",
    "last_transfer_seq INTEGER",
    "available INTEGER",
    "held INTEGER",
    "transfer INTEGER",
  ],
];
/** Columns whose name determines their value in every table. */
const GIVEN: Given = {
  ...{ seq: "copy.seq", generation_seq: "copy.seq", after_generation_seq: "copy.seq", account_seq: "copy.account_seq" },
  ...{ key_seq: "copy.key_seq", idempotency_key: "copy.idempotency_key" },
};

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** A text with placeholders for its ids and for every time of the sample's life. */
const textSql = (text: string, { body, jobId, atMs }: Sample): string => {
  const isTime = (word: string) => /^\d{13}$/.test(word) && Math.abs(Number(word) - atMs) < LONGEST_LIFE_MS;
  const words = new RegExp(`(${body}|${jobId || "\\b\\B"}|\\b\\d{13}\\b)`);
  const parts = text.split(words).map((word) => {
    if (word === body) return "copy.body";
    if (word === jobId && word !== "") return "copy.job_id";
    return isTime(word) ? `copy.at_ms + ${Number(word) - atMs}` : quoted(word);
  });
  return parts.length === 1 ? quoted(text) : `concat(${parts})`;
};

const valueSql = (column: string, value: string | number | null, sample: Sample): string => {
  if (value === null) return "NULL";
  if (typeof value === "string") return textSql(value, sample);
  return column.endsWith("_ms") ? `copy.at_ms + ${value - sample.atMs}` : String(value);
};

type Table = { name: string; rows: readonly Row[]; given?: readonly Given[] };

/** Writes the rows of one table for all rows of `copy`, in the order of generations, so that each is appended. */
const rowsSql = ({ name, rows, given = [] }: Table, sample: Sample): string => {
  const columns = Object.keys(rows[0] ?? {});
  const values = columns.map((column) => {
    const each = rows.map((row, at) => ({ ...GIVEN, ...given[at] })[column] ?? valueSql(column, row[column] ?? null, sample));
    if (new Set(each).size === 1) return each[0];
    return `CASE at.column1 ${each.map((sql, at) => `WHEN ${at} THEN ${sql}`).join(" ")} END`;
  });
  const places = rows.map((_, at) => `(${at})`);
  return `INSERT INTO ${name} (${columns}) SELECT ${values} FROM temp.copy CROSS JOIN (VALUES ${places}) AS at`;
};

const plus = (column: string, added: number): string => `copy.${column} + ${added}`;
const holdGiven = ({ chainSeq, availableAfter, heldAfter }: Link): Given => ({
  ...{ hold_transfer_no: plus("transfer_no", chainSeq), hold_previous_seq: "copy.last_transfer_seq", hold_hash: "copy.hash_0" },
  ...{ hold_available_after: plus("available", availableAfter), hold_held_after: plus("held", heldAfter) },
});
const postingGiven = ({ chainSeq, availableAfter, heldAfter }: Link, at: number): Given => ({
  ...{ seq: plus("transfer", at + 1), previous_seq: at === 0 ? "-copy.seq" : plus("transfer", at), hash: `copy.hash_${at + 1}` },
  ...{
    transfer_no: plus("transfer_no", chainSeq),
    available_after: plus("available", availableAfter),
    held_after: plus("held", heldAfter),
  },
});

/** The transfers of a life, with times relative to its submission. */
const movesOf = ({ seq, reserved_credits, created_at_ms }: Generation, transfers: readonly TransferRow[]): Transfer[] => [
  {
    ...{ kind: "hold", credits: reserved_credits, from: "available", to: "held", generationSeq: seq, attemptN: null },
    ...{ atMs: 0, note: null, progress: 1 },
  },
  ...transfers.map(
    ({ kind, credits, from_side, to_side, attempt_no, at_ms }, at): Transfer => ({
      ...{ kind, credits, from: from_side, to: to_side, generationSeq: seq, attemptN: attempt_no },
      ...{ atMs: at_ms - created_at_ms, note: null, progress: at === transfers.length - 1 ? -1 : 0 },
    }),
  ),
];

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

/** Copies one generation `count` times over an exclusive connection; `verify` then checks the rows like all others. */
export const writeCopies = async (db: Database, plan: CopyPlan): Promise<void> => {
  const found = db.query<Generation, [string]>("SELECT * FROM generation WHERE id = ?1").get(plan.sampleId);
  if (!found) throw new Error("the sample is not in the store");
  const rowsOf = (name: string): Table => ({
    name,
    rows: db.query<Row, [number]>(`SELECT * FROM ${name} WHERE generation_seq = ?1`).all(found.seq),
  });
  const attempts = rowsOf("attempt");
  const sample: Sample = {
    body: plan.sampleId.slice("gen_".length),
    jobId: String(attempts.rows[0]?.job_id ?? ""),
    atMs: found.created_at_ms,
  };
  const transfers = db
    .query<TransferRow, [number]>("SELECT * FROM transfer WHERE generation_seq = ?1 ORDER BY seq")
    .all(found.seq);
  const books = openBooks(db, movesOf(found, transfers));
  const tables: Table[] = [
    { name: "generation", rows: [found], given: books.added.slice(0, 1).map(holdGiven) },
    ...[rowsOf("generation_request"), rowsOf("snapshot"), attempts, rowsOf("attempt_request"), rowsOf("attempt_answer")],
    rowsOf("generation_event"),
    { name: "transfer", rows: transfers, given: books.added.slice(1).map(postingGiven) },
  ];

  const parts = db
    .query<{ type: string; name: string; sql: string }, []>(
      "SELECT type, name, sql FROM sqlite_schema WHERE type IN ('trigger', 'index') AND sql IS NOT NULL",
    )
    .all();
  const guards = parts.filter(({ name }) => STEPWISE.includes(name));
  // Indexes on random values are sorted once at the end, instead of one insertion for each row.
  const indexes = plan.count > LATE_INDEXES ? parts.filter(({ type }) => type === "index") : [];
  db.run("PRAGMA foreign_keys = OFF");
  // Sorting millions of keys needs gigabytes.
  if (indexes.length > 0) db.run("PRAGMA temp_store = FILE");
  // The checks are slow, the sample passed them, and the integrity check of `verify` repeats them on every row.
  db.run("PRAGMA ignore_check_constraints = ON");
  for (const { name } of guards) db.run(`DROP TRIGGER ${name}`);
  for (const { name } of indexes) db.run(`DROP INDEX ${name}`);
  const columns = [...COPY_COLUMNS, ...books.added.map((_, at) => `hash_${at} TEXT`)];
  db.run(`CREATE TEMP TABLE copy (${columns}) STRICT`);
  const insert = db.prepare(`INSERT INTO temp.copy VALUES (${columns.map(() => "?")})`);
  const writes = tables.filter(({ rows }) => rows.length > 0).map((table) => db.prepare(rowsSql(table, sample)));
  const clear = db.prepare("DELETE FROM temp.copy");
  for (let from = 0; from < plan.count; from += plan.perCommit) {
    db.run("BEGIN");
    for (let n = from; n < Math.min(plan.count, from + plan.perCommit); n += 1) {
      const atMs = plan.atMsOf(n);
      const seq = newGenerationSeq(atMs);
      const id = generationId(seq);
      const { accountSeq, keySeq, key } = plan.tenantOf(n);
      const [body, jobId, idempotencyKey] = [id.slice("gen_".length), crypto.randomUUID(), crypto.randomUUID()];
      insert.run(seq, body, jobId, idempotencyKey, atMs, accountSeq, keySeq, ...books.enter(accountSeq, seq, atMs));
      plan.made(n, { id, key });
    }
    for (const write of writes) write.run();
    clear.run();
    db.run("COMMIT");
    await plan.committed(Math.min(plan.count, from + plan.perCommit));
  }
  books.close();
  db.run("DROP TABLE temp.copy");
  for (const { sql } of [...indexes, ...guards]) db.run(sql);
  db.run("PRAGMA ignore_check_constraints = OFF");
  db.run("PRAGMA foreign_keys = ON");
};
