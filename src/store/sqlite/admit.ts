// Accepts a submission: key, generations in progress and balance are decided in that order, then the rows are written.
import type { Database } from "bun:sqlite";
import type { AdmitOutcome } from "../../deeds.ts";
import type { Money } from "./money.ts";
import { admittedRecord, type PackedAdmit } from "./pack.ts";
import { RECORD_COLUMNS, type RecordRow, toRecord } from "./read/record.ts";
import { DeedRefused } from "./refused.ts";

export const prepareAdmit = (db: Database, money: Money) => {
  const selectKey = db.prepare<RecordRow & { body_hash: string }, [number, string]>(
    `SELECT ${RECORD_COLUMNS}, g.body_hash FROM generation g WHERE g.account_seq = ?1 AND g.idempotency_key = ?2`,
  );
  const insertGeneration = db.prepare(
    `INSERT INTO generation (seq, account_seq, id, model, status, quoted_credits, reserved_credits, created_at_ms,
       wait_ends_at_ms, body_hash, idempotency_key) VALUES (?1, ?2, ?3, ?4, 'queued', ?5, ?6, ?7, ?8, ?9, ?10)`,
  );
  const insertSubmission = db.prepare("INSERT INTO submission VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
  const insertStart = db.prepare("INSERT INTO command (seq, kind, n, due_at_ms) VALUES (?1, 'start', 0, ?2)");

  return (deed: PackedAdmit): AdmitOutcome => {
    if (deed.idempotencyKey !== null) {
      const known = selectKey.get(deed.accountSeq, deed.idempotencyKey);
      if (known)
        return known.body_hash === deed.bodyHash
          ? { kind: "replayed", record: toRecord(known) }
          : { kind: "idempotency_conflict" };
    }
    const head = money.head(deed.accountSeq);
    if (!head) throw new DeedRefused(`there is no account ${deed.accountSeq}`);
    const shifted = money.shift(
      deed.accountSeq,
      head,
      {
        kind: "hold",
        credits: deed.reservedCredits,
        from: "available",
        to: "held",
        generationSeq: deed.seq,
        attemptN: null,
        atMs: deed.createdAtMs,
        note: null,
        progress: 1,
      },
      deed.inProgressLimit,
    );
    if (!shifted)
      return head.inProgress >= deed.inProgressLimit
        ? { kind: "concurrency_limit" }
        : { kind: "insufficient_credits", availableCredits: head.availableCredits };
    insertGeneration.run(
      deed.seq,
      deed.accountSeq,
      deed.id,
      deed.model,
      deed.quotedCredits,
      deed.reservedCredits,
      deed.createdAtMs,
      deed.waitEndsAtMs,
      deed.bodyHash,
      deed.idempotencyKey,
    );
    insertSubmission.run(
      deed.seq,
      deed.keySeq,
      deed.maxCostCredits,
      deed.requestId,
      deed.planJson,
      deed.addedJson,
      deed.filledJson,
      deed.rawJson,
    );
    insertStart.run(deed.seq, deed.createdAtMs);
    money.record(deed.accountSeq, shifted);
    return { kind: "admitted", record: admittedRecord(deed) };
  };
};
