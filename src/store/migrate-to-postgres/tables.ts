// Migrated tables in foreign-key order, with the columns that only PostgreSQL has.
import type { Value } from "../sql/sql-program.ts";

export type FileRow = Record<string, Value>;
export type MigratedTable = {
  name: string;
  /** Columns that only PostgreSQL has. `movedAtMs`: by the clock of the target database. */
  added?: (row: FileRow, movedAtMs: number) => FileRow;
};

const sha256 = (text: Value | undefined): string => Bun.SHA256.hash(String(text), "hex");

/** `meta` is migrated by name. The tables of nodes (`lease`, `claim`, `usage_mark`) are filled at the end. */
export const MIGRATED_TABLES: readonly MigratedTable[] = [
  // The migration ends every owner, so the first nodes take over their open generations.
  { name: "owner", added: (_, movedAtMs) => ({ slot: 0, ended_at_ms: movedAtMs }) },
  { name: "account" },
  { name: "balance" },
  { name: "api_key" },
  { name: "plan", added: ({ routes }) => ({ hash: sha256(routes) }) },
  { name: "route_options", added: ({ options }) => ({ hash: sha256(options) }) },
  { name: "generation" },
  { name: "pinned_input" },
  { name: "snapshot" },
  { name: "attempt" },
  { name: "attempt_request" },
  { name: "journal" },
  { name: "posting" },
  { name: "credit" },
  { name: "route_health" },
  { name: "provider_key" },
  { name: "route_switch" },
  { name: "person" },
  { name: "session" },
  { name: "invitation" },
  { name: "audit" },
  { name: "key_terms" },
  { name: "meter" },
  { name: "key_spend" },
  { name: "key_ended" },
  { name: "key_use" },
  { name: "key_network" },
  { name: "usage_day" },
  { name: "owed_settled" },
  { name: "paused_by_debt" },
  { name: "low_balance" },
  { name: "purchase" },
  { name: "purchase_credit" },
  { name: "reversal" },
  { name: "foreign_reversal" },
];

/** Shape of a table of the file: its columns in order, the text columns, and the key columns. */
export type Shape = { columns: readonly string[]; texts: readonly string[]; key: readonly string[] };

/** Checksums of a table. */
export type Sums = {
  rows: number;
  /** Sum of all numbers, weighted by column. */
  numbers: number;
  /** Length of all texts in bytes. */
  bytes: number;
};

/** Keeps the sums of billions of rows below 2^53. */
const MODULUS = 10_007;

/** The statement that computes the checksums of a table in both databases. */
export const sumsOf = (table: string, { columns, texts }: Shape): string => {
  const isText = new Set(texts);
  const numbers = columns.filter((name) => !isText.has(name)).map((name, at) => `coalesce(${name}, -7) % ${MODULUS} * ${at + 1}`);
  const bytes = texts.map((name) => `coalesce(octet_length(${name}), 0)`);
  const sum = (terms: readonly string[]) => (terms.length === 0 ? "0" : `CAST(coalesce(sum(${terms.join(" + ")}), 0) AS bigint)`);
  return `SELECT count(*) AS rows, ${sum(numbers)} AS numbers, ${sum(bytes)} AS bytes FROM ${table}`;
};
