// Writes one transition of one generation: event, snapshot, attempts, deadline and settlement.
import type { Database } from "bun:sqlite";
import { ClockCache } from "../../collections/clock-cache.ts";
import { eventsOf, firstVersionOf, type Settlement, statusVersionOf, type TransitionResult } from "../../domain/transition.ts";
import type { Credits, GenerationRecord } from "../../domain/types.ts";
import type { WebhookEvent } from "../../domain/webhooks.ts";
import { decideTransition, type TransitionRows, type TransitionWrites } from "../decide/transition.ts";
import type { Head } from "../sql/ledger.ts";
import { MutationRejected } from "../sql/mutation-rejected.ts";
import { type RecordRow, recordColumns, toRecord } from "../sql/queries/record.ts";
import type { PackedStep } from "../sql/serialized-mutations.ts";
import type { Attempts } from "./attempt.ts";
import type { EndUserRows } from "./end-users.ts";
import type { Limits } from "./key-limits.ts";
import type { Ledger } from "./ledger.ts";
import type { Outbox } from "./outbox.ts";
import { SQLITE } from "./sql-program.ts";

/** The cached state of a generation: its record, the version of its last transition, the address for its events, and its end user. */
type CurrentState = { record: GenerationRecord; version: number; webhookUrl: string | null; endUserSeq: number | null };

/** Minimum number of cached generations, which is more than change at a time. */
const GENERATIONS_AT_LEAST = 1_000;

export type ApplyTransitionDeps = {
  epoch: number;
  money: Ledger;
  attempts: Attempts;
  limits: Limits;
  endUsers: EndUserRows;
  outbox: Outbox;
  /** Repays a debt from available credits. @returns the repaid credits. */
  settleDebt: (accountSeq: number, atMs: number) => Credits;
};

