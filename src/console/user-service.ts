// User operations of the console: sign-in, sign-up, links, sessions, name and password.
import type { Clock } from "../domain/clock.ts";
import { hashToken, newId } from "../domain/ids.ts";
import type { AdminMutation, AdminResult, Principal } from "../domain/mutations.ts";
import { PROGRAM_COMMAND } from "../domain/program-command.ts";
import { readEmail } from "../domain/user-mutations.ts";
import type { StoreReads } from "../store/store.ts";
import type { Devices } from "./known-devices.ts";
import { requirePassword } from "./password-rules.ts";
import type { Passwords } from "./passwords.ts";
import type { RefusedOutcome, RefusedSignIns } from "./rejected-sign-ins.ts";
import { ConsoleRefused, type SignedIn } from "./request-context.ts";
import type { Sessions } from "./sessions.ts";
import { createSignInThrottle } from "./sign-in-throttle.ts";
import { createTokenBucket } from "./token-bucket.ts";
import type { LinkView, MeView, SessionView, TeamView } from "./users-dto.ts";

const MINUTE_MS = 60_000;
/** Wrong passwords of a signed-in user for their own account. */
const PER_USER = { burst: 10, refillMs: MINUTE_MS };
/** Sessions that one user may open. Each adds a row, even with the correct password. */
const SIGN_INS = { burst: 60, refillMs: 1_000 };
/** Accounts that may be created from one address. */
const SIGN_UPS = { burst: 10, refillMs: 6 * MINUTE_MS };
/** Sign-ups have a lower priority than sign-ins. */
const STRANGERS_RANK = 1;

const WRONG = "The e-mail address or the password is wrong.";
const NO_LINK = "This link was used, revoked or has expired. Ask its sender for a new one.";

export type UserServiceDeps = {
  reads: StoreReads;
  post: (mutation: AdminMutation) => Promise<AdminResult>;
  clock: Clock;
  sessions: Sessions;
  passwords: Passwords;
  devices: Devices;
  refused: RefusedSignIns;
  signUp: boolean;
  hasInspector: boolean;
};
/** A sign-in request with its client address and request id. */
export type SignInRequest = { request: Request; address: string; requestId: string };
/** The token of the session that was opened, and whose it is. */
export type OpenedSession = { token: string; userId: string };

