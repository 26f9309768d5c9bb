// User mutations: invitations for one use, sessions, and always at least one operator.

import { hashApiKey } from "../../domain/ids.ts";
import type { AdminResult, Principal } from "../../domain/mutations.ts";
import type { AcceptInvitation, InviteUser, NewSession, SignUp, UpdateUser, UserMutation } from "../../domain/user-mutations.ts";
import { MutationRejected } from "./mutation-rejected.ts";
import { endSessions, noteSessions, openSession } from "./sessions.ts";
import { change, first, insert, type SqlProgram } from "./sql-program.ts";

const DONE: AdminResult = { kind: "done" };

type StoredUser = { seq: number; role: string; account_seq: number | null; disabled_at_ms: number | null };
type StoredInvitation = {
  id: string;
  kind: InviteUser["kind"];
  role: string;
  account_seq: number | null;
  account_name: string | null;
  email: string | null;
  user_seq: number | null;
};
type Member = Pick<SignUp, "userId" | "name" | "password" | "atMs"> & {
  email: string;
  role: string;
  accountSeq: number | null;
};

const INSERT_USER = `INSERT INTO console_user (id, email, name, role, account_seq, password, created_at_ms)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING seq`;
const UPDATE_USER = `UPDATE console_user SET name = coalesce(?2, name), role = coalesce(?3, role), password = coalesce(?4, password),
    disabled_at_ms = CASE WHEN ?5 = 1 THEN coalesce(disabled_at_ms, ?6) WHEN ?5 = 0 THEN NULL ELSE disabled_at_ms END
  WHERE seq = ?1 AND (CAST(?7 AS text) IS NULL OR password = ?7)`;
const INSERT_INVITATION = `INSERT INTO invitation
    (hash, id, kind, role, account_seq, account_name, email, user_seq, created_by, created_at_ms, expires_at_ms)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`;
const OPEN = "used_at_ms IS NULL AND withdrawn_at_ms IS NULL";
const WITHDRAW_OLDER = `UPDATE invitation SET withdrawn_at_ms = ?3 WHERE kind = ?1 AND user_seq IS NOT DISTINCT FROM ?2 AND ${OPEN}`;
const WITHDRAW_EMAIL = `UPDATE invitation SET withdrawn_at_ms = ?2 WHERE kind = 'invite' AND email = ?1 AND ${OPEN}`;
const WITHDRAW_MADE_BY = `UPDATE invitation SET withdrawn_at_ms = ?2
  WHERE created_by = (SELECT email FROM console_user WHERE seq = ?1) AND kind <> 'setup' AND ${OPEN}`;
const WITHDRAW = `UPDATE invitation SET withdrawn_at_ms = ?2 WHERE id = ?1 AND ${OPEN}`;
const SELECT_INVITATION = `SELECT id, kind, role, account_seq, account_name, email, user_seq FROM invitation
  WHERE hash = ?1 AND expires_at_ms > ?2 AND ${OPEN}`;
const USE_INVITATION = "UPDATE invitation SET used_at_ms = ?2, user_seq = ?3 WHERE hash = ?1";
const INSERT_KEY = `INSERT INTO api_key (id, account_seq, scope, name, hash, prefix, created_at_ms, kind)
  VALUES (?1, ?2, 'generate', 'Console', ?3, 'console', ?4, 'console') RETURNING seq`;

const userOf = function* (id: string): SqlProgram<StoredUser> {
  const row = yield* first<StoredUser>("SELECT seq, role, account_seq, disabled_at_ms FROM console_user WHERE id = ?1", id);
  if (!row) throw new MutationRejected(`there is no user ${id}`);
  return row;
};
const requireNewEmail = function* (email: string): SqlProgram<void> {
  if (yield* first("SELECT seq FROM console_user WHERE email = ?1", email))
    throw new MutationRejected(`${email} has a sign-in already`);
};
const requireNoOperator = function* (): SqlProgram<void> {
  if (yield* first("SELECT seq FROM console_user WHERE role = 'operator' LIMIT 1"))
    throw new MutationRejected("the service is set up already");
};

/** Creates the user and the session of the sign-in. */
const letIn = function* (member: Member, session: NewSession, invited: string | null): SqlProgram<number> {
  yield* requireNewEmail(member.email);
  const { userId, email, name, role, accountSeq, password, atMs } = member;
  const seq = yield* insert(INSERT_USER, userId, email, name, role, accountSeq, password, atMs);
  if (invited !== null) yield* change(USE_INVITATION, invited, atMs, seq);
  // An existing user needs no further invitation.
  yield* change(WITHDRAW_EMAIL, email, atMs);
  yield* openSession(seq, session, atMs);
  return seq;
};

