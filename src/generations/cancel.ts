// Cancels a generation at the request of its client.
//
// The request is an event of the statechart. Until it is committed, nothing is answered.
import { cancelRequestedAtMs } from "../../actors/generation/snapshot.ts";
import { refuse } from "../domain/api-errors.ts";
import type { Clock } from "../domain/clock.ts";
import type { Decide } from "../domain/operator-decision.ts";
import type { Caller, GenerationRecord } from "../domain/types.ts";
import type { StoreReads } from "../store/store.ts";
import { findOwn } from "./find-own.ts";

/** `requestedAtMs`: since when a cancellation is pending; null after the end. */
export type Cancellation = { record: GenerationRecord; requestedAtMs: number | null };
export type Cancel = (id: string, caller: Pick<Caller, "accountId" | "keyId" | "isLimited">) => Promise<Cancellation>;

export type CancelDeps = {
  reads: Pick<StoreReads, "findGeneration" | "snapshotOf">;
  decide: Decide;
  /** Whether this process runs the generation, and a promise that resolves when it has applied its events. */
  supervisor: { has(seq: number): boolean; idle(seq: number): Promise<void> };
  /** Whether several nodes share the store. A request then reaches the owner even if this process ends. */
  isShared: boolean;
  clock: Clock;
};

/** Another node applies the request at its next scan of the inbox. */
const APPLIED_WITHIN_MS = 10_000;
const POLL_MS = 50;

const restoring = () => refuse("restarting", "The generation is being restored after a restart; send the same request again.");

/** Since when a cancellation is pending; null if none was requested, or after the end. */
export const pendingSinceMs = async (
  reads: Pick<StoreReads, "snapshotOf">,
  { seq, completedAtMs }: Pick<GenerationRecord, "seq" | "completedAtMs">,
): Promise<number | null> =>
  completedAtMs === null ? cancelRequestedAtMs((await reads.snapshotOf(seq))?.snapshot ?? null) : null;

/** Creates the function that cancels. It throws ApiError `not_found`, `already_ended` or `restarting`. */
export const createCancel = ({ reads, decide, supervisor, isShared, clock }: CancelDeps): Cancel => {
  /** The cancellation as stored: pending, or carried out; null if none was requested. */
  const stored = async (record: GenerationRecord): Promise<Cancellation | null> => {
    if (record.completedAtMs === null) {
      const requestedAtMs = await pendingSinceMs(reads, record);
      return requestedAtMs === null ? null : { record, requestedAtMs };
    }
    if (record.error?.code === "cancelled") return { record, requestedAtMs: null };
    return refuse("already_ended", `The generation has ended: it ${record.status}. Nothing can be cancelled.`);
  };

  return async (id, caller) => {
    const record = await findOwn(reads, id, caller);
    const { seq } = record;
    const earlier = await stored(record);
    if (earlier) return earlier;
    const decidedAtMs = clock.nowMs();
    await decide(seq, { type: "cancelRequested", by: caller.keyId, decidedAtMs });
    for (let waitedMs = 0; waitedMs < APPLIED_WITHIN_MS; waitedMs += POLL_MS) {
      await supervisor.idle(seq);
      const cancellation = await stored(await findOwn(reads, id, caller));
      if (cancellation) return cancellation;
      if (!isShared && !supervisor.has(seq)) return restoring();
      await new Promise<void>((resolve) => void clock.after(POLL_MS, resolve));
    }
    return isShared ? { record, requestedAtMs: decidedAtMs } : restoring();
  };
};
