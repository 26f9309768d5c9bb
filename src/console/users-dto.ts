// What the console's API says about people, their sessions, invitations and the audit log.
import type { AuditRow, InvitationRow, PersonRow } from "../store/user-reads.ts";
import type { Role } from "./request-context.ts";

export type MeView = {
  signedIn: {
    personId: string;
    email: string;
    name: string;
    role: Role;
    accountId: string | null;
    accountName: string | null;
    sessionId: string;
    csrf: string;
  } | null;
  /** Whether there is an operator yet. */
  isSetUp: boolean;
  signUp: boolean;
  simulated: boolean;
};
/** A link before it is used, for whoever holds its token. */
export type LinkView = {
  kind: "setup" | "invite" | "reset";
  role: Role;
  /** Whom it is for; null for the first operator. */
  email: string | null;
  accountName: string | null;
  expiresAtMs: number;
};
export type SessionView = {
  id: string;
  isThis: boolean;
  createdAtMs: number;
  seenAtMs: number;
  expiresAtMs: number;
  agent: string;
  address: string;
};
export type PersonView = Pick<
  PersonRow,
  "id" | "email" | "name" | "role" | "accountId" | "createdAtMs" | "disabledAtMs" | "seenAtMs"
>;
/** Those that can still be used. */
export type InvitationView = Pick<
  InvitationRow,
  "id" | "kind" | "role" | "email" | "accountId" | "accountName" | "madeBy" | "createdAtMs" | "expiresAtMs"
>;
export type PeopleView = {
  people: PersonView[];
  invitations: InvitationView[];
  accounts: { id: string; name: string }[];
  mayChange: boolean;
};
/** Shown once: its token is kept as a hash. */
export type MadeLinkView = { id: string; url: string; expiresAtMs: number };
export type AuditView = { lines: AuditRow[] /** To ask for the page after this one; null at the end. */; before: number | null };
