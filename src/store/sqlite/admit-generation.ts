// Writes an admission: the generation row with its hold, its links and the spending of its key.
import type { Database } from "bun:sqlite";
import type { StoredRequest } from "../../domain/idempotency.ts";
import type { LowBalance } from "../../domain/low-balance.ts";
import type { AdmitResult } from "../../domain/mutations.ts";
import { decideAdmission, type KnownSubmission } from "../decide/admission.ts";
import { lowBalanceEvent } from "../decide/deliveries.ts";
import type { EndUser, EndUserHold } from "../sql/end-users.ts";
import type { Chained, Head } from "../sql/ledger.ts";
import { metadataTerm } from "../sql/metadata-term.ts";
import { MutationRejected } from "../sql/mutation-rejected.ts";
import { type RecordRow, recordColumns, toRecord } from "../sql/queries/record.ts";
import type { PackedAdmit } from "../sql/serialized-mutations.ts";
import type { BalanceAlerts } from "./balance-alerts.ts";
import type { EndUserRows } from "./end-users.ts";
import type { Interned } from "./interned-strings.ts";
import type { Limits } from "./key-limits.ts";
import type { Ledger } from "./ledger.ts";
import type { Outbox } from "./outbox.ts";
import { SQLITE } from "./sql-program.ts";

type AdmitDeps = {
  money: Ledger;
  plans: Interned;
  limits: Limits;
  endUsers: EndUserRows;
  alerts: BalanceAlerts;
  outbox: Outbox;
};

