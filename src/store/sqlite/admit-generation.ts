// Admits a submission: key, concurrency and balance rules in order of precedence, then the rows.
import type { Database } from "bun:sqlite";
import { type FingerprintedRequest, isSameRequest } from "../../domain/idempotency.ts";
import type { AdmitResult } from "../mutations.ts";
import { admissionError } from "../sql/admission-rules.ts";
import { chain } from "../sql/ledger.ts";
import { MutationRejected } from "../sql/mutation-rejected.ts";
import { RECORD_COLUMNS, type RecordRow, toRecord } from "../sql/queries/record.ts";
import { admittedRecord, type PackedAdmit } from "../sql/serialized-mutations.ts";
import type { Interned } from "./interned-strings.ts";
import type { Limits } from "./key-limits.ts";
import type { Ledger } from "./ledger.ts";

export const prepareAdmit = (db: Database, money: Ledger, plans: Interned, limits: Limits) => {
  const selectKey = db.prepare<RecordRow & FingerprintedRequest, [number, string]>(
    `SELECT ${RECORD_COLUMNS}, g.body, g.fingerprint FROM generation g WHERE g.account_seq = ?1 AND g.idempotency_key = ?2`,
  );
  // The insert itself detects a known key, because a lookup first would walk the index twice.
  const insertGeneration = db.prepare(
    `INSERT INTO generation (seq, account_seq, id, model, status, quoted_credits, reserved_credits, created_at_ms, start_deadline_ms,
       idempotency_key, hold_transfer_no, hold_previous_seq, hold_available_after, hold_held_after, hold_epoch, hold_hash, key_seq,
       max_cost_credits, request_id, plan_seq, body, input_defaults, expected_delivery, fingerprint)
     VALUES (?1, ?2, ?3, ?4, 'queued', ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ${money.epoch}, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)
     ON CONFLICT (account_seq, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING`,
  );

  const insertPin = db.prepare(
    "INSERT INTO pinned_input (generation_seq, input_no, field, kind, measured_ms, frame_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
  );

  /** The generation that the key already created. */
  const known = (mutation: PackedAdmit): AdmitResult | undefined => {
    const { accountSeq, idempotencyKey } = mutation;
    const row = idempotencyKey === null ? null : selectKey.get(accountSeq, idempotencyKey);
    if (!row) return undefined;
    return isSameRequest(row, mutation) ? { kind: "replayed", record: toRecord(row) } : { kind: "idempotency_conflict" };
  };

  return (mutation: PackedAdmit): AdmitResult => {
    const head = money.head(mutation.accountSeq);
    if (!head) throw new MutationRejected(`there is no account ${mutation.accountSeq}`);
    const { keySeq, createdAtMs, reservedCredits } = mutation;
    const refusal = admissionError(mutation, head, limits.expiry(keySeq, createdAtMs), () =>
      limits.shortage(keySeq, createdAtMs, reservedCredits),
    );
    if (refusal) return known(mutation) ?? refusal;
    const held = chain(head, {
      kind: "hold",
      credits: mutation.reservedCredits,
      from: "available",
      to: "held",
      generationSeq: mutation.seq,
      attemptN: null,
      atMs: mutation.createdAtMs,
      note: null,
      progress: 1,
    });
    const { changes } = insertGeneration.run(
      mutation.seq,
      mutation.accountSeq,
      mutation.id,
      mutation.model,
      mutation.quotedCredits,
      mutation.reservedCredits,
      mutation.createdAtMs,
      mutation.waitEndsAtMs,
      mutation.idempotencyKey,
      held.link.chainSeq,
      head.chainEnd,
      held.link.availableAfter,
      held.link.heldAfter,
      held.hash,
      mutation.keySeq,
      mutation.maxCostCredits,
      mutation.requestId,
      plans.seqOf(mutation.planJson),
      mutation.body,
      mutation.addedJson,
      mutation.orderedJson,
      mutation.fingerprint,
    );
    if (changes === 0) {
      const before = known(mutation);
      if (!before) throw new MutationRejected("a key that was used before has no generation");
      return before;
    }
    for (const { n, field, kind, measuredMs, frameMs } of mutation.pins ?? [])
      insertPin.run(mutation.seq, n, field, kind, measuredMs, frameMs);
    money.hold(mutation.accountSeq, held, mutation.seq);
    limits.admitted(mutation.keySeq, mutation.createdAtMs, mutation.reservedCredits);
    return { kind: "admitted", record: admittedRecord(mutation) };
  };
};
