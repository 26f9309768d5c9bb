// Cache of what the attempts of open generations need: their rows, inputs and expected deliveries.
//
// It always equals the stored rows.

import { ChunkedMap } from "../collections/chunked-map.ts";
import { ClockCache } from "../collections/clock-cache.ts";
import type { Ordered } from "../domain/delivery-check.ts";
import type { AdmitGeneration } from "../domain/mutations.ts";
import type { ApplyTransition, AttemptChange } from "../domain/transition.ts";
import type { Attempt, JsonObject } from "../domain/types.ts";
import { begunAttempt, changedAttempt } from "../store/decide/attempt-writes.ts";
import type { StoreReads } from "../store/store.ts";

/** An input as sent, and with the defaults of omitted fields. */
export type StoredInput = { raw: JsonObject; filled: JsonObject };

export type Attempts = {
  /** Reads an attempt from the cache, else from the store. */
  find(seq: number, n: number): Promise<Attempt | undefined>;
  /** Reads the expected delivery of a generation from the cache, else from the store; null if deliveries are not checked. */
  orderedOf(seq: number): Promise<Ordered | null>;
  /** An attempt that begins now, with its input; undefined if this process did not admit its generation lately. */
  begin(seq: number, n: number, begin: NonNullable<AttemptChange["begin"]>): { attempt: Attempt; input: StoredInput } | undefined;
  /** Reads an input from the cache, else from the store. */
  inputOf(seq: number): Promise<StoredInput | undefined>;
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
/** Minimum number of cached inputs: more than begin at a time. Longer bodies are read again. */
const INPUTS = 512;
const LONGEST_BODY = 16 * 1024;

export const createAttemptCache = (reads: Pick<StoreReads, "attempt" | "inputOf" | "orderedOf">): Attempts => {
  const known = new ClockCache<string, Attempt>(MAX_ATTEMPTS);
  /** Expected deliveries of open generations that this process accepted. Most generations of a model share one value. */
  const orders = new ChunkedMap<Ordered | null>();
  const inputs = new ClockCache<number, Pick<AdmitGeneration, "body" | "added" | "requestId">>(INPUTS);
  const recentInput = (seq: number): StoredInput | undefined => {
    const kept = inputs.get(seq);
    if (kept === undefined) return undefined;
    const { input: raw } = JSON.parse(kept.body) as { input: JsonObject };
    return { raw, filled: { ...raw, ...kept.added } };
  };
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
    begin: (seq, n, begin) => {
      const input = recentInput(seq);
      const requestId = inputs.get(seq)?.requestId;
      return input && requestId !== undefined ? { attempt: begunAttempt(seq, n, requestId, begin), input } : undefined;
    },
    inputOf: async (seq) => recentInput(seq) ?? reads.inputOf(seq),
    admitted: ({ seq, ordered = null, body, added, requestId }) => {
      orders.set(seq, ordered);
      if (body.length <= LONGEST_BODY) inputs.set(seq, { body, added, requestId });
    },
    stepped: ({ seq, atMs, attemptChanges, settlement }, requestId) => {
      for (const change of attemptChanges) apply(seq, change, atMs, requestId);
      // The settlement changes attempts itself, and they are hardly read afterwards.
      if (settlement) {
        for (const { n } of attemptChanges) known.delete(keyOf(seq, n));
        orders.delete(seq);
        inputs.delete(seq);
      }
      if (settlement?.kind === "capture") known.delete(keyOf(seq, settlement.n));
    },
    forget: (seq, n) => known.delete(keyOf(seq, n)),
    forgetAll: (seq) => {
      inputs.delete(seq);
      for (const key of known.keys()) if (key.startsWith(keyOf(seq, ""))) known.delete(key);
    },
  };
};
