// User operations of the console: sign-in, sign-up, links, sessions, name and password.
import type { Clock } from "../domain/clock.ts";
import { hashToken, newId } from "../domain/ids.ts";
import type { AdminMutation, AdminResult, Principal } from "../store/mutations.ts";
import type { StoreReads } from "../store/store.ts";
import { readEmail } from "../store/user-mutations.ts";
import type { Devices } from "./known-devices.ts";
import type { Passwords } from "./passwords.ts";
import type { RefusedOutcome, RefusedSignIns } from "./rejected-sign-ins.ts";
import { ConsoleRefused, type SignedIn } from "./request-context.ts";
import type { Sessions } from "./sessions.ts";
import { createSignInThrottle } from "./sign-in-throttle.ts";
import { createTokenBucket } from "./token-bucket.ts";
import type { LinkView, MeView, SessionView } from "./users-dto.ts";

const MINUTE_MS = 60_000;
/** Wrong passwords of a signed-in user for their own account. */
const PER_PERSON = { burst: 10, refillMs: MINUTE_MS };
/** Sessions that one user may open. Each adds a row, even with the correct password. */
const SIGN_INS = { burst: 60, refillMs: 1_000 };
/** Accounts that may be created from one address. */
const SIGN_UPS = { burst: 10, refillMs: 6 * MINUTE_MS };
/** Sign-ups have a lower priority than sign-ins. */
const STRANGERS_RANK = 1;

const WRONG = "The e-mail address or the password is wrong.";
const NO_LINK = "This link was used, withdrawn or has expired; request a new one from its sender.";

export type UserServiceDeps = {
  reads: StoreReads;
  post: (mutation: AdminMutation) => Promise<AdminResult>;
  clock: Clock;
  sessions: Sessions;
  passwords: Passwords;
  devices: Devices;
  refused: RefusedSignIns;
  signUp: boolean;
};
/** A sign-in request with its client address and request id. */
export type SignInRequest = { request: Request; address: string; requestId: string };
/** The token of the session that was opened, and whose it is. */
export type OpenedSession = { token: string; personId: string };

