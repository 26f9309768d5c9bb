// What may be read of people, sessions, invitations and the audit log.

import type { Caller, JsonObject } from "../domain/types.ts";
import type { Principal } from "./mutations.ts";
import type { PersonRole } from "./user-mutations.ts";

export type PersonRow = {
  seq: number;
  id: string;
  email: string;
  name: string;
  role: PersonRole;
  accountSeq: number | null;
  accountId: string | null;
  createdAtMs: number;
  disabledAtMs: number | null;
  /** When a session of theirs was last used; null for never, or longer ago than sessions are kept. */
  seenAtMs: number | null;
};
/** Who is behind a session that has not ended, of somebody who is not disabled. Whether its time is over is for the reader to say. */
export type SessionFacts = {
  personSeq: number;
  personId: string;
  email: string;
  name: string;
  role: PersonRole;
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
  role: PersonRole;
  accountId: string | null;
  accountName: string | null;
  /** Of the person that it resets, for a reset. */
  email: string | null;
  personId: string | null;
  personName: string | null;
  madeBy: string;
  createdAtMs: number;
  expiresAtMs: number;
  usedAtMs: number | null;
  withdrawnAtMs: number | null;
};
export type AuditRow = { seq: number; atMs: number; actor: Principal; action: string; target: string | null; detail: JsonObject };
/** Each that is given must fit; `actor` and `target` by id, `actor` by name as well. */
export type AuditFilters = { actor?: string; action?: string; target?: string; fromMs?: number; toMs?: number };

export interface PeopleReads {
  sessionByHash(hash: string): Promise<SessionFacts | undefined>;
  /** In lower case. With the password as it is kept: never to be answered or logged. */
  personByEmail(email: string): Promise<(PersonRow & { password: string }) | undefined>;
  people(): Promise<PersonRow[]>;
  /** Sessions of a person that have not ended, last used first. */
  sessionsOf(personId: string): Promise<SessionRow[]>;
  invitationByHash(hash: string): Promise<InvitationRow | undefined>;
  /** Newest first, at most 500. */
  invitations(): Promise<InvitationRow[]>;
  /** How many operators may sign in. */
  operators(): Promise<number>;
  /** What the playground of an account submits as; undefined until its key was made. */
  consoleCaller(accountSeq: number): Promise<Caller | undefined>;
  /** Lines before one of them (null: the newest), newest first; at most `limit`. */
  audit(beforeSeq: number | null, limit: number, filters: AuditFilters): Promise<AuditRow[]>;
}