const invite = function* (mutation: InviteUser, by: Principal | undefined): SqlProgram<AdminResult> {
  const { kind, atMs } = mutation;
  if (kind === "setup") yield* requireNoOperator();
  const user = kind === "reset" ? yield* userOf(mutation.userId ?? "") : null;
  if (user && user.disabled_at_ms !== null) throw new MutationRejected("a disabled user cannot sign in; enable the user first");
  if (kind === "invite") {
    yield* requireNewEmail(mutation.email ?? "");
    yield* change(WITHDRAW_EMAIL, mutation.email, atMs);
  } else yield* change(WITHDRAW_OLDER, kind, user?.seq ?? null, atMs);
  const madeBy = by?.name ?? "genrouter";
  const role = user?.role ?? mutation.role;
  const { hash, id, accountSeq, accountName, email, expiresAtMs } = mutation;
  const whom = [accountSeq, accountName, email, user?.seq ?? null];
  yield* change(INSERT_INVITATION, hash, id, kind, role, ...whom, madeBy, atMs, expiresAtMs);
  return DONE;
};

const setUser = function* (mutation: UpdateUser): SqlProgram<AdminResult> {
  const { userId, name, role, password, ifPassword, disabled, keepSessionId, atMs } = mutation;
  const user = yield* userOf(userId);
  if (role === "member" && user.account_seq === null)
    throw new MutationRejected("a member needs an account: invite them to one under another address");
  const changes = yield* change(
    UPDATE_USER,
    user.seq,
    name ?? null,
    role ?? null,
    password ?? null,
    disabled === undefined ? null : Number(disabled),
    atMs,
    ifPassword ?? null,
  );
  if (changes === 0) throw new MutationRejected("the password was changed meanwhile");
  if (password !== undefined || disabled === true) {
    yield* endSessions(user.seq, undefined, keepSessionId, atMs);
    yield* change(WITHDRAW_OLDER, "reset", user.seq, atMs);
  }
  // A former operator cannot return or invite others by older links.
  if (disabled === true || (role !== undefined && role !== "operator")) yield* change(WITHDRAW_MADE_BY, user.seq, atMs);
  return DONE;
};

/** @param makeAccount creates an account as the admin service does. */
export const prepareUsers = (makeAccount: (account: { id: string; name: string; atMs: number }) => SqlProgram<number>) => {
  const accept = function* (mutation: AcceptInvitation): SqlProgram<AdminResult> {
    const { hash, password, session, atMs } = mutation;
    const found = yield* first<StoredInvitation>(SELECT_INVITATION, hash, atMs);
    if (!found) throw new MutationRejected("this link was used, withdrawn, or is too old: ask for a new one");
    if (found.kind === "setup") yield* requireNoOperator();
    const seq = found.user_seq;
    if (seq === null) {
      const accountSeq = found.account_seq ?? (mutation.account ? yield* makeAccount({ ...mutation.account, atMs }) : null);
      const member = { ...mutation, email: found.email ?? mutation.email, role: found.role, accountSeq };
      return { kind: "done", seq: yield* letIn(member, session, hash) };
    }
    yield* change(UPDATE_USER, seq, null, null, password, null, atMs, null);
    yield* change(USE_INVITATION, hash, atMs, seq);
    yield* endSessions(seq, undefined, undefined, atMs);
    yield* openSession(seq, session, atMs);
    return { kind: "done", seq };
  };

  return function* (mutation: UserMutation, by: Principal | undefined): SqlProgram<AdminResult> {
    switch (mutation.mutation) {
      case "invite":
        return yield* invite(mutation, by);
      case "withdraw-invitation":
        if ((yield* change(WITHDRAW, mutation.invitationId, mutation.atMs)) === 0)
          throw new MutationRejected(`${mutation.invitationId} was used or withdrawn already, or there is none`);
        return DONE;
      case "accept-invitation":
        return yield* accept(mutation);
      case "sign-up": {
        const accountSeq = yield* makeAccount({ ...mutation.account, atMs: mutation.atMs });
        return { kind: "done", seq: yield* letIn({ ...mutation, role: "member", accountSeq }, mutation.session, null) };
      }
      case "open-session": {
        const { seq } = yield* userOf(mutation.userId);
        // The checked password must still be stored, so a password reset meanwhile rejects the sign-in.
        if ((yield* change(UPDATE_USER, seq, null, null, null, null, 0, mutation.password)) === 0)
          throw new MutationRejected("the password was changed meanwhile");
        yield* openSession(seq, mutation.session, mutation.atMs);
        return DONE;
      }
      case "note-sessions-seen":
        yield* noteSessions(mutation.seen);
        return DONE;
      case "end-sessions":
        yield* endSessions((yield* userOf(mutation.userId)).seq, mutation.onlyId, mutation.exceptId, mutation.atMs);
        return DONE;
      case "note-refused-sign-ins":
        yield* userOf(mutation.userId);
        return DONE;
      // Writes only an audit entry.
      case "note-look":
      case "note-backup":
      case "note-inspector-token":
        return DONE;
      case "set-user":
        return yield* setUser(mutation);
      case "make-console-key": {
        const { accountSeq, id, atMs } = mutation;
        const select = "SELECT seq FROM api_key WHERE account_seq = ?1 AND kind = 'console'";
        const known = yield* first<{ seq: number }>(select, accountSeq);
        // The hash of a value that is not a key, so no request can match it.
        const seq = known?.seq ?? (yield* insert(INSERT_KEY, id, accountSeq, hashApiKey(id), atMs));
        return { kind: "done", seq };
      }
    }
  };
};
