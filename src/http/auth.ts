// Authenticates requests by API key and applies pause, scope and burst limit.
//
// The bearer key of §5 is looked up by its hash. The account's pause, the key's scope and the burst limit are checked in this
// order.

import { ClockCache } from "../collections/clock-cache.ts";
import { MAX_KEY_NETWORKS, networkOf } from "../config/cidr-list.ts";
import { KEY_EXPIRED, refuse } from "../domain/api-errors.ts";
import type { Clock } from "../domain/clock.ts";
import { API_KEY_CHARS, hashApiKey, isWellFormedApiKey } from "../domain/ids.ts";
import type { Caller, KeyNetwork } from "../domain/types.ts";
import type { StoreReads } from "../store/store.ts";
import type { RateLimiter } from "./rate-limit.ts";
import { addLogContext } from "./request-log-context.ts";
import type { Answer, PathParams } from "./response.ts";

/**
 * Anchored and without a comma, because two headers arrive joined by a comma and are no valid key. The case of the scheme is
 * ignored.
 */
const BEARER = /^bearer +([\w.~+/-]{1,256}={0,2})$/i;

/** Minimum number of cached callers, and how long a cached caller is valid before the store is read again. */
const CALLERS = 10_000;
const BELIEVED_MS = 60_000;
/** Duration for which a header is matched by its text, ms. The text stays in memory until garbage collection anyway. */
const LATELY_MS = 10_000;

/**
 * Last use of a key, the part of it that is stored, and the addresses. `address` is the last one, `isNoted` is true if it is
 * stored.
 */
type Use = { atMs: number; notedMs: number; address: string; networks: Map<string, { address: string; isNoted: boolean }> };
const newUse = (): Use => ({ atMs: 0, notedMs: 0, address: "", networks: new Map() });
type Known = { caller: Caller; untilMs: number; use: Use };

/** Answers one request of an authenticated caller. */
export type AuthenticatedHandler = (
  request: Request,
  requestId: string,
  caller: Caller,
  params: PathParams,
) => Response | Promise<Response>;

/** Endpoints about the whole account need a key without limits and models. @throws ApiError `generation_not_enabled` */
export const requireUnlimitedKey = ({ isLimited }: Pick<Caller, "isLimited">): void => {
  if (isLimited)
    refuse("generation_not_enabled", "This key has spend limits or a model allowlist; use a key of the account without them.");
};

export type AuthenticateDeps = {
  reads: Pick<StoreReads, "callerByKeyHash">;
  clock: Clock;
  rateLimiter: RateLimiter;
  storeOpen: () => boolean;
  /** Client address of a request; "" if unknown. */
  addressOf: (request: Request) => string;
  /** True if requests to endpoints of this scope are logged. */
  isTrailed: (scope: "generate" | "read") => boolean;
};

/** Length of the header that clients normally send. A longer header contains additional spaces and is not cached by its text. */
const USUAL_CHARS = "Bearer ".length + API_KEY_CHARS;

/**
 * Authenticates keyed endpoints. Callers are cached by a digest of the header, and for some seconds by the header text; unknown
 * keys are not cached. The digest is never stored. BLAKE2b takes half as long as SHA-256.
 */
export class KeyGuard {
  private readonly known = new ClockCache<string, Known>(CALLERS);
  /** Headers of the last seconds, so that the header of a polling client is not hashed for every request. */
  private readonly lately = new Map<string, Known>();
  private latelySinceMs = 0;
  /** One entry for each key that was ever accepted; it survives the eviction of its caller. */
  private readonly uses = new Map<number, Use>();
  private epoch = 0;
  private readonly deps: AuthenticateDeps;

  constructor(deps: AuthenticateDeps) {
    this.deps = deps;
  }

  /** Clears the cache of callers after a change to a key or an account. */
  forget(): void {
    this.known.clear();
    this.lately.clear();
    this.epoch += 1;
  }

  /** Keys that were used since their last use was stored, and the times of use. */
  unnotedUses(): [keySeq: number, atMs: number][] {
    return [...this.uses].flatMap(([keySeq, { atMs, notedMs }]) => (atMs > notedMs ? [[keySeq, atMs]] : []));
  }

  noted(uses: readonly (readonly [keySeq: number, atMs: number])[]): void {
    for (const [keySeq, atMs] of uses) {
      const use = this.uses.get(keySeq);
      if (use) use.notedMs = atMs;
    }
  }

