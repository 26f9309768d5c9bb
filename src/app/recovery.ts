// A start goes on with what a former process has left: its answers in hand, its generations, and the attempts that it still asked about.
import type { Supervisor } from "../../actors/supervisor/supervisor.ts";
import type { Sharing } from "../cluster/takeover.ts";
import type { Clock } from "../domain/clock.ts";
import type { ResultFile } from "../domain/types.ts";
import type { Effects } from "../effects/dispatcher.ts";
import type { PendingOutcomes } from "../effects/pending-outcomes.ts";
import { retryMs } from "../effects/task-runner.ts";
import type { Outcome } from "../files/outcome-spool.ts";
import { watchEnded } from "../generations/late-results.ts";
import type { Log } from "../logging/events.ts";
import type { Mutation, ResultOf } from "../store/mutations.ts";
import type { StoreReads } from "../store/store.ts";

export type RecoveryDeps = {
  store: Pick<StoreReads, "jobOwner" | "generationBySeq" | "watchedAttempts">;
  post: <D extends Mutation>(mutation: D) => Promise<ResultOf<D>>;
  supervisor: Pick<Supervisor, "recover" | "resume" | "report" | "has">;
  inHand: Pick<PendingOutcomes, "open" | "passedOn"> | undefined;
  /** Leaves an answer for the owner of its generation. */
  passOn: Sharing["passOn"];
  /** Brings what came inside an answer from this node's disk to where that owner finds it. @throws StorageRefused */
  share: (results: readonly ResultFile[]) => Promise<ResultFile[]>;
  perform: Effects["perform"];
  clock: Clock;
  log: Log;
  /** Calls back at the end of this turn of the event loop. */
  soon: (then: () => void) => void;
  /** Everything is read: submissions are taken from now on. */
  opened: () => void;
  isOver: () => boolean;
};

/** What is called once at the start. */
export const createRecovery = (deps: RecoveryDeps) => {
  const { store, post, supervisor, inHand, perform, clock, log, soon, opened, isOver } = deps;
  /** The generation went on at another node, or is about to: it stays on this one's disk until that can be told. */
  const passOn = async (seq: number, outcome: Outcome, times = 1): Promise<void> => {
    try {
      // A refusal is of one sending: told late, it would stand for the next one. Whoever owns the attempt asks for itself.
      if (outcome.type === "announced") await deps.passOn(seq, { ...outcome, results: await deps.share(outcome.results) });
      else if (outcome.type !== "rejected") await deps.passOn(seq, outcome);
      inHand?.passedOn(seq, outcome.n);
    } catch (fault) {
      // A store that is away says so itself.
      if (!isOver()) clock.after(retryMs(times, fault), () => void passOn(seq, outcome, times + 1));
    }
  };

  return async (): Promise<void> => {
    const startedAtMs = clock.nowMs();
    // The next process has to know that this one lived; a full disk must not hold up recovery.
    void post({ mutation: "beat", atMs: startedAtMs }).catch(() => undefined);
    const left = (await inHand?.open(store)) ?? [];
    const found = await supervisor.recover();
    for (const { seq, outcome } of left) {
      const record = await store.generationBySeq(seq);
      if (record === undefined) continue;
      const hasEnded = record.completedAtMs !== null;
      if (!hasEnded && !supervisor.has(seq)) void passOn(seq, outcome);
      // That of an attempt which waits for it was told with its generation, and means nothing a second time; that of one which was given up was
      // not. A refusal would count for the next sending.
      else if (hasEnded || outcome.type !== "rejected") supervisor.report(seq, { ...outcome, atMs: clock.nowMs() });
    }
    opened();
    log("recovery finished", { count: found, dur_ms: clock.nowMs() - startedAtMs });
    supervisor.resume();
    watchEnded({ reads: store, soon, isOver, perform }).catch((fault: unknown) =>
      log("late result watch failed", { reason: fault instanceof Error ? fault.message : String(fault) }),
    );
  };
};
