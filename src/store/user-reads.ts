// Reads about users, sessions, invitations and the audit log.

import type { Principal } from "../domain/mutations.ts";
import type { Caller, JsonObject } from "../domain/types.ts";
import type { UserRole } from "../domain/user-mutations.ts";

export type UserRow = {
  seq: number;
  id: string;
  email: string;
  name: string;
  role: UserRole;
  accountSeq: number | null;
  accountId: string | null;
  createdAtMs: number;
  disabledAtMs: number | null;
  /** The last use of a session of the user; null for never, or longer ago than sessions are stored. */
  seenAtMs: number | null;
};
/** The user of an active session; disabled users have none. The caller checks the expiry. */
export type SessionFacts = {
  userSeq: number;
  userId: string;
  email: string;
  name: string;
  role: UserRole;
  accountSeq: number | null;
  accountId: string | null;
  sessionId: string;
  createdAtMs: number;
  seenAtMs: number;
  expiresAtMs: number;
};
export type SessionRow = {
  id: string;
  createdAtMs: number;
  seenAtMs: number;
  expiresAtMs: number;
  endedAtMs: number | null;
  agent: string;
  address: string;
};
export type InvitationRow = {
  id: string;
  kind: "setup" | "invite" | "reset";
  role: UserRole;
  accountId: string | null;
  accountName: string | null;
  /** For a reset, the address of its user. */
  email: string | null;
  userId: string | null;
  userName: string | null;
  madeBy: string;
  createdAtMs: number;
  expiresAtMs: number;
  usedAtMs: number | null;
  withdrawnAtMs: number | null;
};
export type AuditRow = { seq: number; atMs: number; actor: Principal; action: string; target: string | null; detail: JsonObject };
/** Every given filter must match: `actor` by id or name, `actorKind` by kind, `target` by id. */
export type AuditFilters = {
  actor?: string;
  actorKind?: Principal["kind"];
  action?: string;
  target?: string;
  fromMs?: number;
  toMs?: number;
};

export interface UserReads {
  sessionByHash(hash: string): Promise<SessionFacts | undefined>;
  /** The address in lower case. The result includes the password hash, which must never be returned or logged. */
  userByEmail(email: string): Promise<(UserRow & { password: string }) | undefined>;
  users(): Promise<UserRow[]>;
  /** The users of an account, disabled ones included. */
  usersOf(accountSeq: number): Promise<UserRow[]>;
  /** Number of enabled users of an account, counted up to `most`. */
  countUsers(accountSeq: number, most: number): Promise<number>;
  /** Active sessions of a user, last used first. */
  sessionsOf(userId: string): Promise<SessionRow[]>;
  invitationByHash(hash: string): Promise<InvitationRow | undefined>;
  /** Newest first, at most 500. */
  invitations(): Promise<InvitationRow[]>;
  /** Number of operators that can sign in. */
  operators(): Promise<number>;
  /** The caller of an account's playground; undefined before its key exists. */
  consoleCaller(accountSeq: number): Promise<Caller | undefined>;
  /** Entries before `beforeSeq` (null: the newest), newest first; at most `limit`. */
  audit(beforeSeq: number | null, limit: number, filters: AuditFilters): Promise<AuditRow[]>;
}
