// Recovery at a start: spooled responses, open generations and watched attempts of a former process.
import type { GenerationEvent } from "../../actors/generation/types.ts";
import type { Supervisor } from "../../actors/supervisor/supervisor.ts";
import type { Takeover } from "../cluster/takeover.ts";
import type { Clock } from "../domain/clock.ts";
import type { Mutation, ResultOf } from "../domain/mutations.ts";
import type { ResultFile } from "../domain/types.ts";
import type { Effects } from "../effects/dispatcher.ts";
import type { LeftOutcome, PendingOutcomes } from "../effects/pending-outcomes.ts";
import { retryMs } from "../effects/task-runner.ts";
import { watchEnded } from "../generations/late-results.ts";
import type { Log } from "../logging/events.ts";
import type { StoreReads } from "../store/store.ts";

export type RecoveryDeps = {
  store: Pick<StoreReads, "jobOwner" | "generationBySeq" | "attempt" | "watchedAttempts">;
  post: <D extends Mutation>(mutation: D) => Promise<ResultOf<D>>;
  supervisor: Pick<Supervisor, "recover" | "resume" | "report" | "has">;
  inHand: Pick<PendingOutcomes, "open" | "passedOn"> | undefined;
  /** Stores a response for the owner of its generation. */
  passOn: Takeover["passOn"];
  /** Events that wait for the owner of a generation. */
  waiting: Takeover["waiting"];
  /** Moves inline results from this node's disk to storage that the owner can read. @throws StorageRefused */
  share: (results: readonly ResultFile[]) => Promise<ResultFile[]>;
  perform: Effects["perform"];
  clock: Clock;
  log: Log;
  /** Calls back at the end of this turn of the event loop. */
  soon: (then: () => void) => void;
  /** Called when everything is read: admission opens. */
  opened: () => void;
  isOver: () => boolean;
};

/** Called once at the start. */
export const createRecovery = (deps: RecoveryDeps) => {
  const { store, post, supervisor, inHand, perform, clock, log, soon, opened, isOver } = deps;
  /** Another node continues the generation, so the response stays on this disk until it is stored for that node. */
  const passOn = async (left: LeftOutcome, times = 1): Promise<void> => {
    const { seq, outcome } = left;
    try {
      // A rejection belongs to one sending and would be applied to the next one. The owner queries the provider itself.
      if (outcome.type === "announced") await deps.passOn(seq, { ...outcome, results: await deps.share(outcome.results) });
      else if (outcome.type !== "rejected") await deps.passOn(seq, outcome);
      inHand?.passedOn(left);
    } catch (fault) {
      // An unavailable store is reported by the store itself.
      if (!isOver()) clock.after(retryMs(times, fault), () => void passOn(left, times + 1));
    }
  };

  /** Whether a response still says something after the restore, in which an attempt that waits for it took it. */
  const stillCounts = async ({ seq, sentAtMs, outcome }: LeftOutcome, hasEnded: boolean): Promise<boolean> => {
    const isRejection = outcome.type === "rejected";
    // It would count for the next send.
    if (isRejection && !hasEnded) return false;
    if (!isRejection && hasEnded) return true;
    if (sentAtMs === null) return !isRejection;
    // The attempt may have been sent again or, in a database that was restored from a backup, for the first time.
    return (await store.attempt(seq, outcome.n))?.sentAtMs === sentAtMs;
  };
  /** What restored generations take first: the responses on this node's disk, then later events of other nodes. */
  const eventsFor = async (left: readonly LeftOutcome[]): Promise<ReadonlyMap<number, readonly GenerationEvent[]>> => {
    const events = new Map<number, GenerationEvent[]>();
    for (const { seq, outcome } of left)
      if (outcome.type !== "rejected") events.set(seq, [...(events.get(seq) ?? []), { ...outcome, atMs: clock.nowMs() }]);
    for (const [seq, later] of await deps.waiting()) events.set(seq, [...(events.get(seq) ?? []), ...later]);
    return events;
  };

  return async (): Promise<void> => {
    const startedAtMs = clock.nowMs();
    // The next process must know that this one lived; a full disk must not delay recovery.
    void post({ mutation: "beat", atMs: startedAtMs }).catch(() => undefined);
    const left = (await inHand?.open(store)) ?? [];
    const found = await supervisor.recover(undefined, await eventsFor(left));
    for (const one of left) {
      const { seq, outcome } = one;
      const record = await store.generationBySeq(seq);
      if (record === undefined) continue;
      const hasEnded = record.completedAtMs !== null;
      if (!hasEnded && !supervisor.has(seq)) void passOn(one);
      else if (await stillCounts(one, hasEnded)) supervisor.report(seq, { ...outcome, atMs: clock.nowMs() });
    }
    opened();
    log("recovery finished", { count: found, dur_ms: clock.nowMs() - startedAtMs });
    supervisor.resume();
    watchEnded({ reads: store, soon, isOver, perform }).catch((fault: unknown) =>
      log("late result watch failed", { reason: fault instanceof Error ? fault.message : String(fault) }),
    );
  };
};
