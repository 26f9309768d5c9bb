// Who is calling: the bearer key of §5, looked up by its hash, then the account's pause, the key's scope and the burst guard.

import { ClockCache } from "../collections/clock-cache.ts";
import { type KeyNetwork, MOST_KEY_NETWORKS, networkOf } from "../config/cidr-list.ts";
import { KEY_EXPIRED, refuse } from "../domain/api-errors.ts";
import type { Clock } from "../domain/clock.ts";
import { API_KEY_CHARS, hashApiKey, isWellFormedApiKey } from "../domain/ids.ts";
import type { Caller } from "../domain/types.ts";
import type { StoreReads } from "../store/store.ts";
import type { BurstGuard } from "./rate-limit.ts";
import { addLogContext } from "./request-log-context.ts";
import type { Answer, PathParams } from "./response.ts";

/** Anchored and without a comma: two headers arrive joined by one, and are nobody's key. The scheme's case is free. */
const BEARER = /^bearer +([\w.~+/-]{1,256}={0,2})$/i;

/** Known callers: how many at least, and how long one is believed without asking the store again. */
const CALLERS = 10_000;
const BELIEVED_MS = 60_000;
/** For so long a header that was sent is recognised as it is, ms: its text is in memory anyway until the collector comes. */
const LATELY_MS = 10_000;

/** When a key was last used, what of it is on disk, and from where: `address` is the last one, `isNoted` whether that is on disk. */
type Use = { atMs: number; notedMs: number; address: string; networks: Map<string, { address: string; isNoted: boolean }> };
const newUse = (): Use => ({ atMs: 0, notedMs: 0, address: "", networks: new Map() });
type Known = { caller: Caller; untilMs: number; use: Use };

/** Answers one request of a known caller. */
export type KeyedAnswer = (
  request: Request,
  requestId: string,
  caller: Caller,
  params: PathParams,
) => Response | Promise<Response>;

export type AuthenticateDeps = {
  reads: Pick<StoreReads, "callerByKeyHash">;
  clock: Clock;
  burst: BurstGuard;
  storeOpen: () => boolean;
  /** Where a request comes from; "" where that is not known. */
  addressOf: (request: Request) => string;
  /** Whether the requests of endpoints of a scope have lines in the log. */
  isTrailed: (scope: "generate" | "read") => boolean;
};

/** As clients spell it. What is longer has spaces in it, and is not worth the memory. */
const USUAL_CHARS = "Bearer ".length + API_KEY_CHARS;

/**
 * The keyed door. Callers are remembered by a digest of their header, and by the header until one comes some seconds later; unknown keys not
 * at all. The digest is never stored, and BLAKE2b takes half as long as SHA-256.
 */
export class KeyGuard {
  private readonly known = new ClockCache<string, Known>(CALLERS);
  /** What was sent in the last seconds: a client that polls is digested once in a while and not each time. */
  private readonly lately = new Map<string, Known>();
  private latelySinceMs = 0;
  /** One for each key that was ever let in, however often its caller is forgotten. */
  private readonly uses = new Map<number, Use>();
  private epoch = 0;
  private readonly deps: AuthenticateDeps;

  constructor(deps: AuthenticateDeps) {
    this.deps = deps;
  }

  /** Forgets every caller: a key or an account has changed. */
  forget(): void {
    this.known.clear();
    this.lately.clear();
    this.epoch += 1;
  }

  /** Keys that were used since that was last noted, and when. */
  unnotedUses(): [keySeq: number, atMs: number][] {
    return [...this.uses].flatMap(([keySeq, { atMs, notedMs }]) => (atMs > notedMs ? [[keySeq, atMs]] : []));
  }

  noted(uses: readonly (readonly [keySeq: number, atMs: number])[]): void {
    for (const [keySeq, atMs] of uses) {
      const use = this.uses.get(keySeq);
      if (use) use.notedMs = atMs;
    }
  }

  /** Networks that keys were used from, and that are not noted. */
  unnotedNetworks(): KeyNetwork[] {
    return [...this.uses].flatMap(([keySeq, { networks }]) =>
      [...networks].flatMap(([network, { address, isNoted }]) => (isNoted ? [] : [{ keySeq, network, address }])),
    );
  }

  networkNoted({ keySeq, network, address }: KeyNetwork): void {
    this.uses.get(keySeq)?.networks.set(network, { address, isNoted: true });
  }

  /**
   * Puts the checks of a keyed endpoint before `work`, in the order 503 `restarting` (no store to ask yet), 401, 403, 429.
   * @param scope `generate` where the key must be allowed to submit.
   */
  keyed(scope: "generate" | "read", work: KeyedAnswer): Answer {
    const isTrailed = this.deps.isTrailed(scope);
    // The address of a request is dear beside a poll: it is looked at for each submission, and for reads once in LATELY_MS.
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
      const counted = this.deps.burst.take(caller, nowMs);
      if (counted !== undefined) return counted.then(() => work(request, requestId, caller, params));
      return work(request, requestId, caller, params);
    };
    // Not async: a known caller is let in without a turn of the event loop.
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
      return this.ask(header, digest, nowMs).then((asked) => enter(request, requestId, params, asked, nowMs));
    };
  }

  private see(use: Use, address: string): void {
    if (address === use.address || address === "") return;
    use.address = address;
    const network = networkOf(address);
    if (use.networks.size < MOST_KEY_NETWORKS && !use.networks.has(network))
      use.networks.set(network, { address, isNoted: false });
  }

  /** Who sent this very header a moment ago. */
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
    // A text that no key can be does not reach the store: a flood of guesses costs it nothing.
    const caller = isWellFormedApiKey(key) ? await this.deps.reads.callerByKeyHash(hashApiKey(key)) : undefined;
    this.known.delete(digest);
    if (caller === undefined) return refuse("unauthorized", "Authorization: this API key is not valid.");
    const use = this.uses.get(caller.keySeq) ?? newUse();
    this.uses.set(caller.keySeq, use);
    const known = { caller, untilMs: nowMs + BELIEVED_MS, use };
    // A change that came while the store was read must not be undone by what was read before it.
    if (epoch === this.epoch) this.known.set(digest, known);
    return known;
  }
}
