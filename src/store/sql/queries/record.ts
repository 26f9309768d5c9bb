// Maps the row of a generation to its record.

import type { GenerationError, GenerationRecord, GenerationStatus, Labels, Output } from "../../../domain/types.ts";
import type { SubmittingKey } from "../../store.ts";
import type { Dialect } from "../dialect.ts";

export type RecordRow = {
  seq: number;
  id: string;
  account_seq: number;
  request_id: string;
  model: string;
  status: GenerationStatus;
  message: string | null;
  quoted_credits: number;
  reserved_credits: number;
  cost_credits: number | null;
  attempts: number;
  error: string | null;
  output: string | null;
  created_at_ms: number;
  completed_at_ms: number | null;
  files_expired_at_ms: number | null;
  erased_at_ms: number | null;
  labels: string | null;
};

/** The columns of `RecordRow` for a `generation` with the alias `g`. */
export const recordColumns = ({ labels }: Pick<Dialect, "labels">): string =>
  `g.seq, g.id, g.account_seq, g.request_id, g.model, g.status, g.message, g.quoted_credits, g.reserved_credits,
  g.cost_credits, g.attempts, g.error, g.output, g.created_at_ms, g.completed_at_ms, g.files_expired_at_ms, g.erased_at_ms,
  ${labels} AS labels`;

export type KeyColumns = { key_id: string; key_name: string; key_start: string };
/** The columns of `KeyColumns` for an `api_key` with the alias `k`. */
export const KEY_COLUMNS = "k.id AS key_id, k.name AS key_name, k.prefix AS key_start";

/** The prefix identifies a playground key. */
export const toSubmittingKey = ({ key_id: id, key_name: name, key_start: start }: KeyColumns): SubmittingKey => ({
  ...{ id, name, start },
  isPlayground: start === "console",
});

/** Parses JSON that this store wrote. */
export const parsed = <T>(text: string | null): T | null => (text === null ? null : (JSON.parse(text) as T));

export const toRecord = (row: RecordRow): GenerationRecord => ({
  seq: row.seq,
  id: row.id,
  accountSeq: row.account_seq,
  requestId: row.request_id,
  model: row.model,
  status: row.status,
  message: row.message,
  quotedCredits: row.quoted_credits,
  reservedCredits: row.reserved_credits,
  costCredits: row.cost_credits,
  attempts: row.attempts,
  error: parsed<GenerationError>(row.error),
  output: parsed<Output>(row.output),
  createdAtMs: row.created_at_ms,
  completedAtMs: row.completed_at_ms,
  filesExpiredAtMs: row.files_expired_at_ms,
  erasedAtMs: row.erased_at_ms,
  labels: parsed<Labels>(row.labels),
});
