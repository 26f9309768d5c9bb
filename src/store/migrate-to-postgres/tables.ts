// Migrated tables in foreign-key order, with the columns that only PostgreSQL has.
import type { Value } from "../sql/sql-program.ts";

export type FileRow = Record<string, Value>;
export type MigratedTable = {
  name: string;
  /**
   * A table or a view of the file with one row `j` for each row `t` of this table; these texts of it are in this table in
   * PostgreSQL. `table`: the table that has them.
   */
  joined?: { name: string; table: string; on: string; texts: readonly string[] };
  /** Its name in PostgreSQL, if it differs. */
  target?: string;
  /** Columns that only PostgreSQL has. `movedAtMs`: by the clock of the target database. */
  added?: (row: FileRow, movedAtMs: number) => FileRow;
};

const sha256 = (text: Value | undefined): string => Bun.SHA256.hash(String(text), "hex");

const REQUESTS: MigratedTable["joined"] = {
  ...{ name: "generation_request", table: "generation_request", on: "j.generation_seq = t.seq", texts: ["body", "labels"] },
};
const ANSWERS: MigratedTable["joined"] = {
  ...{ name: "attempt_text", table: "attempt_answer", texts: ["results", "failure"] },
  on: "j.generation_seq = t.generation_seq AND j.attempt_no = t.attempt_no",
};

/** `meta` is migrated by name. The tables of nodes (`lease`, `ownership_change`, `usage_progress`) are filled at the end. */
export const MIGRATED_TABLES: readonly MigratedTable[] = [
  // The migration ends every owner, so the first nodes take over their open generations.
  { name: "writer_epoch", target: "node", added: (_, movedAtMs) => ({ slot: 0, ended_at_ms: movedAtMs }) },
  { name: "account" },
  { name: "balance" },
  { name: "api_key" },
  { name: "plan", added: ({ routes }) => ({ hash: sha256(routes) }) },
  { name: "route_options", added: ({ options }) => ({ hash: sha256(options) }) },
  { name: "end_user" },
  { name: "end_user_name" },
  { name: "end_user_day" },
  { name: "generation", joined: REQUESTS },
  { name: "generation_metadata" },
  { name: "pinned_input" },
  { name: "upload_blob" },
  { name: "uploaded_file" },
  { name: "upload_usage" },
  { name: "resumable_upload" },
  { name: "resumable_part" },
  { name: "input_file" },
  { name: "file_removal" },
  { name: "snapshot" },
  { name: "attempt", joined: ANSWERS },
  { name: "attempt_request" },
  { name: "generation_event" },
  { name: "transfer" },
  { name: "balance_adjustment" },
  { name: "route_health" },
  { name: "provider_credential" },
  { name: "disabled_route" },
  { name: "console_user" },
  { name: "session" },
  { name: "invitation" },
  { name: "audit" },
  { name: "api_key_policy" },
  { name: "spend_limit" },
  { name: "spend_by_day" },
  { name: "settled_spend_by_day" },
  { name: "api_key_last_used" },
  { name: "api_key_network" },
  { name: "usage_daily" },
  { name: "outcome_hourly" },
  { name: "debt_repayment" },
  { name: "paused_by_debt" },
  { name: "balance_alert" },
  { name: "spend_alert" },
  { name: "purchase" },
  { name: "purchase_adjustment" },
  { name: "reversal" },
  { name: "foreign_reversal" },
  { name: "webhook_endpoint" },
  { name: "webhook_secret" },
  { name: "generation_webhook" },
  { name: "webhook_delivery" },
  { name: "webhook_try" },
];

/** The name of a table in PostgreSQL. */
export const targetOf = ({ name, target }: MigratedTable): string => target ?? name;

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

/** The rows of a table of the file, with the columns that belong to it in PostgreSQL. */
export const fileRows = ({ name, joined }: MigratedTable): string =>
  joined
    ? `(SELECT t.*, ${joined.texts.map((column) => `j.${column}`).join(", ")} FROM ${name} t JOIN ${joined.name} j ON ${joined.on})`
    : name;

/** The statement that computes the checksums of a table in both databases. */
export const sumsOf = (table: string, { columns, texts }: Shape): string => {
  const isText = new Set(texts);
  const numbers = columns.filter((name) => !isText.has(name)).map((name, at) => `coalesce(${name}, -7) % ${MODULUS} * ${at + 1}`);
  const bytes = texts.map((name) => `coalesce(octet_length(${name}), 0)`);
  const sum = (terms: readonly string[]) => (terms.length === 0 ? "0" : `CAST(coalesce(sum(${terms.join(" + ")}), 0) AS bigint)`);
  return `SELECT count(*) AS rows, ${sum(numbers)} AS numbers, ${sum(bytes)} AS bytes FROM ${table}`;
};