export const createUserService = ({ reads, post, clock, sessions, passwords, devices, refused, signUp }: UserServiceDeps) => {
  const guesses = createSignInThrottle(clock);
  const perPerson = createTokenBucket(clock, PER_PERSON);
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
  const insistOnOther = (password: string, email: string): void => {
    if (password.trim().toLowerCase() === email)
      throw new ConsoleRefused("invalid", "The password must not be your e-mail address.");
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
    { personId, password, kept }: { personId: string; password: string; kept: string | null },
  ): Promise<boolean> => {
    const no = (outcome: RefusedOutcome): void => refused.tell({ outcome, address, personId, requestId });
    let outcome: RefusedOutcome | "right" = "throttled";
    try {
      perPerson.take(personId);
      outcome = "busy";
      outcome = (await passwords.isRight(password, kept, { rank: 0, whose: personId })) ? "right" : "wrong";
      return outcome === "right";
    } finally {
      if (outcome === "right" || outcome === "busy") perPerson.giveBack(personId);
      if (outcome !== "right") no(outcome);
    }
  };

  return {
    me: async (who: SignedIn | null, token: string | null): Promise<MeView> => {
      const account = who?.accountId ? await reads.account(who.accountId) : undefined;
      const signedIn = who &&
        token !== null && {
          personId: who.personId,
          email: who.email,
          name: who.name,
          role: who.role,
          accountId: who.accountId,
          accountName: account?.name ?? null,
          sessionId: who.sessionId,
          csrf: sessions.csrfOf(token),
        };
      const isSetUp = (await reads.operators()) > 0;
      return { signedIn: signedIn || null, isSetUp, signUp: signUp && isSetUp, simulated: (await reads.mode()) === "test" };
    },

    /** @throws ConsoleRefused one sentence for every fault; the fault goes to the log and, for an existing user, to the audit log */
    signIn: async (
      { request, address, requestId }: SignInRequest,
      ask: { email: string; password: string },
    ): Promise<OpenedSession> => {
      const email = readEmail(ask.email) ?? "";
      const person = await reads.personByEmail(email);
      const kept = person?.disabledAtMs === null ? person.password : null;
      const no = (outcome: RefusedOutcome): void => refused.tell({ outcome, address, personId: person?.id ?? null, requestId });
      const device = person ? devices.nameOf(request, person.id) : null;
      let isBusy = false;
      const isRight = await guesses
        .count({ address, email, device, personId: person?.id ?? "" }, (turn) => {
          isBusy = true;
          return passwords.isRight(ask.password, kept, turn);
        })
        .catch((fault: unknown) => {
          no(isBusy ? "busy" : "throttled");
          throw fault;
        });
      if (!isRight || !person || kept === null) {
        no("wrong");
        throw new ConsoleRefused("refused", WRONG);
      }
      try {
        signIns.take(person.id);
      } catch (fault) {
        no("throttled");
        throw fault;
      }
      const { token, session } = sessions.begin(request, address);
      const mutation = { mutation: "open-session", personId: person.id, password: kept, session, atMs: clock.nowMs() } as const;
      const outcome = await post({ ...mutation, by: { kind: "user", id: person.id, name: email } });
      // The user was disabled or got another password at the same moment.
      if (outcome.kind === "refused") throw new ConsoleRefused("refused", WRONG);
      return { token, personId: person.id };
    },

    look: async (token: string): Promise<LinkView> => {
      const { kind, role, email, accountId, accountName, expiresAtMs } = await linkOf(token);
      const joined = accountId === null ? undefined : await reads.account(accountId);
      return { kind, role, email, accountName: joined?.name ?? accountName, expiresAtMs };
    },

    /** `email` and `name` as the link asks for them: the first operator's are new, a reset needs neither. */
    accept: async (
      door: SignInRequest,
      ask: { token: string; email: string; name: string; password: string },
    ): Promise<OpenedSession> => {
      const link = await linkOf(ask.token);
      const email = link.email ?? emailOf(ask.email);
      const name = link.kind === "reset" ? (link.personName ?? "") : nameOf(ask.name);
      insistOnOther(ask.password, email);
      const password = await passwords.hash(ask.password, { rank: 0, whose: link.id });
      const { token, session } = sessions.begin(door.request, door.address);
      const personId = link.kind === "reset" ? (link.personId ?? "") : newId("per");
      // The first operator gets an account too, to be able to use every page.
      const accountName = link.kind === "setup" ? name : link.accountName;
      const account = accountName === null ? null : { id: newId("acc"), name: accountName };
      const what = { hash: hashToken(ask.token), personId, email, name, password, account, session, atMs: clock.nowMs() };
      await carryOut({ mutation: "accept-invitation", ...what }, { kind: "user", id: personId, name: email });
      return { token, personId };
    },

    signUp: async (door: SignInRequest, ask: { email: string; name: string; password: string }): Promise<OpenedSession> => {
      if (!signUp || (await reads.operators()) === 0)
        throw new ConsoleRefused("forbidden", "Sign-up is disabled; request an invitation from an operator of the service.");
      const [email, name] = [emailOf(ask.email), nameOf(ask.name)];
      insistOnOther(ask.password, email);
      signUps.take(door.address);
      if (await reads.personByEmail(email)) throw new ConsoleRefused("conflict", `${email} has a sign-in already; sign in.`);
      const password = await passwords.hash(ask.password, { rank: STRANGERS_RANK, whose: door.address });
      const { token, session } = sessions.begin(door.request, door.address);
      const personId = newId("per");
      const what = { personId, email, name, password, account: { id: newId("acc"), name }, session, atMs: clock.nowMs() };
      await carryOut({ mutation: "sign-up", ...what }, { kind: "user", id: personId, name: email });
      return { token, personId };
    },

    sessions: async (who: SignedIn): Promise<SessionView[]> => {
      const nowMs = clock.nowMs();
      return (await reads.sessionsOf(who.personId))
        .filter(({ id, expiresAtMs }) => expiresAtMs > nowMs || id === who.sessionId)
        .map(({ endedAtMs: _, ...row }) => ({ ...row, isThis: row.id === who.sessionId }));
    },
    end: (who: SignedIn, which: { onlyId?: string; exceptId?: string }): Promise<void> =>
      carryOut(
        { mutation: "end-sessions", personId: who.personId, ...which, atMs: clock.nowMs() },
        { kind: "user", id: who.personId, name: who.email },
      ),

    rename: (who: SignedIn, text: string): Promise<void> =>
      carryOut(
        { mutation: "set-person", personId: who.personId, name: nameOf(text), atMs: clock.nowMs() },
        { kind: "user", id: who.personId, name: who.email },
      ),

    /** Ends the other sessions of the user and keeps the current one. */
    changePassword: async (who: SignedIn, door: SignInRequest, ask: { old: string; password: string }): Promise<void> => {
      const kept = (await reads.personByEmail(who.email))?.password ?? null;
      if (!(await isOwnPassword(door, { personId: who.personId, password: ask.old, kept })) || kept === null)
        throw new ConsoleRefused("refused", "The password of now is wrong.");
      insistOnOther(ask.password, who.email);
      const password = await passwords.hash(ask.password, { rank: 0, whose: who.personId });
      const change = { password, ifPassword: kept, keepSessionId: who.sessionId };
      const by: Principal = { kind: "user", id: who.personId, name: who.email };
      await carryOut({ mutation: "set-person", personId: who.personId, ...change, atMs: clock.nowMs() }, by);
    },
  };
};
