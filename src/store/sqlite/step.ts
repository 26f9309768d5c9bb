// Carries out one event of one generation: journal line, snapshot, attempts, deadline and, at its end, the money.
import type { Database } from "bun:sqlite";
import type { Settlement, StepOutcome } from "../../deeds.ts";
import { Recent } from "../../recent.ts";
import type { GenerationRecord } from "../../terms.ts";
import type { Attempts } from "./attempt.ts";
import type { Limits } from "./limits.ts";
import type { Money } from "./money.ts";
import type { PackedStep } from "./pack.ts";
import { RECORD_COLUMNS, type RecordRow, toRecord } from "./read/record.ts";
import { DeedRefused } from "./refused.ts";

/** Where a generation stands: its record, and the version of its last step. */
type Standing = { record: GenerationRecord; version: number };

/** Generations remembered between their steps: more than move at a time. */
const STANDING_AT_LEAST = 1_000;

/** What the row will be read as once the step is written. */
const recordAfter = (before: GenerationRecord, { settlement, status, message, attempts, atMs }: PackedStep): GenerationRecord => {
  const record = { ...before, attempts: attempts ?? before.attempts };
  if (!settlement)
    return { ...record, status: status ?? before.status, message: message === undefined ? before.message : message };
  // The clock never runs backwards, but a deed may carry a time taken before the admission it follows was stamped.
  const ended = { ...record, message: null, completedAtMs: Math.max(atMs, before.createdAtMs) };
  return settlement.kind === "capture"
    ? { ...ended, status: "succeeded", costCredits: settlement.credits, output: settlement.output }
    : { ...ended, status: "failed", costCredits: 0, error: settlement.error };
};

export const prepareStep = (db: Database, epoch: number, money: Money, attempts: Attempts, limits: Limits) => {
  const select = db.prepare<RecordRow & { version: number | null }, [number]>(
    `SELECT ${RECORD_COLUMNS}, s.version FROM generation g LEFT JOIN snapshot s ON s.seq = g.seq WHERE g.seq = ?1`,
  );
  const insertJournal = db.prepare(
    `INSERT INTO journal (seq, version, at_ms, epoch, state_after, event) VALUES (?1, ?2, ?3, ${epoch}, ?4, ?5)`,
  );
  const insertSnapshot = db.prepare("INSERT INTO snapshot VALUES (?1, 1, ?2, ?3, ?4, ?5, ?6)");
  const updateSnapshot = db.prepare(
    "UPDATE snapshot SET version = ?2, state = ?3, snapshot = ?4 WHERE seq = ?1 AND version = ?2 - 1",
  );
  const updateWithDeadline = db.prepare(
    `UPDATE snapshot SET version = ?2, state = ?3, snapshot = ?4, due_kind = ?5, due_n = ?6, due_at_ms = ?7
     WHERE seq = ?1 AND version = ?2 - 1`,
  );
  const deleteSnapshot = db.prepare("DELETE FROM snapshot WHERE seq = ?1 AND version = ?2 - 1");
  const updateGeneration = db.prepare(
    "UPDATE generation SET status = ?2, message = ?3, attempts = ?4 WHERE seq = ?1 AND completed_at_ms IS NULL",
  );
  const endGeneration = db.prepare(
    `UPDATE generation SET status = ?2, message = NULL, attempts = ?3, cost_credits = ?4, output = ?5, error = ?6,
       completed_at_ms = ?7, files_expire_at_ms = ?8 WHERE seq = ?1 AND completed_at_ms IS NULL`,
  );

  /** What this writer knows of the rows, as long as nothing is rolled back: nobody else writes them. */
  const known = new Recent<number, Standing>(STANDING_AT_LEAST);
  const standingOf = (seq: number): Standing | undefined => {
    const before = known.get(seq);
    if (before) return before;
    const row = select.get(seq);
    return row ? { record: toRecord(row), version: row.version ?? 0 } : undefined;
  };

  /** Moves the money of an end, in chain order: what is charged, then what is given back. */
  const settle = ({ seq, accountSeq, reservedCredits }: GenerationRecord, settlement: Settlement, atMs: number): void => {
    let head = money.head(accountSeq);
    if (!head) throw new DeedRefused(`there is no account ${accountSeq}`);
    const shared = { generationSeq: seq, atMs, note: null };
    let restCredits = reservedCredits;
    if (settlement.kind === "capture") {
      const { n, credits } = settlement;
      attempts.deliver(seq, n, atMs);
      const captured = { ...shared, kind: "capture", credits, from: "held", to: "charged", attemptN: n, progress: -1 } as const;
      head = money.post(accountSeq, head, captured).head;
      restCredits -= credits;
    }
    if (restCredits === 0) return;
    money.post(accountSeq, head, {
      ...shared,
      kind: "release",
      credits: restCredits,
      from: "held",
      to: "available",
      attemptN: null,
      progress: settlement.kind === "release" ? -1 : 0,
    });
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

  /** Writes how to continue and until when, or takes it away at the end. @returns whether it was of the version before. */
  const keepSnapshot = ({ seq, version, stateAfter, snapshot, deadline }: PackedStep): boolean => {
    if (snapshot === null) return version === 1 || deleteSnapshot.run(seq, version).changes === 1;
    const due = [deadline?.kind ?? null, deadline?.n ?? null, deadline?.dueAtMs ?? null] as const;
    if (version === 1) return insertSnapshot.run(seq, stateAfter, ...due, snapshot).changes === 1;
    if (deadline === undefined) return updateSnapshot.run(seq, version, stateAfter, snapshot).changes === 1;
    return updateWithDeadline.run(seq, version, stateAfter, snapshot, ...due).changes === 1;
  };

  const carryOut = (deed: PackedStep): StepOutcome => {
    const { seq, version, settlement } = deed;
    const standing = standingOf(seq);
    if (!standing || standing.record.completedAtMs !== null || standing.version !== version - 1) return { kind: "stale" };
    if (settlement ? deed.snapshot !== null : deed.snapshot === null)
      throw new DeedRefused(settlement ? "an ended generation keeps no snapshot" : "a generation that goes on needs a snapshot");

    insertJournal.run(seq, version, deed.atMs, deed.stateAfter, deed.eventJson);
    for (const change of deed.attemptChanges) attempts.change(seq, change, deed.atMs);
    const record = recordAfter(standing.record, deed);
    if (settlement) {
      if (settlement.kind === "capture") {
        const price = attempts.price(seq, settlement.n);
        if (price !== settlement.credits)
          throw new DeedRefused(`attempt ${settlement.n} was quoted ${price} credits and the capture is ${settlement.credits}`);
      }
      settle(record, settlement, deed.atMs);
      end(record, settlement);
      limits.settled(seq, record.createdAtMs, record.reservedCredits - (record.costCredits ?? 0));
      known.delete(seq);
    } else {
      if (deed.status !== undefined || deed.message !== undefined || deed.attempts !== undefined)
        updateGeneration.run(seq, record.status, record.message, record.attempts);
      known.set(seq, { record, version });
    }

    if (!keepSnapshot(deed)) throw new DeedRefused("the snapshot is of another version");
    return { kind: "stepped", record };
  };
  return {
    carryOut,
    /** Something was rolled back: what is known of the rows is read anew. */
    forget: (): void => known.clear(),
  };
};
