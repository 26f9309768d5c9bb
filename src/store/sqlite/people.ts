// The deeds of people: invitations that let in once, sessions that end once, and never a service without an operator.
import type { Database } from "bun:sqlite";
import type { Actor, OfficeOutcome } from "../../deeds.ts";
import { hashApiKey } from "../../ids.ts";
import type { AcceptInvitationDeed, InviteDeed, NewSession, PeopleDeed, SetPersonDeed, SignUpDeed } from "../../people-deeds.ts";
import { DeedRefused } from "./refused.ts";
import { prepareSessions } from "./sessions.ts";

const DONE: OfficeOutcome = { kind: "done" };

type StoredInvitation = {
  id: string;
  kind: InviteDeed["kind"];
  role: string;
  account_seq: number | null;
  account_name: string | null;
  email: string | null;
  person_seq: number | null;
};
type Member = Pick<SignUpDeed, "personId" | "name" | "password" | "atMs"> & {
  email: string;
  role: string;
  accountSeq: number | null;
};

/** @param makeAccount how the office makes one. */
export const preparePeople = (db: Database, makeAccount: (account: { id: string; name: string; atMs: number }) => number) => {
  const sessions = prepareSessions(db);
  const selectPerson = db.prepare<{ seq: number; role: string; account_seq: number | null; disabled: number }, [string]>(
    "SELECT seq, role, account_seq, disabled_at_ms IS NOT NULL AS disabled FROM person WHERE id = ?1",
  );
  const selectEmail = db.prepare<{ seq: number }, [string]>("SELECT seq FROM person WHERE email = ?1");
  const selectOperator = db.prepare<{ seq: number }, []>("SELECT seq FROM person WHERE role = 'operator' LIMIT 1");
  const insertPerson = db.prepare(
    "INSERT INTO person (id, email, name, role, account_seq, password, created_at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
  );
  const updatePerson = db.prepare(
    `UPDATE person SET name = coalesce(?2, name), role = coalesce(?3, role), password = coalesce(?4, password),
       disabled_at_ms = CASE ?5 WHEN 1 THEN coalesce(disabled_at_ms, ?6) WHEN 0 THEN NULL ELSE disabled_at_ms END
     WHERE seq = ?1 AND (?7 IS NULL OR password = ?7)`,
  );
  const insertInvitation = db.prepare(
    `INSERT INTO invitation (hash, id, kind, role, account_seq, account_name, email, person_seq, made_by, created_at_ms, expires_at_ms)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`,
  );
  const withdrawOlder = db.prepare(
    `UPDATE invitation SET withdrawn_at_ms = ?3
     WHERE kind = ?1 AND person_seq IS ?2 AND used_at_ms IS NULL AND withdrawn_at_ms IS NULL`,
  );
  const withdrawEmail = db.prepare(
    `UPDATE invitation SET withdrawn_at_ms = ?2 WHERE kind = 'invite' AND email = ?1 AND used_at_ms IS NULL AND withdrawn_at_ms IS NULL`,
  );
  const withdrawMadeBy = db.prepare(
    `UPDATE invitation SET withdrawn_at_ms = ?2 WHERE made_by = (SELECT email FROM person WHERE seq = ?1) AND kind <> 'setup'
       AND used_at_ms IS NULL AND withdrawn_at_ms IS NULL`,
  );
  const withdraw = db.prepare(
    "UPDATE invitation SET withdrawn_at_ms = ?2 WHERE id = ?1 AND used_at_ms IS NULL AND withdrawn_at_ms IS NULL",
  );
  const selectInvitation = db.prepare<StoredInvitation, [string, number]>(
    `SELECT id, kind, role, account_seq, account_name, email, person_seq FROM invitation
     WHERE hash = ?1 AND expires_at_ms > ?2 AND used_at_ms IS NULL AND withdrawn_at_ms IS NULL`,
  );
  const useInvitation = db.prepare("UPDATE invitation SET used_at_ms = ?2, person_seq = ?3 WHERE hash = ?1");
  const insertKey = db.prepare(
    `INSERT INTO api_key (id, account_seq, scope, name, hash, start, created_at_ms, kind)
     VALUES (?1, ?2, 'generate', 'Console', ?3, 'console', ?4, 'console')`,
  );
  const selectKey = db.prepare<{ seq: number }, [number]>("SELECT seq FROM api_key WHERE account_seq = ?1 AND kind = 'console'");

  const personOf = (id: string) => {
    const row = selectPerson.get(id);
    if (!row) throw new DeedRefused(`there is no person ${id}`);
    return row;
  };
  const insistOnNew = (email: string): void => {
    if (selectEmail.get(email)) throw new DeedRefused(`${email} has a sign-in already`);
  };
  /** The person, and the session that they come in with. */
  const letIn = (member: Member, session: NewSession, invited: string | null): number => {
    insistOnNew(member.email);
    const { personId, email, name, role, accountSeq, password, atMs } = member;
    const seq = Number(insertPerson.run(personId, email, name, role, accountSeq, password, atMs).lastInsertRowid);
    if (invited !== null) useInvitation.run(invited, atMs, seq);
    // Whoever is here needs no other invitation.
    withdrawEmail.run(email, atMs);
    sessions.open(seq, session, atMs);
    return seq;
  };

  const invite = (deed: InviteDeed, by: Actor | undefined): OfficeOutcome => {
    const { kind, atMs } = deed;
    if (kind === "setup" && selectOperator.get()) throw new DeedRefused("the service is set up already");
    const person = kind === "reset" ? personOf(deed.personId ?? "") : null;
    if (person?.disabled) throw new DeedRefused("somebody who is disabled does not sign in: enable them first");
    if (kind === "invite") {
      insistOnNew(deed.email ?? "");
      withdrawEmail.run(deed.email, atMs);
    } else withdrawOlder.run(kind, person?.seq ?? null, atMs);
    const madeBy = by?.name ?? "genrouter";
    const role = person?.role ?? deed.role;
    const { hash, id, accountSeq, accountName, email, expiresAtMs } = deed;
    insertInvitation.run(hash, id, kind, role, accountSeq, accountName, email, person?.seq ?? null, madeBy, atMs, expiresAtMs);
    return DONE;
  };

  const accept = (deed: AcceptInvitationDeed): OfficeOutcome => {
    const { hash, password, session, atMs } = deed;
    const found = selectInvitation.get(hash, atMs);
    if (!found) throw new DeedRefused("this link was used, withdrawn, or is too old: ask for a new one");
    if (found.kind === "setup" && selectOperator.get()) throw new DeedRefused("the service is set up already");
    const seq = found.person_seq;
    if (seq === null) {
      const accountSeq = found.account_seq ?? (deed.account ? makeAccount({ ...deed.account, atMs }) : null);
      const member = { ...deed, email: found.email ?? deed.email, role: found.role, accountSeq };
      return { kind: "done", seq: letIn(member, session, hash) };
    }
    updatePerson.run(seq, null, null, password, null, atMs, null);
    useInvitation.run(hash, atMs, seq);
    sessions.end(seq, undefined, undefined, atMs);
    sessions.open(seq, session, atMs);
    return { kind: "done", seq };
  };

  const setPerson = (deed: SetPersonDeed): OfficeOutcome => {
    const { personId, name, role, password, ifPassword, disabled, keepSessionId, atMs } = deed;
    const person = personOf(personId);
    if (role === "member" && person.account_seq === null)
      throw new DeedRefused("a member needs an account: invite them to one under another address");
    const change = disabled === undefined ? null : Number(disabled);
    const { changes } = updatePerson.run(
      person.seq,
      name ?? null,
      role ?? null,
      password ?? null,
      change,
      atMs,
      ifPassword ?? null,
    );
    if (changes === 0) throw new DeedRefused("the password was changed meanwhile");
    if (password !== undefined || disabled === true) {
      sessions.end(person.seq, undefined, keepSessionId, atMs);
      withdrawOlder.run("reset", person.seq, atMs);
    }
    // Whoever is no operator any more does not come back, nor brings others, by links made before.
    if (disabled === true || (role !== undefined && role !== "operator")) withdrawMadeBy.run(person.seq, atMs);
    return DONE;
  };

  return (deed: PeopleDeed, by: Actor | undefined): OfficeOutcome => {
    switch (deed.deed) {
      case "invite":
        return invite(deed, by);
      case "withdraw-invitation":
        if (withdraw.run(deed.invitationId, deed.atMs).changes === 0)
          throw new DeedRefused(`${deed.invitationId} was used or withdrawn already, or there is none`);
        return DONE;
      case "accept-invitation":
        return accept(deed);
      case "sign-up": {
        const accountSeq = makeAccount({ ...deed.account, atMs: deed.atMs });
        return { kind: "done", seq: letIn({ ...deed, role: "member", accountSeq }, deed.session, null) };
      }
      case "open-session": {
        const { seq } = personOf(deed.personId);
        // What was checked is what is kept: a password that was reset meanwhile lets nobody in.
        if (updatePerson.run(seq, null, null, null, null, 0, deed.password).changes === 0)
          throw new DeedRefused("the password was changed meanwhile");
        sessions.open(seq, deed.session, deed.atMs);
        return DONE;
      }
      case "note-sessions-seen":
        sessions.note(deed.seen);
        return DONE;
      case "end-sessions":
        sessions.end(personOf(deed.personId).seq, deed.onlyId, deed.exceptId, deed.atMs);
        return DONE;
      case "set-person":
        return setPerson(deed);
      case "make-console-key": {
        const known = selectKey.get(deed.accountSeq);
        if (known) return { kind: "done", seq: known.seq };
        // The hash of what is no key: nothing that is sent to the API has it.
        const { lastInsertRowid } = insertKey.run(deed.id, deed.accountSeq, hashApiKey(deed.id), deed.atMs);
        return { kind: "done", seq: Number(lastInsertRowid) };
      }
    }
  };
};