export const createUserService = (deps: UserServiceDeps) => {
  const { reads, post, clock, sessions, passwords, devices, refused, signUp, hasInspector } = deps;
  const guesses = createSignInThrottle(clock);
  const perUser = createTokenBucket(clock, PER_USER);
  const signIns = createTokenBucket(clock, SIGN_INS);
  const signUps = createTokenBucket(clock, SIGN_UPS);

  /** @throws ConsoleRefused with the store's message */
  const carryOut = async (mutation: AdminMutation, by: Principal): Promise<void> => {
    const outcome = await post({ ...mutation, by });
    if (outcome.kind === "refused")
      throw new ConsoleRefused("conflict", `${outcome.reason.charAt(0).toUpperCase()}${outcome.reason.slice(1)}.`);
  };
  const emailOf = (text: string): string => {
    const email = readEmail(text);
    if (email === undefined) throw new ConsoleRefused("invalid", "E-mail address: it needs a name, an @ and a host.");
    return email;
  };
  const nameOf = (text: string): string => {
    const name = text.trim();
    if (name === "") throw new ConsoleRefused("invalid", "Name: enter what you want to be called.");
    return name;
  };
  const linkOf = async (token: string) => {
    const found = await reads.invitationByHash(hashToken(token));
    if (!found || found.usedAtMs !== null || found.withdrawnAtMs !== null || found.expiresAtMs <= clock.nowMs())
      throw new ConsoleRefused("refused", NO_LINK);
    return found;
  };
  /** A signed-in user is counted by user alone, independent of the address, because a thief of the session may try passwords. */
  const isOwnPassword = async (
    { address, requestId }: SignInRequest,
    { userId, password, kept }: { userId: string; password: string; kept: string | null },
  ): Promise<boolean> => {
    const no = (outcome: RefusedOutcome): void => refused.report({ outcome, address, userId, requestId });
    let outcome: RefusedOutcome | "right" = "throttled";
    try {
      perUser.take(userId);
      outcome = "busy";
      outcome = (await passwords.isRight(password, kept, { rank: 0, whose: userId })) ? "right" : "wrong";
      return outcome === "right";
    } finally {
      if (outcome === "right" || outcome === "busy") perUser.giveBack(userId);
      if (outcome !== "right") no(outcome);
    }
  };

  return {
    me: async (who: SignedIn | null, token: string | null): Promise<MeView> => {
      const account = who?.accountId ? await reads.account(who.accountId) : undefined;
      const signedIn = who &&
        token !== null && {
          userId: who.userId,
          email: who.email,
          name: who.name,
          role: who.role,
          accountId: who.accountId,
          accountName: account?.name ?? null,
          sessionId: who.sessionId,
          csrf: sessions.csrfOf(token),
        };
      const isSetUp = (await reads.operators()) > 0;
      return {
        signedIn: signedIn || null,
        isSetUp,
        signUp: signUp && isSetUp,
        simulated: (await reads.mode()) === "test",
        inspector: hasInspector && who !== null && who.role !== "member",
        command: PROGRAM_COMMAND,
      };
    },

    /** @throws ConsoleRefused one sentence for every fault; the fault goes to the log and, for an existing user, to the audit log */
    signIn: async (
      { request, address, requestId }: SignInRequest,
      query: { email: string; password: string },
    ): Promise<OpenedSession> => {
      const email = readEmail(query.email) ?? "";
      const user = await reads.userByEmail(email);
      const kept = user?.disabledAtMs === null ? user.password : null;
      const no = (outcome: RefusedOutcome): void => refused.report({ outcome, address, userId: user?.id ?? null, requestId });
      const device = user ? devices.nameOf(request, user.id) : null;
      let isBusy = false;
      const isRight = await guesses
        .count({ address, email, device, userId: user?.id ?? "" }, (turn) => {
          isBusy = true;
          return passwords.isRight(query.password, kept, turn);
        })
        .catch((fault: unknown) => {
          no(isBusy ? "busy" : "throttled");
          throw fault;
        });
      if (!isRight || !user || kept === null) {
        no("wrong");
        throw new ConsoleRefused("refused", WRONG);
      }
      try {
        signIns.take(user.id);
      } catch (fault) {
        no("throttled");
        throw fault;
      }
      const { token, session } = sessions.begin(request, address);
      const mutation = { mutation: "open-session", userId: user.id, password: kept, session, atMs: clock.nowMs() } as const;
      const outcome = await post({ ...mutation, by: { kind: "user", id: user.id, name: email } });
      // The user was disabled or got another password at the same moment.
      if (outcome.kind === "refused") throw new ConsoleRefused("refused", WRONG);
      return { token, userId: user.id };
    },

    look: async (token: string): Promise<LinkView> => {
      const { kind, role, email, accountId, accountName, expiresAtMs } = await linkOf(token);
      const joined = accountId === null ? undefined : await reads.account(accountId);
      return { kind, role, email, accountName: joined?.name ?? accountName, expiresAtMs };
    },

    /** `email` and `name` as the link asks for them: the first operator's are new, a reset needs neither. */
    accept: async (
      signIn: SignInRequest,
      request: { token: string; email: string; name: string; password: string },
    ): Promise<OpenedSession> => {
      const link = await linkOf(request.token);
      const email = link.email ?? emailOf(request.email);
      const name = link.kind === "reset" ? (link.userName ?? "") : nameOf(request.name);
      requirePassword(request.password, email);
      const password = await passwords.hash(request.password, { rank: 0, whose: link.id });
      const { token, session } = sessions.begin(signIn.request, signIn.address);
      const userId = link.kind === "reset" ? (link.userId ?? "") : newId("per");
      // The first operator gets an account too, to be able to use every page.
      const accountName = link.kind === "setup" ? name : link.accountName;
      const account = accountName === null ? null : { id: newId("acc"), name: accountName };
      const what = { hash: hashToken(request.token), userId, email, name, password, account, session, atMs: clock.nowMs() };
      await carryOut({ mutation: "accept-invitation", ...what }, { kind: "user", id: userId, name: email });
      return { token, userId };
    },

    signUp: async (signIn: SignInRequest, request: { email: string; name: string; password: string }): Promise<OpenedSession> => {
      if (!signUp || (await reads.operators()) === 0)
        throw new ConsoleRefused("forbidden", "Sign-up is disabled; request an invitation from an operator of the service.");
      const [email, name] = [emailOf(request.email), nameOf(request.name)];
      requirePassword(request.password, email);
      signUps.take(signIn.address);
      if (await reads.userByEmail(email)) throw new ConsoleRefused("conflict", `${email} has a sign-in already; sign in.`);
      const password = await passwords.hash(request.password, { rank: STRANGERS_RANK, whose: signIn.address });
      const { token, session } = sessions.begin(signIn.request, signIn.address);
      const userId = newId("per");
      const what = { userId, email, name, password, account: { id: newId("acc"), name }, session, atMs: clock.nowMs() };
      await carryOut({ mutation: "sign-up", ...what }, { kind: "user", id: userId, name: email });
      return { token, userId };
    },

    /** Disabled users cannot sign in and are left out. */
    team: async ({ accountId }: SignedIn): Promise<TeamView> => {
      const account = accountId === null ? undefined : await reads.account(accountId);
      if (!account) throw new ConsoleRefused("not_found", "Your user has no account.");
      const users = (await reads.usersOf(account.seq))
        .filter((user) => user.disabledAtMs === null)
        .map(({ id, email, name, role }) => ({ id, email, name, role }))
        .sort((a, b) => a.name.localeCompare(b.name) || a.email.localeCompare(b.email));
      return { account: { id: account.id, name: account.name }, users };
    },

    sessions: async (who: SignedIn): Promise<SessionView[]> => {
      const nowMs = clock.nowMs();
      return (await reads.sessionsOf(who.userId))
        .filter(({ id, expiresAtMs }) => expiresAtMs > nowMs || id === who.sessionId)
        .map(({ endedAtMs: _, ...row }) => ({ ...row, isThis: row.id === who.sessionId }));
    },
    end: (who: SignedIn, which: { onlyId?: string; exceptId?: string }): Promise<void> =>
      carryOut(
        { mutation: "end-sessions", userId: who.userId, ...which, atMs: clock.nowMs() },
        { kind: "user", id: who.userId, name: who.email },
      ),

    rename: (who: SignedIn, text: string): Promise<void> =>
      carryOut(
        { mutation: "set-user", userId: who.userId, name: nameOf(text), atMs: clock.nowMs() },
        { kind: "user", id: who.userId, name: who.email },
      ),

    /** Ends the other sessions of the user and keeps the current one. */
    changePassword: async (who: SignedIn, signIn: SignInRequest, request: { old: string; password: string }): Promise<void> => {
      const kept = (await reads.userByEmail(who.email))?.password ?? null;
      if (!(await isOwnPassword(signIn, { userId: who.userId, password: request.old, kept })) || kept === null)
        throw new ConsoleRefused("refused", "The current password is wrong.");
      requirePassword(request.password, who.email);
      const password = await passwords.hash(request.password, { rank: 0, whose: who.userId });
      const change = { password, ifPassword: kept, keepSessionId: who.sessionId };
      const by: Principal = { kind: "user", id: who.userId, name: who.email };
      await carryOut({ mutation: "set-user", userId: who.userId, ...change, atMs: clock.nowMs() }, by);
    },
  };
};
