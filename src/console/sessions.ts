// Sessions: the cookie, who is behind it, how long it is good for, and what proves that a request comes from its own pages.
import { createHmac } from "node:crypto";
import type { Clock } from "../domain/clock.ts";
import { hashToken, newId, newToken } from "../domain/ids.ts";
import type { AdminMutation, AdminResult } from "../store/mutations.ts";
import type { StoreReads } from "../store/store.ts";
import type { NewSession } from "../store/user-mutations.ts";
import type { SessionFacts } from "../store/user-reads.ts";
import type { SignedIn } from "./request-context.ts";
import type { SessionService } from "./router.ts";

/** The prefix makes browsers insist: this host alone, its whole path, and only where nobody can listen in (or on this machine). */
const COOKIE = "__Host-genrouter";
const ATTRIBUTES = "Path=/; Secure; HttpOnly; SameSite=Lax";
const DAY_MS = 86_400_000;
/** A session that is not used ends after this long; one that is used, too, in the end. */
const IDLE_MS = 7 * DAY_MS;
const LONGEST_MS = 30 * DAY_MS;
/** How often it is noted that sessions are used. */
const NOTED_MS = 60_000;
const MOST_REMEMBERED = 1000;
const TOKEN = /^[0-9A-Za-z_-]{43}$/;

export type SessionsDeps = {
  reads: Pick<StoreReads, "sessionByHash">;
  post: (mutation: AdminMutation) => Promise<AdminResult>;
  clock: Clock;
};
export type Sessions = SessionService & {
  /** A new token, and what is kept of it. */
  begin(request: Request, address: string): { token: string; session: NewSession };
  /** The value of `Set-Cookie` that signs a browser in, and the one that signs it out. */
  setCookie(token: string): string;
  clearCookie(): string;
  /** What is remembered of people may have changed. */
  forget(): void;
};

const signedIn = ({ createdAtMs: _c, seenAtMs: _s, expiresAtMs: _e, ...who }: SessionFacts): SignedIn => who;

export const createSessions = ({ reads, post, clock }: SessionsDeps): Sessions => {
  const known = new Map<string, SessionFacts>();
  /** Sessions used since it was last noted. */
  let seen = new Map<string, number>();
  let notedAtMs = clock.nowMs();
  let epoch = 0;

  const factsOf = async (hash: string): Promise<SessionFacts | undefined> => {
    const remembered = known.get(hash);
    if (remembered) return remembered;
    const before = epoch;
    const facts = await reads.sessionByHash(hash);
    // A change that came while the store was read must not be undone by what was read before it.
    if (facts && before === epoch) {
      if (known.size >= MOST_REMEMBERED) known.clear();
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
    // Nobody waits for it; on a full disk a session looks a minute older than it is.
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
      const expiresAtMs = clock.nowMs() + LONGEST_MS;
      return { token, session: { id: newId("ses"), hash: hashToken(token), expiresAtMs, agent, address: address.slice(0, 100) } };
    },
    setCookie: (token) => `${COOKIE}=${token}; ${ATTRIBUTES}; Max-Age=${LONGEST_MS / 1000}`,
    clearCookie: () => `${COOKIE}=; ${ATTRIBUTES}; Max-Age=0`,
    forget: () => {
      known.clear();
      epoch += 1;
    },
  };
};