export const prepareAdmit = (db: Database, { money, plans, limits, endUsers, alerts, outbox }: AdmitDeps) => {
  const selectKey = db.prepare<RecordRow & StoredRequest, [number, string]>(
    `SELECT ${recordColumns(SQLITE)}, ${SQLITE.body} AS body, g.fingerprint FROM generation g WHERE g.account_seq = ?1 AND g.idempotency_key = ?2`,
  );
  const insertGeneration = db.prepare(
    `INSERT INTO generation (seq, account_seq, id, model, status, quoted_credits, reserved_credits, created_at_ms, start_deadline_ms,
       idempotency_key, hold_transfer_no, hold_previous_seq, hold_available_after, hold_held_after, hold_epoch, hold_hash, key_seq,
       max_cost_credits, request_id, plan_seq, input_defaults, expected_delivery, end_user_seq)
     VALUES (?1, ?2, ?3, ?4, 'queued', ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ${money.epoch}, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)
     ON CONFLICT (account_seq, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING`,
  );

  // Row numbers rise with the admissions, so that the row is added at the end of its table (see 0006.sql).
  const insertRequest = db.prepare("INSERT INTO generation_request (generation_seq, body, labels) VALUES (?1, ?2, ?3)");

  const insertPin = db.prepare(
    "INSERT INTO pinned_input (generation_seq, input_no, field, kind, measured_ms, frame_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
  );

  const insertMetadata = db.prepare(
    "INSERT INTO generation_metadata (account_seq, name, value, generation_seq) VALUES (?1, ?2, ?3, ?4)",
  );
  const selectFile = db.prepare<{ seq: number }, [number]>(
    "SELECT seq FROM uploaded_file WHERE seq = ?1 AND deleted_at_ms IS NULL",
  );
  const insertFile = db.prepare(
    `INSERT INTO input_file (generation_seq, input_no, field, kind, file_seq, source_generation_seq, storage_id, file_no, object, sha256,
       bytes, mime) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)`,
  );
  const useFile = db.prepare(
    `UPDATE uploaded_file SET last_used_at_ms = max(last_used_at_ms, ?2), expires_at_ms = max(expires_at_ms, ?3) WHERE seq = ?1`,
  );
  const takeFiles = ({ seq, files, createdAtMs }: PackedAdmit): void => {
    for (const { n, field, kind, fileSeq, sourceSeq, storageId, fileNo, object = null, sha256, bytes, mime } of files?.inputs ??
      []) {
      insertFile.run(seq, n, field, kind, fileSeq, sourceSeq, storageId, fileNo, object, sha256, bytes, mime);
      if (fileSeq !== null) useFile.run(fileSeq, createdAtMs, files?.expireAtMs ?? 0);
    }
  };

  const submissionOf = ({ accountSeq, idempotencyKey }: PackedAdmit): KnownSubmission | undefined => {
    const row = idempotencyKey === null ? null : selectKey.get(accountSeq, idempotencyKey);
    return row ? { record: toRecord(row), request: row } : undefined;
  };

  /** @returns whether the row was inserted; its idempotency key may be known. */
  const insert = (mutation: PackedAdmit, { link, head, hash }: Chained, endUserSeq: number | null): boolean =>
    insertGeneration.run(
      mutation.seq,
      mutation.accountSeq,
      mutation.id,
      mutation.model,
      mutation.quotedCredits,
      mutation.reservedCredits,
      mutation.createdAtMs,
      mutation.waitEndsAtMs,
      mutation.idempotencyKey,
      link.chainSeq,
      head.chainEnd,
      link.availableAfter,
      link.heldAfter,
      hash,
      mutation.keySeq,
      mutation.maxCostCredits,
      mutation.requestId,
      plans.seqOf(mutation.planJson),
      mutation.addedJson,
      mutation.orderedJson,
      endUserSeq,
    ).changes === 1;

  const lowBalanceOf = ({ accountSeq, createdAtMs }: PackedAdmit, held: Head): LowBalance => ({
    accountSeq,
    availableCredits: held.availableCredits,
    thresholdCredits: alerts.thresholdOf(accountSeq),
    deliveries: outbox.add(lowBalanceEvent(accountSeq, held, createdAtMs)) ?? [],
  });

  const storedEndUser = (
    { accountSeq, createdAtMs }: PackedAdmit,
    { endUser: name }: EndUserHold,
    endUser: EndUser | undefined,
  ): number => (endUser ?? endUsers.insert(accountSeq, name, createdAtMs)).seq;

  return (mutation: PackedAdmit): AdmitResult => {
    const { seq, accountSeq, keySeq } = mutation;
    const name = mutation.labels?.endUser ?? null;
    const endUser = name === null ? undefined : endUsers.find(accountSeq, name);
    // A replay must not store a new end user.
    const replayed = name !== null && endUser === undefined ? submissionOf(mutation) : undefined;
    const state = {
      head: money.head(accountSeq),
      known: replayed,
      bound: limits.boundOf(keySeq),
      spentSince: limits.spentSince,
      endUser,
      endUserSpentSince: endUsers.spentSince,
      thresholdCredits: alerts.thresholdOf(accountSeq),
      isFileStored: (fileSeq: number) => selectFile.get(fileSeq) !== null,
    };
    const { result, writes } = decideAdmission(mutation, state);
    const endUserSeq = writes?.endUserHold ? storedEndUser(mutation, writes.endUserHold, endUser) : null;
    if (!writes || !insert(mutation, writes.held, endUserSeq)) {
      // The row of a known key is read only now, because a lookup first would walk the index twice.
      const known = submissionOf(mutation);
      if (writes && !known) throw new MutationRejected("a key that was used before has no generation");
      return known ? decideAdmission(mutation, { ...state, known }).result : result;
    }
    insertRequest.run(seq, mutation.body, mutation.labels ? JSON.stringify(mutation.labels) : null);
    for (const { n, field, kind, measuredMs, frameMs } of mutation.pins ?? [])
      insertPin.run(seq, n, field, kind, measuredMs, frameMs);
    for (const [name, value] of Object.entries(mutation.labels?.metadata ?? {}))
      insertMetadata.run(accountSeq, ...metadataTerm(name, value), seq);
    takeFiles(mutation);
    if (mutation.webhookUrl !== undefined) outbox.name(seq, mutation.webhookUrl);
    const held = money.hold(accountSeq, writes.held, seq);
    limits.spend(writes.spend);
    if (writes.endUserHold && endUserSeq !== null) endUsers.hold(endUserSeq, writes.endUserHold);
    return writes.makesBalanceLow && result.kind === "admitted"
      ? { ...result, lowBalance: lowBalanceOf(mutation, held) }
      : result;
  };
};
