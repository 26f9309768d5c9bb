// Cache of attempts of open generations and of their expected deliveries.
//
// It always equals the stored rows.

import { ChunkedMap } from "../collections/chunked-map.ts";
import { ClockCache } from "../collections/clock-cache.ts";
import type { Ordered } from "../domain/delivery-check.ts";
import type { AdmitGeneration } from "../domain/mutations.ts";
import type { ApplyTransition, AttemptChange } from "../domain/transition.ts";
import type { Attempt } from "../domain/types.ts";
import { begunAttempt, changedAttempt } from "../store/decide/attempt-writes.ts";
import type { StoreReads } from "../store/store.ts";

export type Attempts = {
  /** Reads an attempt from the cache, else from the store. */
  find(seq: number, n: number): Promise<Attempt | undefined>;
  /** Reads the expected delivery of a generation from the cache, else from the store; null if deliveries are not checked. */
  orderedOf(seq: number): Promise<Ordered | null>;
  /** Applies a committed admission. */
  admitted(mutation: AdmitGeneration): void;
  /** Applies a committed transition of the generation with this request id. */
  stepped(mutation: ApplyTransition, requestId: string): void;
  /** Drops an attempt that was changed in another way. */
  forget(seq: number, n: number): void;
  /** Drops all attempts of a generation. */
  forgetAll(seq: number): void;
};

/** Maximum cached attempts. Transitions of an attempt follow each other within milliseconds, except while its job runs. */
const MAX_ATTEMPTS = 512;

export const createAttemptCache = (reads: Pick<StoreReads, "attempt" | "orderedOf">): Attempts => {
  const known = new ClockCache<string, Attempt>(MAX_ATTEMPTS);
  /** Expected deliveries of open generations that this process accepted. Most generations of a model share one value. */
  const orders = new ChunkedMap<Ordered | null>();
  const keyOf = (seq: number, n: number | "") => `${seq} ${n}`;
  const apply = (seq: number, change: AttemptChange, atMs: number, requestId: string) => {
    const key = keyOf(seq, change.n);
    const before = change.begin ? begunAttempt(seq, change.n, requestId, change.begin) : known.get(key);
    if (before) known.set(key, changedAttempt(before, change, atMs));
  };
  return {
    find: async (seq, n) => known.get(keyOf(seq, n)) ?? reads.attempt(seq, n),
    orderedOf: async (seq) => {
      const order = orders.get(seq);
      return order === undefined ? reads.orderedOf(seq) : order;
    },
    admitted: ({ seq, ordered = null }) => {
      orders.set(seq, ordered);
    },
    stepped: ({ seq, atMs, attemptChanges, settlement }, requestId) => {
      for (const change of attemptChanges) apply(seq, change, atMs, requestId);
      // The settlement changes attempts itself, and they are hardly read afterwards.
      if (settlement) {
        for (const { n } of attemptChanges) known.delete(keyOf(seq, n));
        orders.delete(seq);
      }
      if (settlement?.kind === "capture") known.delete(keyOf(seq, settlement.n));
    },
    forget: (seq, n) => known.delete(keyOf(seq, n)),
    forgetAll: (seq) => {
      for (const key of known.keys()) if (key.startsWith(keyOf(seq, ""))) known.delete(key);
    },
  };
};
