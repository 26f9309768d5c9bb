// Artifacts of two builds before the first release: databases, backups and archives, and the values that those builds printed.
import { Database } from "bun:sqlite";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import type { Store } from "../../src/store/store.ts";
import { freshDir } from "../cli/fresh-dir.ts";

/** 02a070a has schema 5 over SQLite and 2 over PostgreSQL, b8bf7341 has 9 and 7: the last before the first release. */
export const FORMER = [
  { release: "02a070a", sqlite: 5, postgres: 2 },
  { release: "b8bf7341", sqlite: 9, postgres: 7 },
] as const;
export type Former = (typeof FORMER)[number];

export type Said = {
  rows: Record<string, number>;
  sums: { available: number; held: number; charged: number; owed: number; movements: number };
  accounts: {
    id: string;
    available: number;
    held: number;
    charged: number;
    owed: number;
    movements: number;
    lastHash: string | null;
  }[];
  generations: [id: string, status: string][];
};
const pathOf = ({ release }: Pick<Former, "release">, name: string): string => join(import.meta.dir, release, name);
export const saidBy = (former: Former): { backup: string; sqlite: Said; postgres: Said } =>
  JSON.parse(readFileSync(pathOf(former, "expected.json"), "utf8"));
const unpacked = (former: Former, name: string): Buffer => gunzipSync(readFileSync(pathOf(former, name)));

/** A data directory that holds only the database. */
export const formerDirectory = (former: Former): string => {
  const dir = freshDir();
  writeFileSync(join(dir, "genrouter.db"), unpacked(former, "genrouter.db.gz"));
  chmodSync(join(dir, "genrouter.db"), 0o600);
  return dir;
};

/** The SQL that restores the database into an empty one. */
export const formerScript = (former: Former): string => unpacked(former, "postgres.sql.gz").toString();

/** Unpacks a backup or an archive. @returns the directory that it is in. */
export const formerFiles = (former: Former, name: "backup" | "backup-with-faults" | "archive" | "archive-postgres"): string => {
  const dir = join(freshDir(), name);
  mkdirSync(dir);
  const tar = Bun.spawnSync(["tar", "xzf", pathOf(former, `${name}.tar.gz`), "-C", dir]);
  if (tar.exitCode !== 0) throw new Error(tar.stderr.toString());
  return dir;
};

/** The balances, chain ends and statuses of a store, in the form in which the former builds wrote theirs. */
export const saidOf = async (store: Store): Promise<Pick<Said, "accounts" | "generations">> => {
  const accounts: Said["accounts"] = [];
  for (const { id, availableCredits, heldCredits, chargedCredits, owedCredits } of await store.accounts()) {
    const all = await store.transfers(id, null, 1_000);
    accounts.push({
      ...{ id, available: availableCredits, held: heldCredits, charged: chargedCredits, owed: owedCredits },
      ...{ movements: all.length, lastHash: all[0]?.hash ?? null },
    });
  }
  const generations: Said["generations"] = [];
  for (let from: number | null = null; ; ) {
    const { found, next } = await store.generationsStep({
      ...{
        accountSeq: null,
        from,
        fromMs: null,
        toMs: null,
        status: null,
        models: null,
        keyId: null,
        maxExamined: 1_000,
        limit: 1_000,
      },
    });
    generations.push(...found.map(({ record }): [string, string] => [record.id, record.status]));
    if (next === null) return { accounts, generations: generations.sort() };
    from = next;
  }
};

/** The values that a former build printed, in the same form. */
export const expectedOf = ({ accounts, generations }: Said): Pick<Said, "accounts" | "generations"> => ({
  accounts: accounts.map(({ id, available, held, charged, owed, movements, lastHash }) => ({
    ...{ id, available, held, charged, owed, movements, lastHash },
  })),
  generations: generations.toSorted(),
});

/** Texts that schema 15 moved out of a table: their source, and the column before which they were. */
const MOVED = {
  generation: {
    from: "generation_request",
    on: "m.generation_seq = t.seq",
    texts: ["body"],
    before: "input_defaults",
    order: "t.seq",
  },
  attempt: {
    ...{ from: "attempt_text", on: "m.generation_seq = t.generation_seq AND m.attempt_no = t.attempt_no" },
    ...{ texts: ["results", "failure"], before: "watch_until_ms", order: "t.generation_seq, t.attempt_no" },
  },
} as const;
/** The columns of a table in their former order, and where they are. */
const columnsOf = (db: Database, table: string): string => {
  const moved = Object.entries(MOVED).find(([name]) => name === table)?.[1];
  const isMoved = moved && db.query("SELECT 1 FROM sqlite_schema WHERE name = ?1").get(moved.from) !== null;
  if (!isMoved) return `* FROM ${table}`;
  const columns = db.query<{ name: string }, [string]>("SELECT name FROM pragma_table_info(?1)").all(table);
  const names = columns.flatMap(({ name }) => [
    ...(name === moved.before ? moved.texts.map((text) => `m.${text}`) : []),
    `t.${name}`,
  ]);
  return `${names.join(", ")} FROM ${table} t JOIN ${moved.from} m ON ${moved.on} ORDER BY ${moved.order}`;
};

type Values = unknown[][];
/** The rows of every table by its name, each as values in the order of its columns. */
export const valuesIn = (path: string): Map<string, Values> => {
  const db = new Database(path, { readonly: true });
  const tables = db
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name")
    .all();
  const found = new Map(tables.map(({ name }) => [name, db.query(`SELECT ${columnsOf(db, name)}`).values() as Values]));
  db.close();
  return found;
};

/** The present name of each table of these builds that has another; written down here once more, independent of the conversion. */
export const RENAMED: Readonly<Record<string, string>> = {
  ...{
    owner: "writer_epoch",
    posting: "transfer",
    journal: "generation_event",
    credit: "balance_adjustment",
    person: "console_user",
  },
  ...{ owed_settled: "debt_repayment", low_balance: "balance_alert", route_switch: "disabled_route", meter: "spend_limit" },
  ...{ provider_key: "provider_credential", key_terms: "api_key_policy", key_spend: "spend_by_day", usage_day: "usage_daily" },
  ...{ key_ended: "settled_spend_by_day", key_use: "api_key_last_used", key_network: "api_key_network" },
  purchase_credit: "purchase_adjustment",
};
