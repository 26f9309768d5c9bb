// The deeds of the office: accounts, keys, credits, and the marks that are set beside a generation's life.
import type { Database } from "bun:sqlite";
import type { OfficeDeed, OfficeOutcome } from "../../deeds.ts";
import type { Attempts } from "./attempt.ts";
import { prepareAudit } from "./audit.ts";
import type { Crediting } from "./credit.ts";
import { prepareKeys } from "./keys.ts";
import type { Limits } from "./limits.ts";
import { preparePeople } from "./people.ts";
import { DeedRefused } from "./refused.ts";
import { prepareUsage } from "./usage.ts";

const DONE: OfficeOutcome = { kind: "done" };

/** @throws DeedRefused where a row that must be there is not. */
const changed = ({ changes }: { changes: number }, otherwise: string): OfficeOutcome => {
  if (changes === 0) throw new DeedRefused(otherwise);
  return DONE;
};

export const prepareOffice = (db: Database, crediting: Crediting, attempts: Attempts, limits: Limits) => {
  const keys = prepareKeys(db, limits);
  const rollUpUsage = prepareUsage(db);
  const insertAccount = db.prepare("INSERT INTO account (id, name, created_at_ms) VALUES (?1, ?2, ?3)");
  const insertBalance = db.prepare("INSERT INTO balance (account_seq) VALUES (?1)");
  const updateAccount = db.prepare(
    `UPDATE account SET paused = coalesce(?2, paused), burst_per_s = iif(?3, ?4, burst_per_s),
       in_progress_limit = iif(?5, ?6, in_progress_limit) WHERE seq = ?1`,
  );
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
      case "credit": {
        const { movedCredits, movementSeq } = crediting.credit(deed);
        return { kind: "done", credits: movedCredits, ...(movementSeq === null ? {} : { seq: movementSeq }) };
      }
      case "create-account":
        return { kind: "done", seq: makeAccount(deed) };
      case "set-account":
        if (deed.paused !== undefined) crediting.decidedOnPause(deed.accountSeq);
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
      case "set-key":
      case "rotate-key":
      case "revoke-key":
      case "note-key-use":
        return keys(deed);
      case "roll-up-usage":
        return rollUpUsage(deed);
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
