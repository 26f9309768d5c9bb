// What is moved: the tables in the order in which rows rest on each other, and what stands in columns that a file does not have.
import type { Value } from "../sql/sql-program.ts";

export type FileRow = Record<string, Value>;
export type MigratedTable = {
  name: string;
  /** Columns that only the shared database has. `movedAtMs`: by the clock of that database. */
  added?: (row: FileRow, movedAtMs: number) => FileRow;
};

const sha256 = (text: Value | undefined): string => Bun.SHA256.hash(String(text), "hex");

/** `meta` is moved by name, and what nodes share among each other (`lease`, `claim`, `usage_mark`) is made at the end. */
export const MIGRATED_TABLES: readonly MigratedTable[] = [
  // Every owner has ended with the move: the first nodes take over what they had under way.
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

/** How the rows of a table of a file look: its columns in their order, what of them is text, and the columns of its key. */
export type Shape = { columns: readonly string[]; texts: readonly string[]; key: readonly string[] };

/** What the rows of a table add up to. */
export type Sums = {
  rows: number;
  /** Of all numbers, each by its column. */
  numbers: number;
  /** Of all texts. */
  bytes: number;
};

/** Keeps the sums of billions of rows below 2^53. */
const MODULUS = 10_007;

/** The statement that adds a table up, in words that both databases understand. */
export const sumsOf = (table: string, { columns, texts }: Shape): string => {
  const isText = new Set(texts);
  const numbers = columns.filter((name) => !isText.has(name)).map((name, at) => `coalesce(${name}, -7) % ${MODULUS} * ${at + 1}`);
  const bytes = texts.map((name) => `coalesce(octet_length(${name}), 0)`);
  const sum = (terms: readonly string[]) => (terms.length === 0 ? "0" : `CAST(coalesce(sum(${terms.join(" + ")}), 0) AS bigint)`);
  return `SELECT count(*) AS rows, ${sum(numbers)} AS numbers, ${sum(bytes)} AS bytes FROM ${table}`;
};
