// Mutations of users, invitations and sessions, and the normal form of an e-mail address.

export const MIN_PASSWORD_CHARS = 12;
export const MAX_PASSWORD_CHARS = 200;

/** The normal form of an e-mail address: lower case, trimmed; undefined if it is none. */
export const readEmail = (text: string): string | undefined => {
  const email = text.trim().normalize("NFC").toLowerCase();
  return /^[^\s@]+@[^\s@]+$/.test(email) && email.length <= 254 ? email : undefined;
};

export type UserRole = "member" | "operator" | "viewer";
/** A new session; its token is stored as SHA-256 in hex. */
export type NewSession = { id: string; hash: string; expiresAtMs: number; agent: string; address: string };
type NewAccount = { id: string; name: string };

/**
 * Creates a link for one use. `setup`: the first operator, rejected if one exists; it withdraws older ones. `invite`: a new user.
 * `reset`: a new password for `userId`; it withdraws older ones.
 */
export type InviteUser = {
  mutation: "invite";
  id: string;
  /** SHA-256 of the token in hex. */
  hash: string;
  kind: "setup" | "invite" | "reset";
  role: UserRole;
  accountSeq: number | null;
  /** Name of the account that is created on acceptance; null for none. */
  accountName: string | null;
  /** In lower case; null for `setup` and `reset`. */
  email: string | null;
  userId: string | null;
  expiresAtMs: number;
  atMs: number;
};
export type WithdrawInvitation = { mutation: "withdraw-invitation"; invitationId: string; atMs: number };
/** Accepts an invitation: it creates the user or sets the password, ends existing sessions and opens a new one. */
export type AcceptInvitation = {
  mutation: "accept-invitation";
  hash: string;
  /** Id of the created user; a reset does not use it. */
  userId: string;
  /** Used for `setup` only, because an invitation has an address. */
  email: string;
  name: string;
  /** Argon2id in PHC form. */
  password: string;
  /** Created if the invitation joins no account; a reset creates none. */
  account: NewAccount | null;
  session: NewSession;
  atMs: number;
};
/** A new user with an account. */
export type SignUp = {
  mutation: "sign-up";
  userId: string;
  email: string;
  name: string;
  password: string;
  account: NewAccount;
  session: NewSession;
  atMs: number;
};
/** `password`: the checked hash; rejected if the stored one differs by now. */
export type OpenSession = { mutation: "open-session"; userId: string; password: string; session: NewSession; atMs: number };
export type RecordSessionsSeen = {
  mutation: "note-sessions-seen";
  seen: readonly (readonly [sessionId: string, atMs: number])[];
};
/** Ends sessions of a user: one, all, or all but one. */
export type EndSessions = { mutation: "end-sessions"; userId: string; onlyId?: string; exceptId?: string; atMs: number };
/** Absent members stay unchanged. A new password or disabling ends all sessions but `keepSessionId`. */
export type UpdateUser = {
  mutation: "set-user";
  userId: string;
  name?: string;
  role?: UserRole;
  password?: string;
  /** Rejected if the stored password differs by now. */
  ifPassword?: string;
  disabled?: boolean;
  keepSessionId?: string;
  atMs: number;
};
/** Creates the hidden playground key of an account; an existing one is returned. `seq` of the result is its row. */
export type CreateConsoleKey = { mutation: "make-console-key"; accountSeq: number; id: string; atMs: number };

/** Records rejected sign-ins of a user since the last record in the audit log. `networks`: sources with counts. */
export type RecordRejectedSignIns = {
  mutation: "note-refused-sign-ins";
  userId: string;
  wrong: number;
  throttled: number;
  networks: number;
  atMs: number;
};

/** Records in the audit log that a user read data of another account. `of`: a generation or an account; null: all accounts. */
export type RecordAccess = {
  mutation: "note-look";
  what: "generations" | "generation" | "ledger" | "files" | "uploads" | "replay" | "webhook secret";
  of: string | null;
  atMs: number;
};
/** Records in the audit log that an operator has begun a backup. */
export type RecordBackup = { mutation: "note-backup"; atMs: number };
/** Records in the audit log that a token for the inspector was created. */
export type RecordInspectorToken = { mutation: "note-inspector-token"; role: "operator" | "viewer"; atMs: number };

export type UserMutation =
  | InviteUser
  | WithdrawInvitation
  | AcceptInvitation
  | SignUp
  | OpenSession
  | RecordSessionsSeen
  | EndSessions
  | UpdateUser
  | CreateConsoleKey
  | RecordRejectedSignIns
  | RecordAccess
  | RecordInspectorToken
  | RecordBackup;
