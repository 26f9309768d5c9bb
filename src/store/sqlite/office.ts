// The deeds of the office: accounts, keys, credits, and the marks that are set beside a generation's life.
import type { Database } from "bun:sqlite";
import type { CreditDeed, OfficeDeed, OfficeOutcome } from "../../deeds.ts";
import type { Attempts } from "./attempt.ts";
import { prepareAudit } from "./audit.ts";
import type { Money } from "./money.ts";
import { preparePeople } from "./people.ts";
import { DeedRefused } from "./refused.ts";

const DONE: OfficeOutcome = { kind: "done" };

/** @throws DeedRefused where a row that must be there is not. */
const changed = ({ changes }: { changes: number }, otherwise: string): OfficeOutcome => {
  if (changes === 0) throw new DeedRefused(otherwise);
  return DONE;
};

const prepareCredit = (db: Database, money: Money) => {
  const selectReference = db.prepare<
    { account_seq: number; asked_credits: number; kind: string; movement_seq: number | null },
    [string]
  >("SELECT account_seq, asked_credits, kind, movement_seq FROM credit WHERE reference = ?1");
  const insertCredit = db.prepare(
    `INSERT INTO credit (account_seq, kind, asked_credits, moved_credits, reference, movement_seq, note, at_ms)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`,
  );
  const owe = db.prepare("UPDATE balance SET owed_credits = owed_credits + ?2 WHERE account_seq = ?1");
  const pause = db.prepare("UPDATE account SET paused = 1 WHERE seq = ?1");

  return (deed: CreditDeed): OfficeOutcome => {
    const { accountSeq, kind, credits, reference, note, atMs } = deed;
    if (!Number.isSafeInteger(credits) || credits === 0 || (kind === "topup" && credits < 0))
      throw new DeedRefused(`${credits} is not an amount for ${kind === "topup" ? "a top-up" : "an adjustment"}`);
    const known = reference === null ? null : selectReference.get(reference);
    if (known) {
      if (known.account_seq !== accountSeq || known.asked_credits !== credits || known.kind !== kind)
        throw new DeedRefused(`the reference ${reference} was already used for another account or amount`);
      return { kind: "done", credits: 0, ...(known.movement_seq === null ? {} : { seq: known.movement_seq }) };
    }
    const head = money.head(accountSeq);
    if (!head) throw new DeedRefused(`there is no account ${accountSeq}`);
    // A balance never goes below its holds: at most what is available is taken, the rest is owed.
    const moved = Math.max(credits, 0 - head.availableCredits);
    let seq: number | undefined;
    if (moved !== 0) {
      const outside = kind === "topup" ? "funding" : "adjustments";
      seq = money.post(accountSeq, head, {
        kind,
        credits: Math.abs(moved),
        from: moved > 0 ? outside : "available",
        to: moved > 0 ? "available" : outside,
        generationSeq: null,
        attemptN: null,
        atMs,
        note,
        progress: 0,
      }).seq;
    }
    if (moved !== credits) {
      owe.run(accountSeq, moved - credits);
      pause.run(accountSeq);
    }
    insertCredit.run(accountSeq, kind, credits, moved, reference, seq ?? null, note, atMs);
    return { kind: "done", credits: moved, ...(seq === undefined ? {} : { seq }) };
  };
};

