// Carries out one event of one generation: journal line, snapshot, attempts, commands and, at its end, the money.
import type { Database } from "bun:sqlite";
import type { Settlement, StepDeed, StepOutcome } from "../../deeds.ts";
import type { Attempts } from "./attempt.ts";
import type { Money } from "./money.ts";
import { RECORD_COLUMNS, type RecordRow, toRecord } from "./read/record.ts";
import { DeedRefused } from "./refused.ts";

type Standing = RecordRow & { version: number | null };

export const prepareStep = (db: Database, epoch: number, money: Money, attempts: Attempts) => {
  const select = db.prepare<Standing, [number]>(
    `SELECT ${RECORD_COLUMNS}, s.version FROM generation g LEFT JOIN snapshot s ON s.seq = g.seq WHERE g.seq = ?1`,
  );
  const insertJournal = db.prepare(
    `INSERT INTO journal (seq, version, at_ms, epoch, state_after, event) VALUES (?1, ?2, ?3, ${epoch}, ?4, ?5)`,
  );
  const insertSnapshot = db.prepare("INSERT INTO snapshot VALUES (?1, ?2, ?3, ?4)");
  const updateSnapshot = db.prepare(
    "UPDATE snapshot SET version = ?2, state = ?3, snapshot = ?4 WHERE seq = ?1 AND version = ?2 - 1",
  );
  const deleteSnapshot = db.prepare("DELETE FROM snapshot WHERE seq = ?1 AND version = ?2 - 1");
  const updateGeneration = db.prepare(
    "UPDATE generation SET status = ?2, message = ?3, attempts = ?4 WHERE seq = ?1 AND completed_at_ms IS NULL",
  );
  const endGeneration = db.prepare(
    `UPDATE generation SET status = ?2, message = NULL, attempts = ?3, cost_credits = ?4, output = ?5, error = ?6,
       completed_at_ms = ?7, files_expire_at_ms = ?8 WHERE seq = ?1 AND completed_at_ms IS NULL`,
  );
  const deleteCommands = db.prepare("DELETE FROM command WHERE seq = ?1");
  const insertCommand = db.prepare("INSERT INTO command VALUES (?1, ?2, ?3, ?4)");

  /** Moves the money of an end, in chain order: what is charged, then what is given back. */
  const settle = (row: Standing, settlement: Settlement, atMs: number): void => {
    let head = money.head(row.account_seq);
    if (!head) throw new DeedRefused(`there is no account ${row.account_seq}`);
    const shared = { generationSeq: row.seq, atMs, note: null };
    let restCredits = row.reserved_credits;
    if (settlement.kind === "capture") {
      const { n, credits } = settlement;
      attempts.deliver(row.seq, n, atMs);
      const captured = money.shift(row.account_seq, head, {
        ...shared,
        kind: "capture",
        credits,
        from: "held",
        to: "charged",
        attemptN: n,
        progress: -1,
      });
      if (!captured) throw new DeedRefused(`the hold does not cover the ${credits} credits of attempt ${n}`);
      money.record(row.account_seq, captured);
      head = captured.next;
      restCredits -= credits;
    }
    if (restCredits === 0) return;
    const released = money.shift(row.account_seq, head, {
      ...shared,
      kind: "release",
      credits: restCredits,
      from: "held",
      to: "available",
      attemptN: null,
      progress: settlement.kind === "release" ? -1 : 0,
    });
    if (!released) throw new DeedRefused(`the hold does not cover the release of ${restCredits} credits`);
    money.record(row.account_seq, released);
  };

  const end = (row: Standing, settlement: Settlement, tried: number, atMs: number): void => {
    // The clock never runs backwards, but a deed may carry a time taken before the admission it follows was stamped.
    const completedAtMs = Math.max(atMs, row.created_at_ms);
    if (settlement.kind === "capture")
      endGeneration.run(
        row.seq,
        "succeeded",
        tried,
        settlement.credits,
        JSON.stringify(settlement.output),
        null,
        completedAtMs,
        settlement.filesExpireAtMs,
      );
    else endGeneration.run(row.seq, "failed", tried, 0, null, JSON.stringify(settlement.error), completedAtMs, null);
  };

  return (deed: StepDeed): StepOutcome => {
    const { seq, version, settlement } = deed;
    const row = select.get(seq);
    if (!row || row.completed_at_ms !== null || (row.version ?? 0) !== version - 1) return { kind: "stale" };
    if (settlement ? deed.snapshot !== null : deed.snapshot === null)
      throw new DeedRefused(settlement ? "an ended generation keeps no snapshot" : "a generation that goes on needs a snapshot");

    insertJournal.run(seq, version, deed.atMs, deed.stateAfter, JSON.stringify(deed.event));
    for (const change of deed.attemptChanges) attempts.change(seq, change, deed.atMs);
    const tried = deed.attempts ?? row.attempts;
    if (settlement) {
      if (settlement.kind === "capture") {
        const price = attempts.price(seq, settlement.n);
        if (price !== settlement.credits)
          throw new DeedRefused(`attempt ${settlement.n} was quoted ${price} credits and the capture is ${settlement.credits}`);
      }
      settle(row, settlement, deed.atMs);
      end(row, settlement, tried, deed.atMs);
    } else if (deed.status !== undefined || deed.message !== undefined || deed.attempts !== undefined)
      updateGeneration.run(seq, deed.status ?? row.status, deed.message === undefined ? row.message : deed.message, tried);

    if (deed.snapshot === null) {
      if (version > 1 && deleteSnapshot.run(seq, version).changes !== 1)
        throw new DeedRefused("the snapshot is of another version");
    } else if (version === 1) insertSnapshot.run(seq, 1, deed.stateAfter, deed.snapshot);
    else if (updateSnapshot.run(seq, version, deed.stateAfter, deed.snapshot).changes !== 1)
      throw new DeedRefused("the snapshot is of another version");

    if (settlement || deed.commands) deleteCommands.run(seq);
    if (!settlement && deed.commands) for (const { kind, n, dueAtMs } of deed.commands) insertCommand.run(seq, kind, n, dueAtMs);
    const now = select.get(seq);
    if (!now) throw new DeedRefused(`generation ${seq} is gone`);
    return { kind: "stepped", record: toRecord(now) };
  };
};
