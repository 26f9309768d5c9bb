// Names of tables and columns before the first release, by their present names.
//
// Databases of those builds are converted at the first start. Backups and archives of those builds are read with these names.

export type FormerTable = {
  /** The former name of the table. */
  name: string;
  /** The former names of renamed columns, by their present names. */
  columns: Readonly<Record<string, string>>;
  /** SQL over a former row for columns whose values changed as well, by their present names. */
  values?: Readonly<Record<string, string>>;
};

const OF_GENERATION = { generation_seq: "seq" } as const;
/** The state of a generation that waits for a slot, under its former name. */
const stateFrom = (column: string): string => `replace(${column}, 'awaitingSeat', 'awaitingSlot')`;
const OF_ATTEMPT = { generation_seq: "seq", attempt_no: "n" } as const;

/** Tables with another name or other columns, by their present names. All other tables and columns kept their names. */
export const FORMER_TABLES: Readonly<Record<string, FormerTable>> = {
  balance: { name: "balance", columns: { last_transfer_no: "chain_seq", last_transfer_seq: "chain_end" } },
  api_key: { name: "api_key", columns: { prefix: "start" } },
  generation: {
    name: "generation",
    columns: {
      ...{ start_deadline_ms: "wait_ends_at_ms", hold_transfer_no: "hold_chain_seq", hold_previous_seq: "hold_previous" },
      ...{ input_defaults: "added", expected_delivery: "ordered" },
    },
  },
  snapshot: {
    name: "snapshot",
    columns: {
      ...OF_GENERATION,
      ...{ deadline_kind: "due_kind", deadline_attempt_no: "due_n", deadline_at_ms: "due_at_ms" },
    },
    values: {
      state: stateFrom("state"),
      snapshot: stateFrom("snapshot"),
      deadline_kind: "CASE due_kind WHEN 'seat' THEN 'slot' ELSE due_kind END",
    },
  },
  attempt: { name: "attempt", columns: OF_ATTEMPT },
  attempt_request: { name: "attempt_request", columns: OF_ATTEMPT },
  pinned_input: { name: "pinned_input", columns: { generation_seq: "seq", input_no: "n" } },
  generation_event: { name: "journal", columns: OF_GENERATION, values: { state_after: stateFrom("state_after") } },
  transfer: {
    name: "posting",
    columns: {
      ...{ transfer_no: "chain_seq", previous_seq: "previous", after_generation_seq: "after_seq", attempt_no: "attempt_n" },
    },
  },
  balance_adjustment: {
    name: "credit",
    columns: { requested_credits: "asked_credits", transferred_credits: "moved_credits", transfer_seq: "movement_seq" },
  },
  debt_repayment: { name: "owed_settled", columns: { adjustment_seq: "credit_seq" } },
  balance_alert: { name: "low_balance", columns: {} },
  disabled_route: { name: "route_switch", columns: {} },
  provider_credential: { name: "provider_key", columns: {} },
  console_user: { name: "person", columns: {} },
  session: { name: "session", columns: { user_seq: "person_seq" } },
  invitation: { name: "invitation", columns: { user_seq: "person_seq", created_by: "made_by" } },
  audit: {
    name: "audit",
    columns: { principal_kind: "actor_kind", principal_id: "actor_id", principal_name: "actor_name" },
    values: {
      principal_kind: "CASE actor_kind WHEN 'person' THEN 'user' ELSE actor_kind END",
      action: "CASE action WHEN 'set-person' THEN 'set-user' ELSE action END",
      detail: `replace(replace(detail, '"personId":', '"userId":'), '"movedCredits":', '"transferredCredits":')`,
    },
  },
  api_key_policy: { name: "key_terms", columns: { spend_limit_seq: "meter_seq" } },
  spend_limit: { name: "meter", columns: {} },
  spend_by_day: { name: "key_spend", columns: { spend_limit_seq: "meter_seq" } },
  settled_spend_by_day: { name: "key_ended", columns: {} },
  api_key_last_used: { name: "key_use", columns: {} },
  api_key_network: { name: "key_network", columns: {} },
  usage_daily: { name: "usage_day", columns: {} },
  purchase: { name: "purchase", columns: { user_id: "person_id", checked_at_ms: "asked_at_ms" } },
  purchase_adjustment: { name: "purchase_credit", columns: { adjustment_seq: "credit_seq", reason: "why" } },
  reversal: { name: "reversal", columns: { reported_at_ms: "told_at_ms" } },
  foreign_reversal: { name: "foreign_reversal", columns: { reported_at_ms: "told_at_ms" } },
};

/** Tables that only one driver has. */
export const FORMER_SQLITE_TABLES: Readonly<Record<string, FormerTable>> = {
  ...FORMER_TABLES,
  writer_epoch: { name: "owner", columns: {} },
};
export const FORMER_POSTGRES_TABLES: Readonly<Record<string, FormerTable>> = {
  ...FORMER_TABLES,
  node: { name: "owner", columns: { has_open_generations: "has_left", is_temporary: "is_visit" } },
  lease: { name: "lease", columns: { is_draining: "leaving" } },
  callback_inbox: { name: "hint", columns: OF_ATTEMPT },
  rate_limit_window: { name: "burst", columns: { requests: "taken" } },
  ownership_change: { name: "claim", columns: { generation_seq: "seq", change_no: "n" } },
  usage_progress: { name: "usage_mark", columns: {} },
};

/** The statement that copies a table. @param columns its present columns. @param from the former table as SQL. */
export const copyTable = (table: string, columns: readonly string[], from: string, former: FormerTable | undefined): string => {
  const values = columns.map((column) => former?.values?.[column] ?? former?.columns[column] ?? column);
  return `INSERT INTO ${table} (${columns.join(", ")}) SELECT ${values.join(", ")} FROM ${from}`;
};
