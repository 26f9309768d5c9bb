// Mutations of people, and how an address is read: who may sign in, with what, and who is let in; carried out by the store like every other mutation.

export const MIN_PASSWORD_CHARS = 12;
export const MAX_PASSWORD_CHARS = 200;

/** An address as people are known by it: in lower case, without spaces around it; undefined for what is none. */
export const readEmail = (text: string): string | undefined => {
  const email = text.trim().normalize("NFC").toLowerCase();
  return /^[^\s@]+@[^\s@]+$/.test(email) && email.length <= 254 ? email : undefined;
};

export type PersonRole = "member" | "operator" | "viewer";
/** A session as it is begun: what is kept of its token is the SHA-256, hex. */
export type NewSession = { id: string; hash: string; expiresAtMs: number; agent: string; address: string };
type NewAccount = { id: string; name: string };

/**
 * Makes a link that lets somebody in once. `setup`: the first operator, refused where there is one, and older ones are withdrawn.
 * `invite`: a new person. `reset`: a new password for `personId`; older ones are withdrawn.
 */
export type InviteUser = {
  mutation: "invite";
  id: string;
  /** SHA-256 of its token, hex. */
  hash: string;
  kind: "setup" | "invite" | "reset";
  role: PersonRole;
  accountSeq: number | null;
  /** Of the account that is made when the invitation is accepted; null for none. */
  accountName: string | null;
  /** In lower case; null for `setup` and `reset`. */
  email: string | null;
  personId: string | null;
  expiresAtMs: number;
  atMs: number;
};
export type WithdrawInvitation = { mutation: "withdraw-invitation"; invitationId: string; atMs: number };
/** Uses an invitation: makes the person it is for or sets their password, ends the sessions they had, and opens one. */
export type AcceptInvitation = {
  mutation: "accept-invitation";
  hash: string;
  /** Of the person that is made; not used by a reset. */
  personId: string;
  /** Taken for `setup` only: an invitation is for the address it was made for. */
  email: string;
  name: string;
  /** Argon2id, PHC form. */
  password: string;
  /** Made where the invitation joins none; a reset makes none. */
  account: NewAccount | null;
  session: NewSession;
  atMs: number;
};
/** A new person with an account of their own. */
export type SignUp = {
  mutation: "sign-up";
  personId: string;
  email: string;
  name: string;
  password: string;
  account: NewAccount;
  session: NewSession;
  atMs: number;
};
/** `password`: the one that was checked, as it is kept; refused when it is another by now. */
export type OpenSession = { mutation: "open-session"; personId: string; password: string; session: NewSession; atMs: number };
export type RecordSessionsSeen = {
  mutation: "note-sessions-seen";
  seen: readonly (readonly [sessionId: string, atMs: number])[];
};
/** Ends the sessions of a person: one, all, or all but one. */
export type EndSessions = { mutation: "end-sessions"; personId: string; onlyId?: string; exceptId?: string; atMs: number };
/** Members absent are left alone. A new password, and being disabled, end all sessions but `keepSessionId`. */
export type UpdateUser = {
  mutation: "set-person";
  personId: string;
  name?: string;
  role?: PersonRole;
  password?: string;
  /** Refused when the password that is kept is another by now. */
  ifPassword?: string;
  disabled?: boolean;
  keepSessionId?: string;
  atMs: number;
};
/** Makes the hidden key of an account's playground; one that is there is answered. `seq` of the outcome is its row. */
export type CreateConsoleKey = { mutation: "make-console-key"; accountSeq: number; id: string; atMs: number };

/** Tells the audit log of tries to sign in as somebody that were refused since the last time; nothing else changes. `networks`: where from, counted. */
export type RecordRejectedSignIns = {
  mutation: "note-refused-sign-ins";
  personId: string;
  wrong: number;
  throttled: number;
  networks: number;
  atMs: number;
};

/** Tells the audit log that somebody looked at what is another account's. `of`: a generation or an account; null: all accounts. */
export type RecordAccess = {
  mutation: "note-look";
  what: "generations" | "generation" | "files" | "replay";
  of: string | null;
  atMs: number;
};
/** Tells the audit log of a token that lets a program look on in the inspector. */
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
  | RecordInspectorToken;
