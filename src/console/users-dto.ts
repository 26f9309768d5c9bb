// Types of the console API for users, sessions, invitations and the audit log.
import type { AuditRow, InvitationRow, UserRow } from "../store/user-reads.ts";
import type { Role } from "./request-context.ts";

export type MeView = {
  signedIn: {
    userId: string;
    email: string;
    name: string;
    role: Role;
    accountId: string | null;
    accountName: string | null;
    sessionId: string;
    csrf: string;
  } | null;
  /** True if an operator exists. */
  isSetUp: boolean;
  signUp: boolean;
  simulated: boolean;
  /** True if the inspector is enabled and this user may open it. */
  inspector: boolean;
  /** The command of this program in a shell, for hints. */
  command: string;
};
/** A link before it is used, for the holder of its token. */
export type LinkView = {
  kind: "setup" | "invite" | "reset";
  role: Role;
  /** Recipient of the link; null for the first operator. */
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
export type UserView = Pick<
  UserRow,
  "id" | "email" | "name" | "role" | "accountId" | "createdAtMs" | "disabledAtMs" | "seenAtMs"
>;
/** Invitations that can still be used. */
export type InvitationView = Pick<
  InvitationRow,
  "id" | "kind" | "role" | "email" | "accountId" | "accountName" | "madeBy" | "createdAtMs" | "expiresAtMs"
>;
/** `GET /console/api/team`: the users of the own account, by name. */
export type TeamView = { account: { id: string; name: string }; users: Pick<UserRow, "id" | "email" | "name" | "role">[] };
export type UsersView = {
  users: UserView[];
  invitations: InvitationView[];
  accounts: { id: string; name: string }[];
  mayChange: boolean;
};
/** Returned only once, because only the hash of the token is stored. */
export type CreatedInvitationView = { id: string; url: string; expiresAtMs: number };
/** A thing that an audit entry mentions, and the account that it belongs to. */
export type AuditName = { kind: "account" | "user" | "key" | "purchase"; name: string; accountId: string | null };
/** `GET audit`. `names`: by id. `users`: those who may have made changes. `before`: cursor of the next page; null at the end. */
export type AuditView = {
  lines: AuditRow[];
  names: Record<string, AuditName>;
  users: { id: string; name: string; email: string }[];
  before: number | null;
};
