// Dispatcher: performs effects after the commit of their transition; outcomes return as events.
import type { Effect, GenerationEvent } from "../../actors/generation/types.ts";
import type { Credits, Json } from "../domain/types.ts";
import type { EventName } from "../logging/events.ts";
import { DatabaseUnavailable } from "../store/errors.ts";
import { createCollect } from "./collect.ts";
import type { EffectsDeps } from "./deps.ts";
import { createDuplicateGuard } from "./duplicate-guard.ts";
import { createJobLookup } from "./job-lookup.ts";
import { createPinInputs } from "./pin-inputs.ts";
import { createPoll } from "./poll.ts";
import { createSubmitAttempt } from "./submit.ts";
import { createTaskRunner, type TaskKind } from "./task-runner.ts";

type Begun = Extract<GenerationEvent, { type: "begun" }>;

export type Effects = {
  perform(seq: number, ask: Effect): void;
  /** Takes the slot of an attempt that begins now, if one is free and its request can be composed at once; null otherwise. */
  prepare(seq: number, begun: Begun, priceCredits: Credits): GenerationEvent | null;
  /** Frees a slot that `prepare` took for an attempt that did not begin. */
  freeSlot(seq: number, n: number): void;
  /** Whether the provider of an attempt is polled, now or later. */
  isAsking(seq: number, n: number): boolean;
  /** Polls an attempt now, after a callback of its provider. @param body of the callback */
  hint(seq: number, n: number, body: Json | undefined): void;
  /** Marks a generation as reclaimed from another node. */
  takenUp(seq: number): void;
  /** Frees the slots of a generation whose transition the store refused. */
  parked(seq: number): void;
  /** Stops work for a generation that has ended. */
  ended(seq: number): void;
  /** Number of attempts with pending work. */
  size(): number;
  /** Stops all work and waits for its end. */
  stop(): Promise<void>;
};

/** The log event of a failed task, by its kind. */
const FAILED = {
  pin: "input pinning failed",
  submit: "submission start failed",
  send: "submission send failed",
  confirm: "submission confirmation failed",
  poll: "provider poll failed",
  wake: "wait timer failed",
  collect: "result download failed",
  storage: "storage wait failed",
  watch: "late result poll failed",
  cancel: "job cancellation failed",
  blame: "route failure report failed",
  callback: "callback processing failed",
} as const satisfies Record<TaskKind, EventName>;

export const createDispatcher = (deps: EffectsDeps): Effects => {
  const tasks = createTaskRunner(deps.clock, (seq, n, kind, fault) => {
    // An unavailable database is reported once by the store itself.
    if (fault instanceof DatabaseUnavailable) return;
    const reason = fault instanceof Error ? fault.message : String(fault);
    const fields = { generation_seq: seq, attempt: n, reason };
    deps.reads.generationBySeq(seq).then(
      (record) => deps.log(FAILED[kind], { ...(record ? { generation_id: record.id } : {}), ...fields }),
      () => deps.log(FAILED[kind], fields),
    );
  });
  const finding = createJobLookup(deps);
  const pinning = createPinInputs(deps, tasks);
  const submitting = createSubmitAttempt(deps, tasks, { finding, duplicates: createDuplicateGuard(deps, finding), pinning });
  const collecting = createCollect(deps, tasks);
  const polling = createPoll(deps, tasks, { finding, collecting });
  return {
    perform: (seq, ask) => {
      switch (ask.type) {
        case "effect.pin":
          return pinning.pin(seq);
        case "effect.submit":
          return submitting.takeSlot(seq, ask.n);
        case "effect.send":
          finding.sent(seq, ask.n);
          return submitting.send(seq, ask.n);
        case "effect.confirm":
          return ask.cancelRequested ? polling.confirmCancelled(seq, ask.n) : polling.confirm(seq, ask.n);
        case "effect.poll":
          return ask.cancelRequested ? polling.pollCancelled(seq, ask.n) : polling.poll(seq, ask.n);
        case "effect.wake":
          return tasks.run(seq, ask.n, "wake", async (task) => {
            await task.pause(Math.max(0, ask.atMs - deps.clock.nowMs()));
            deps.report(seq, { type: "woken", n: ask.n, atMs: deps.clock.nowMs() });
          });
        case "effect.collect":
          return collecting.collect(seq, ask.n);
        case "effect.collectAgain":
          return collecting.collectAgain(seq, ask.n);
        case "effect.awaitStorage":
          return collecting.awaitStorage(seq, ask.n);
        case "effect.watch":
          // Work for the attempt as the current one is over, except the response to a submission that is in transit.
          tasks.letGo(seq, ask.n, ["send", "watch", "cancel"]);
          collecting.letGo(seq, ask.n);
          if (ask.outOfTime) polling.blame(seq, ask.n);
          return polling.watch(seq, ask.n);
        case "effect.cancel":
          return polling.cancel(seq, ask.n);
        case "effect.letGo":
          submitting.letGo(seq, ask.n);
          collecting.letGo(seq, ask.n);
          tasks.letGo(seq, ask.n, ["cancel"]);
          if (ask.outOfTime) polling.blame(seq, ask.n);
          return;
        case "effect.beginAttempt":
          return;
      }
    },
    prepare: submitting.prepare,
    freeSlot: submitting.letGo,
    isAsking: (seq, n) => tasks.isRunning(seq, n, ["poll", "confirm", "watch"]),
    hint: (seq, n, body) => {
      tasks.hurry(seq, n);
      if (body !== undefined) polling.onReport(seq, n, body);
    },
    takenUp: finding.takenUp,
    parked: submitting.freeSlots,
    ended: (seq) => {
      finding.ended(seq);
      pinning.ended(seq);
      submitting.freeSlots(seq);
      collecting.ended(seq);
    },
    size: tasks.size,
    stop: () => {
      collecting.stop();
      return tasks.stopAll();
    },
  };
};