export const prepareStep = (
  db: Database,
  { epoch, money, attempts, limits, endUsers, outbox, settleDebt }: ApplyTransitionDeps,
) => {
  const select = db.prepare<
    RecordRow & { version: number | null; webhook_url: string | null; end_user_seq: number | null },
    [number]
  >(
    `SELECT ${recordColumns(SQLITE)}, s.version, w.url AS webhook_url, g.end_user_seq FROM generation g LEFT JOIN snapshot s ON s.generation_seq = g.seq
     LEFT JOIN generation_webhook w ON w.generation_seq = g.seq WHERE g.seq = ?1`,
  );
  const insertGenerationEvent = db.prepare(
    `INSERT INTO generation_event (generation_seq, version, at_ms, epoch, state_after, event) VALUES (?1, ?2, ?3, ${epoch}, ?4, ?5)`,
  );
  const insertSnapshot = db.prepare("INSERT INTO snapshot VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
  const updateSnapshot = db.prepare(
    "UPDATE snapshot SET version = ?2, state = ?4, snapshot = ?5 WHERE generation_seq = ?1 AND version = ?3 - 1",
  );
  const updateWithDeadline = db.prepare(
    `UPDATE snapshot SET version = ?2, state = ?4, snapshot = ?5, deadline_kind = ?6, deadline_attempt_no = ?7, deadline_at_ms = ?8
     WHERE generation_seq = ?1 AND version = ?3 - 1`,
  );
  const deleteSnapshot = db.prepare("DELETE FROM snapshot WHERE generation_seq = ?1 AND version = ?2 - 1");
  const updateGeneration = db.prepare(
    "UPDATE generation SET status = ?2, message = ?3, attempts = ?4 WHERE seq = ?1 AND completed_at_ms IS NULL",
  );
  const endGeneration = db.prepare(
    `UPDATE generation SET status = ?2, message = NULL, attempts = ?3, cost_credits = ?4, output = ?5, error = ?6,
       completed_at_ms = ?7, files_expire_at_ms = ?8 WHERE seq = ?1 AND completed_at_ms IS NULL`,
  );

  const pin = db.prepare(
    "UPDATE pinned_input SET sha256 = ?3, bytes = ?4, mime = ?5, ms = ?6, pinned_at_ms = ?7 WHERE generation_seq = ?1 AND input_no = ?2 AND sha256 IS NULL",
  );

  /** Cached rows. They are valid until a rollback, because there is no other writer. */
  const known = new ClockCache<number, CurrentState>(GENERATIONS_AT_LEAST);
  const generationOf = (seq: number): CurrentState | undefined => {
    const before = known.get(seq);
    if (before) return before;
    const row = select.get(seq);
    if (!row) return undefined;
    return { record: toRecord(row), version: row.version ?? 0, webhookUrl: row.webhook_url, endUserSeq: row.end_user_seq };
  };

  const end = ({ seq, status, attempts: tried, costCredits, completedAtMs }: GenerationRecord, settlement: Settlement): void => {
    const isCapture = settlement.kind === "capture";
    const output = isCapture ? JSON.stringify(settlement.output) : null;
    const error = isCapture ? null : JSON.stringify(settlement.error);
    endGeneration.run(
      seq,
      status,
      tried,
      costCredits,
      output,
      error,
      completedAtMs,
      isCapture ? settlement.filesExpireAtMs : null,
    );
  };

  /**
   * Writes the snapshot and the deadline, or deletes them at the end. @returns whether the stored version was the previous one.
   */
  const keepSnapshot = (mutation: PackedStep): boolean => {
    const { seq, version, stateAfter, snapshot, deadline } = mutation;
    const first = firstVersionOf(mutation);
    if (snapshot === null) return first === 1 || deleteSnapshot.run(seq, first).changes === 1;
    const due = [deadline?.kind ?? null, deadline?.n ?? null, deadline?.dueAtMs ?? null] as const;
    if (first === 1) return insertSnapshot.run(seq, version, stateAfter, ...due, snapshot).changes === 1;
    if (deadline === undefined) return updateSnapshot.run(seq, version, first, stateAfter, snapshot).changes === 1;
    return updateWithDeadline.run(seq, version, first, stateAfter, snapshot, ...due).changes === 1;
  };

  const stateFor = ({ seq, settlement }: PackedStep, current: CurrentState | undefined): TransitionRows => ({
    generation: current,
    isOwned: true,
    head: settlement && current && money.head(current.record.accountSeq),
    captured: settlement?.kind === "capture" ? attempts.find(seq, settlement.n) : undefined,
    meterOf: limits.meterOf,
    endUserSeq: current?.endUserSeq ?? null,
  });

  /** Writes a settlement. @param before the balance before it. */
  const settle = (mutation: PackedStep, writes: TransitionWrites, before: Head): void => {
    const { record, transfers, spend, endUserSettlement } = writes;
    let head = before;
    for (const move of transfers) head = money.post(record.accountSeq, head, move).head;
    if (mutation.settlement) end(record, mutation.settlement);
    limits.spend(spend);
    endUsers.settle(endUserSettlement);
  };

  const addToOutbox = (mutation: PackedStep, record: GenerationRecord, type: WebhookEvent, url: string | null) => {
    const sequence = statusVersionOf(mutation);
    return outbox.add({
      accountSeq: record.accountSeq,
      generationSeq: record.seq,
      data: null,
      sequence,
      type,
      atMs: mutation.atMs,
      url,
    });
  };

  const execute = (mutation: PackedStep): TransitionResult => {
    const { seq, version, atMs } = mutation;
    const current = generationOf(seq);
    const state = stateFor(mutation, current);
    const { result, writes } = decideTransition(mutation, state);
    if (!writes) return result;
    const { record } = writes;
    for (const { version: each, event } of eventsOf(version, mutation.earlier, mutation))
      insertGenerationEvent.run(seq, each, atMs, event.stateAfter, event.eventJson);
    for (const { n, sha256, bytes, mime, ms } of mutation.pinned ?? []) pin.run(seq, n, sha256, bytes, mime, ms, atMs);
    for (const row of writes.attempts) attempts.write(seq, row);
    if (writes.isOpenRecordChanged) updateGeneration.run(seq, record.status, record.message, record.attempts);
    if (state.head) settle(mutation, writes, state.head);
    if (!keepSnapshot(mutation)) throw new MutationRejected("the snapshot is of another version");
    const webhookUrl = current?.webhookUrl ?? null;
    const deliveries = writes.event === null ? undefined : addToOutbox(mutation, record, writes.event, webhookUrl);
    if (mutation.settlement) known.delete(seq);
    else known.set(seq, { record, version, webhookUrl, endUserSeq: state.endUserSeq });
    const settledCredits = writes.repaysDebt ? settleDebt(record.accountSeq, atMs) : 0;
    return {
      ...result,
      ...(settledCredits > 0 ? { settledCredits } : {}),
      ...(deliveries === undefined ? {} : { deliveries }),
    };
  };
  return {
    carryOut: execute,
    /** Drops cached rows after a rollback. */
    forget: (): void => known.clear(),
  };
};
