// Sessions of the console: cookie, user, expiry and CSRF token.
import { createHmac } from "node:crypto";
import type { Clock } from "../domain/clock.ts";
import { hashToken, newId, newToken } from "../domain/ids.ts";
import type { AdminMutation, AdminResult } from "../domain/mutations.ts";
import type { NewSession } from "../domain/user-mutations.ts";
import type { StoreReads } from "../store/store.ts";
import type { SessionFacts } from "../store/user-reads.ts";
import type { SignedIn } from "./request-context.ts";
import type { SessionService } from "./router.ts";

/**
 * With this prefix, browsers accept the cookie only for this host, for its whole path, and over https (or on the local machine).
 */
const COOKIE = "__Host-genrouter";
const ATTRIBUTES = "Path=/; Secure; HttpOnly; SameSite=Lax";
const DAY_MS = 86_400_000;
/** An unused session ends after this period; every session ends after LONGEST_MS. */
const IDLE_MS = 7 * DAY_MS;
const MAX_MS = 30 * DAY_MS;
/** Interval at which the use of sessions is stored. */
const NOTED_MS = 60_000;
const MAX_REMEMBERED = 1000;
const TOKEN = /^[0-9A-Za-z_-]{43}$/;

export type SessionsDeps = {
  reads: Pick<StoreReads, "sessionByHash">;
  post: (mutation: AdminMutation) => Promise<AdminResult>;
  clock: Clock;
};
export type Sessions = SessionService & {
  /** Creates a token and the row to store for it. */
  begin(request: Request, address: string): { token: string; session: NewSession };
  /** Value of `Set-Cookie` that signs a browser in, and the one that signs it out. */
  setCookie(token: string): string;
  clearCookie(): string;
  /** Drops the cached sessions after a change to a user. */
  forget(): void;
};

const signedIn = ({ createdAtMs: _c, seenAtMs: _s, expiresAtMs: _e, ...who }: SessionFacts): SignedIn => who;

export const createSessions = ({ reads, post, clock }: SessionsDeps): Sessions => {
  const known = new Map<string, SessionFacts>();
  /** Sessions used since their use was last stored. */
  let seen = new Map<string, number>();
  let notedAtMs = clock.nowMs();
  let epoch = 0;

  const factsOf = async (hash: string): Promise<SessionFacts | undefined> => {
    const remembered = known.get(hash);
    if (remembered) return remembered;
    const before = epoch;
    const facts = await reads.sessionByHash(hash);
    // If a user changed during the store read, the result is stale and is not cached.
    if (facts && before === epoch) {
      if (known.size >= MAX_REMEMBERED) known.clear();
      known.set(hash, facts);
    }
    return facts;
  };
  const goodFacts = async (token: string): Promise<SessionFacts | null> => {
    const facts = await factsOf(hashToken(token));
    const nowMs = clock.nowMs();
    return facts && nowMs < facts.expiresAtMs && nowMs - facts.seenAtMs < IDLE_MS ? facts : null;
  };
  const note = (facts: SessionFacts, nowMs: number): void => {
    facts.seenAtMs = nowMs;
    seen.set(facts.sessionId, nowMs);
    if (nowMs - notedAtMs < NOTED_MS) return;
    const mutation: AdminMutation = { mutation: "note-sessions-seen", seen: [...seen] };
    seen = new Map();
    notedAtMs = nowMs;
    // Not awaited; if the write fails, the stored time of use is one minute older.
    void post(mutation).catch(() => undefined);
  };

  return {
    cookieOf: (request) => {
      for (const part of (request.headers.get("cookie") ?? "").split(";")) {
        const [name, value] = part.trim().split("=");
        if (name === COOKIE && value !== undefined && TOKEN.test(value)) return value;
      }
      return null;
    },
    find: async (token) => {
      const facts = await goodFacts(token);
      if (!facts) return null;
      note(facts, clock.nowMs());
      return signedIn(facts);
    },
    isStillIn: async (token, role) => (await goodFacts(token))?.role === role,
    csrfOf: (token) => createHmac("sha256", token).update("genrouter console").digest("hex"),
    begin: (request, address) => {
      const token = newToken();
      const agent = (request.headers.get("user-agent") ?? "").slice(0, 300);
      const expiresAtMs = clock.nowMs() + MAX_MS;
      return { token, session: { id: newId("ses"), hash: hashToken(token), expiresAtMs, agent, address: address.slice(0, 100) } };
    },
    setCookie: (token) => `${COOKIE}=${token}; ${ATTRIBUTES}; Max-Age=${MAX_MS / 1000}`,
    clearCookie: () => `${COOKIE}=; ${ATTRIBUTES}; Max-Age=0`,
    forget: () => {
      known.clear();
      epoch += 1;
    },
  };
};