export const prepareOffice = (db: Database, money: Money, attempts: Attempts) => {
  const credit = prepareCredit(db, money);
  const insertAccount = db.prepare("INSERT INTO account (id, name, created_at_ms) VALUES (?1, ?2, ?3)");
  const insertBalance = db.prepare("INSERT INTO balance (account_seq) VALUES (?1)");
  const updateAccount = db.prepare(
    `UPDATE account SET paused = coalesce(?2, paused), burst_per_s = iif(?3, ?4, burst_per_s),
       in_progress_limit = iif(?5, ?6, in_progress_limit) WHERE seq = ?1`,
  );
  const insertKey = db.prepare(
    "INSERT INTO api_key (id, account_seq, scope, name, hash, start, created_at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
  );
  const revokeKey = db.prepare("UPDATE api_key SET revoked_at_ms = coalesce(revoked_at_ms, ?2) WHERE id = ?1");
  const expireFiles = db.prepare("UPDATE generation SET files_expired_at_ms = ?2 WHERE seq = ?1 AND status = 'succeeded'");
  const selectEnded = db.prepare<{ ended: number }, [number]>(
    "SELECT completed_at_ms IS NOT NULL AS ended FROM generation WHERE seq = ?1",
  );
  const selectExpired = db.prepare<{ at: number | null }, [number]>(
    "SELECT files_expired_at_ms AS at FROM generation WHERE seq = ?1",
  );
  const setProviderKey = db.prepare(
    `INSERT INTO provider_key VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT (account) DO UPDATE SET id = excluded.id, sealed = excluded.sealed, set_at_ms = excluded.set_at_ms`,
  );
  const dropProviderKey = db.prepare("DELETE FROM provider_key WHERE account = ?1");
  const switchOff = db.prepare(
    `INSERT INTO route_switch VALUES (?1, ?2, ?3) ON CONFLICT (route_id) DO UPDATE SET reason = excluded.reason, at_ms = excluded.at_ms`,
  );
  const switchOn = db.prepare("DELETE FROM route_switch WHERE route_id = ?1");
  const forgetHealth = db.prepare("DELETE FROM route_health WHERE route_id = ?1");
  const saveHealth = db.prepare(
    `INSERT INTO route_health VALUES (?1, ?2, ?3) ON CONFLICT (route_id) DO UPDATE SET snapshot = excluded.snapshot, at_ms = excluded.at_ms`,
  );
  const beat = db.prepare("UPDATE meta SET value = CAST(?1 AS TEXT) WHERE name = 'last_seen_ms' AND CAST(value AS INTEGER) < ?1");

  const noteRecovery = db.prepare(
    "INSERT INTO meta VALUES ('recovery', ?1) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
  );

  const makeAccount = ({ id, name, atMs }: { id: string; name: string; atMs: number }): number => {
    const seq = Number(insertAccount.run(id, name, atMs).lastInsertRowid);
    insertBalance.run(seq);
    return seq;
  };
  const people = preparePeople(db, makeAccount);
  const audit = prepareAudit(db);

  const carryOut = (deed: OfficeDeed): OfficeOutcome => {
    switch (deed.deed) {
      case "mark-attempt": {
        if (deed.change.begin || selectEnded.get(deed.seq)?.ended !== 1)
          throw new DeedRefused("only attempts of a generation that has ended are marked; others change with a step");
        attempts.change(deed.seq, deed.change, deed.atMs);
        return DONE;
      }
      case "credit":
        return credit(deed);
      case "create-account":
        return { kind: "done", seq: makeAccount(deed) };
      case "set-account":
        return changed(
          updateAccount.run(
            deed.accountSeq,
            deed.paused === undefined ? null : Number(deed.paused),
            deed.burstPerS === undefined ? 0 : 1,
            deed.burstPerS ?? null,
            deed.inProgressLimit === undefined ? 0 : 1,
            deed.inProgressLimit ?? null,
          ),
          `there is no account ${deed.accountSeq}`,
        );
      case "create-key":
        return {
          kind: "done",
          seq: Number(
            insertKey.run(deed.id, deed.accountSeq, deed.scope, deed.name, deed.hash, deed.start, deed.atMs).lastInsertRowid,
          ),
        };
      case "revoke-key":
        return changed(revokeKey.run(deed.keyId, deed.atMs), `there is no key ${deed.keyId}`);
      case "expire-files":
        // Marked already: deleting files is repeated after a crash, the mark is not.
        if (selectExpired.get(deed.seq)?.at) return DONE;
        return changed(expireFiles.run(deed.seq, deed.atMs), `generation ${deed.seq} has no files`);
      case "set-provider-key":
        setProviderKey.run(deed.account, deed.id, deed.sealed, deed.atMs);
        return DONE;
      case "drop-provider-key":
        return changed(dropProviderKey.run(deed.account), `no key of ${deed.account} is kept here`);
      case "switch-route":
        // What is on already is on: the same wish twice is one.
        if (deed.reason === null) {
          switchOn.run(deed.routeId);
          forgetHealth.run(deed.routeId);
        } else switchOff.run(deed.routeId, deed.reason, deed.atMs);
        return DONE;
      case "save-route-health":
        saveHealth.run(deed.routeId, deed.snapshot, deed.atMs);
        return DONE;
      case "beat":
        beat.run(deed.atMs);
        return DONE;
      case "note-recovery":
        noteRecovery.run(deed.text);
        return DONE;
      default:
        return people(deed, deed.by);
    }
  };
  return (deed: OfficeDeed): OfficeOutcome => {
    const outcome = carryOut(deed);
    if (deed.by) audit(deed, deed.by, outcome);
    return outcome;
  };
};
