// Admin operations on console users: roles, invitations and password reset links.
import type { Clock } from "../domain/clock.ts";
import { hashToken, newId, newToken } from "../domain/ids.ts";
import type { AdminMutation, AdminResult } from "../domain/mutations.ts";
import { readEmail, type UserRole } from "../domain/user-mutations.ts";
import type { StoreReads } from "../store/store.ts";
import type { InvitationRow, UserRow } from "../store/user-reads.ts";
import { AdminError } from "./admin-error.ts";
import { DEMO_ACCOUNT_ID } from "./demo-account.ts";
import { requireDone } from "./keys.ts";

/** `path`: path in the console, with the token, of which only the hash is stored. */
export type CreatedInvitation = { id: string; path: string; email: string | null; expiresAtMs: number };

/** A user is named by id or e-mail address. */
export type UserAdmin = {
  /** `invitations` contains only invitations that can still be used. */
  listUsers(ask: Record<string, never>): Promise<{ users: UserRow[]; invitations: InvitationRow[] }>;
  /** Invites a user: to an existing account, to a new account of the given name, or, for operators and viewers, to none. */
  inviteUser(request: {
    email: string;
    role: UserRole;
    accountId: string | null;
    accountName: string | null;
  }): Promise<CreatedInvitation>;
  withdrawInvitation(query: { id: string }): Promise<{ id: string }>;
  setUser(request: { user: string; role?: UserRole; disabled?: boolean }): Promise<UserRow>;
  /** Creates a link for setting a new password; using it ends all sessions of the user. */
  resetUser(query: { user: string }): Promise<CreatedInvitation>;
  /**
   * Creates the link for the first operator; earlier links become invalid. With the simulator, the operator gets the demo account, if
   * the start created it; else a new account.
   */
  setUpLink(ask: object): Promise<CreatedInvitation>;
};

const MINUTE_MS = 60_000;
const VALID_MS = { setup: 30 * MINUTE_MS, invite: 7 * 1440 * MINUTE_MS, reset: 1440 * MINUTE_MS } as const;
const PATHS = { setup: "/console/setup", invite: "/console/join", reset: "/console/reset" } as const;

export type UserAdminDeps = {
  reads: StoreReads;
  mode: "test" | "live";
  post: (mutation: AdminMutation) => Promise<AdminResult>;
  clock: Clock;
  /** Called with each link that was made for a known address. */
  linkMade: (link: { kind: "invite" | "reset"; email: string; path: string; expiresAtMs: number }) => void;
};

/** Finds a user by id or e-mail address. @throws AdminError `notFound` */
const userFinder =
  (reads: Pick<StoreReads, "users">) =>
  async (named: string): Promise<UserRow> => {
    const email = readEmail(named);
    const found = (await reads.users()).find((user) => user.id === named || user.email === email);
    if (found) return found;
    throw new AdminError("notFound", `there is no user ${named}`, {
      fix: "genrouter users list prints the valid ids",
      code: "not_found",
    });
  };

export const createUserAdmin = ({ reads, mode, post, clock, linkMade }: UserAdminDeps): UserAdmin => {
  const userOf = userFinder(reads);
  const link = async (
    kind: keyof typeof PATHS,
    request: { role: UserRole } & Partial<Record<"email" | "userId" | "accountName", string | null>> & {
        accountSeq?: number | null;
      },
  ): Promise<CreatedInvitation> => {
    const { role, email = null, userId = null, accountName = null, accountSeq = null } = request;
    const token = newToken();
    const id = newId("inv");
    const atMs = clock.nowMs();
    const expiresAtMs = atMs + VALID_MS[kind];
    const hash = hashToken(token);
    requireDone(
      await post({ mutation: "invite", id, hash, kind, role, accountSeq, accountName, email, userId, expiresAtMs, atMs }),
    );
    // The fragment of a URL is sent neither to logs nor to other sites.
    return { id, path: `${PATHS[kind]}#${token}`, email, expiresAtMs };
  };

  return {
    listUsers: async () => {
      const nowMs = clock.nowMs();
      const invitations = (await reads.invitations()).filter(
        (one) => one.usedAtMs === null && one.withdrawnAtMs === null && one.expiresAtMs > nowMs,
      );
      return { users: await reads.users(), invitations };
    },
    inviteUser: async ({ email: text, role, accountId, accountName }) => {
      const email = readEmail(text);
      if (email === undefined)
        throw new AdminError("usage", `${JSON.stringify(text)} is not an e-mail address; expected name@host`, {
          code: "bad_email",
        });
      if (role === "member" && accountId === null && accountName === null)
        throw new AdminError("usage", "a member needs an account: set an existing account or the name of a new one", {
          code: "no_account",
        });
      if (accountId !== null && accountName !== null)
        throw new AdminError("usage", "set an existing account or the name of a new one, not both", { code: "two_accounts" });
      const account = accountId === null ? null : await reads.account(accountId);
      if (account === undefined)
        throw new AdminError("notFound", `there is no account ${accountId}`, {
          fix: "genrouter accounts list prints the valid ids",
          code: "not_found",
        });
      const made = await link("invite", { role, email, accountSeq: account?.seq ?? null, accountName });
      linkMade({ kind: "invite", ...made, email });
      return made;
    },
    withdrawInvitation: async ({ id }) => {
      requireDone(await post({ mutation: "withdraw-invitation", invitationId: id, atMs: clock.nowMs() }));
      return { id };
    },
    setUser: async ({ user, ...change }) => {
      const { id } = await userOf(user);
      requireDone(await post({ mutation: "set-user", userId: id, ...change, atMs: clock.nowMs() }));
      return userOf(id);
    },
    resetUser: async ({ user }) => {
      const { id, email, role } = await userOf(user);
      const made = await link("reset", { role, userId: id });
      linkMade({ kind: "reset", ...made, email });
      return { ...made, email };
    },
    setUpLink: async () => {
      const demo = mode === "test" ? await reads.account(DEMO_ACCOUNT_ID) : undefined;
      return link("setup", { role: "operator", accountSeq: demo?.seq ?? null });
    },
  };
};