  /** Networks from which keys were used and that are not stored yet. */
  unnotedNetworks(): KeyNetwork[] {
    return [...this.uses].flatMap(([keySeq, { networks }]) =>
      [...networks].flatMap(([network, { address, isNoted }]) => (isNoted ? [] : [{ keySeq, network, address }])),
    );
  }

  networkNoted({ keySeq, network, address }: KeyNetwork): void {
    this.uses.get(keySeq)?.networks.set(network, { address, isNoted: true });
  }

  /**
   * Wraps `work` in the checks of a keyed endpoint, in the order 503 `restarting` (store not open yet), 401, 403, 429.
   * @param scope `generate` if the key must be allowed to submit.
   * @param isCounted false for requests outside of the burst limit.
   */
  keyed(scope: "generate" | "read", work: AuthenticatedHandler, { isCounted } = { isCounted: true }): Answer {
    const isTrailed = this.deps.isTrailed(scope);
    // Reading the address is expensive compared with a poll. It is read for each submission, and for reads once in LATELY_MS.
    const enter = (request: Request, requestId: string, params: PathParams, known: Known, nowMs: number, isAgain = false) => {
      const { caller, use } = known;
      if (caller.expiresAtMs !== null && nowMs >= caller.expiresAtMs) refuse("unauthorized", KEY_EXPIRED);
      use.atMs = nowMs;
      const address = isAgain && scope === "read" ? "" : this.deps.addressOf(request);
      this.see(use, address);
      if (isTrailed)
        addLogContext(request, { account_id: caller.accountId, key_id: caller.keyId, ...(address === "" ? {} : { address }) });
      if (caller.paused) refuse("account_disabled", "The account is paused.");
      if (scope === "generate" && caller.scope !== "generate")
        refuse("generation_not_enabled", "This key can read prices and generations but cannot generate.");
      const counted = isCounted ? this.deps.rateLimiter.take(caller, nowMs) : undefined;
      if (counted !== undefined) return counted.then(() => work(request, requestId, caller, params));
      return work(request, requestId, caller, params);
    };
    // Not async, so that a cached caller passes without a turn of the event loop.
    return (request, requestId, params) => {
      if (!this.deps.storeOpen()) refuse("restarting", "The service is starting; send the same request again.");
      const header = request.headers.get("authorization");
      if (header === null) return refuse("unauthorized", "Authorization: missing; send Bearer and an API key.");
      const nowMs = this.deps.clock.nowMs();
      const again = this.recognise(header, nowMs);
      if (again !== undefined) return enter(request, requestId, params, again, nowMs, true);
      const digest = Bun.CryptoHasher.hash("blake2b256", header, "base64");
      const known = this.known.get(digest);
      if (known !== undefined && nowMs < known.untilMs) {
        if (header.length === USUAL_CHARS) this.lately.set(header, known);
        return enter(request, requestId, params, known, nowMs);
      }
      return this.ask(header, digest, nowMs).then((requested) => enter(request, requestId, params, requested, nowMs));
    };
  }

  private see(use: Use, address: string): void {
    if (address === use.address || address === "") return;
    use.address = address;
    const network = networkOf(address);
    if (use.networks.size < MAX_KEY_NETWORKS && !use.networks.has(network))
      use.networks.set(network, { address, isNoted: false });
  }

  /** Returns the caller that sent the identical header within LATELY_MS. */
  private recognise(header: string, nowMs: number): Known | undefined {
    if (nowMs - this.latelySinceMs >= LATELY_MS || this.lately.size >= CALLERS) {
      this.lately.clear();
      this.latelySinceMs = nowMs;
    }
    const known = this.lately.get(header);
    return known !== undefined && nowMs < known.untilMs ? known : undefined;
  }

  private async ask(header: string, digest: string, nowMs: number): Promise<Known> {
    const key = BEARER.exec(header)?.[1];
    if (key === undefined)
      return refuse("unauthorized", "Authorization: must be the word Bearer, a space and one API key, given once.");
    const epoch = this.epoch;
    // A malformed key is rejected without a store read, so a flood of guesses does not load the store.
    const caller = isWellFormedApiKey(key) ? await this.deps.reads.callerByKeyHash(hashApiKey(key)) : undefined;
    this.known.delete(digest);
    if (caller === undefined) return refuse("unauthorized", "Authorization: this API key is not valid.");
    const use = this.uses.get(caller.keySeq) ?? newUse();
    this.uses.set(caller.keySeq, use);
    const known = { caller, untilMs: nowMs + BELIEVED_MS, use };
    // If a key or an account changed during the store read, the result is stale and is not cached.
    if (epoch === this.epoch) this.known.set(digest, known);
    return known;
  }
}
