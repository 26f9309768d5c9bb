// Asking providers: polls of accepted jobs, look-ups of lost submissions, and the long watch over what was given up.
import { type RouteVerdict, verdictOf } from "../../actors/circuit-breaker/machine.ts";
import type { Failure, Json, ResultFile } from "../domain/types.ts";
import { StorageRefused } from "../files/port.ts";
import type { PollOutcome, Work } from "../providers/port.ts";
import { type EffectsDeps, namesOf, readAttempt, readWork, STORAGE_PAUSE_MS, spreadMs, toPollable } from "./deps.ts";
import { FIND_FIRST_MS, FIND_LONGEST_MS, type Finding } from "./job-lookup.ts";
import type { Task, TaskRunner, Turn } from "./task-runner.ts";

/** A provider that says "no such job" is believed after this many times in a row, from the first such answer to a question at least this much later. */
const GONE_TIMES = 3;
const GONE_MS = 60_000;

/** What is remembered of a job between two polls: which turn is next, and how often in a row it was not known. */
type Polled = { turn: number; gone: number; goneSinceMs: number };
const newlyPolled = (): Polled => ({ turn: 0, gone: 0, goneSinceMs: 0 });

export const createPoll = (deps: EffectsDeps, tasks: TaskRunner, finding: Finding) => {
  /** The pause before the next poll of a job. `slower` stretches those of a watch. */
  const pauseBefore = (work: Work, polled: Polled, slower: number): number => {
    const [firstMs, longestMs] = deps.providers.traits(work.attempt.route.provider).pollEveryMs;
    const pauseMs = spreadMs(deps, firstMs * slower, longestMs * slower, polled.turn, 10);
    polled.turn += 1;
    return pauseMs;
  };

  /** What is in the answer is kept; null while the disk is full: it can be asked for again. */
  const keepInline = async ({ attempt }: Work, results: readonly ResultFile[]): Promise<ResultFile[] | null> => {
    try {
      return await deps.media.keepInline(attempt.ref, results);
    } catch (fault) {
      if (fault instanceof StorageRefused) return null;
      throw fault;
    }
  };

  /**
   * One poll. What was given up was judged then; that it fails now, cancelled by us as like as not, says nothing more about
   * its route. @returns the pause before the next, ms; null when there was something to tell.
   */
  const pollOnce = async (task: Task, work: Work, polled: Polled, slower: number): Promise<number | null> => {
    const { seq, n } = task;
    const { routeId, provider } = work.attempt.route;
    const blame = (verdict: RouteVerdict | null, why: Failure, isOfAccount = false) => {
      if (verdict && slower === 1) deps.judge(routeId, verdict, why, isOfAccount);
    };
    const askedAtMs = deps.clock.nowMs();
    const seen: PollOutcome = await deps.providers.poll(work, task.signal);
    const atMs = deps.clock.nowMs();
    if (task.signal.aborted || isOver(work, atMs)) return null;
    if (seen.kind !== "gone") polled.gone = 0;
    let laterMs = 0;
    switch (seen.kind) {
      case "announced": {
        const results = await keepInline(work, seen.results);
        if (results === null) {
          laterMs = STORAGE_PAUSE_MS / deps.pace;
          break;
        }
        deps.report(seq, { type: "announced", n, results, atMs });
        return null;
      }
      case "failed": {
        // Done, but without a file that could be read: its result is confirmed before it counts as a failure.
        if (seen.failure.class === "result_unreadable") {
          deps.report(seq, { type: "announced", n, results: [], atMs });
          return null;
        }
        blame(verdictOf(seen.failure.class), seen.failure);
        deps.report(seq, { type: "jobFailed", n, failure: seen.failure, atMs });
        return null;
      }
      case "gone":
        polled.gone += 1;
        if (polled.gone === 1) polled.goneSinceMs = atMs;
        // When it was asked, not when the answer was read: a process that stood still in between reads an old answer late.
        if (polled.gone >= GONE_TIMES && askedAtMs - polled.goneSinceMs >= GONE_MS / deps.pace) {
          const failure: Failure = { class: "gone", detail: "the provider no longer knows the job" };
          blame("failed", failure);
          deps.report(seq, { type: "jobFailed", n, failure, atMs });
          return null;
        }
        break;
      case "unclear":
        deps.log("unrecognized provider response", { ...namesOf(work.attempt), provider, detail: seen.detail });
        if (seen.fault) blame("faulty", { class: seen.fault, detail: seen.detail }, seen.isOfAccount);
        laterMs = seen.retryAfterMs ?? 0;
        break;
      case "pending":
      case "ask-result":
        break;
    }
    return laterMs + pauseBefore(work, polled, slower);
  };

  /** Asks about what was given up until there is something to tell. */
  const pollUntilKnown = async (task: Task, work: Work, slower: number): Promise<void> => {
    const polled = newlyPolled();
    let pauseMs: number | null = pauseBefore(work, polled, slower);
    while (pauseMs !== null) {
      await task.pause(pauseMs);
      pauseMs = await pollOnce(task, work, polled, slower);
    }
  };

  const isOver = (work: Work, nowMs: number) => work.attempt.watchUntilMs !== null && nowMs >= work.attempt.watchUntilMs;

  /** Looks for a job whose acceptance was never answered, until it is found, proved absent, or past finding. */
  const confirm = async (task: Task): Promise<void> => {
    const { seq, n } = task;
    const work = await readWork(deps, seq, n);
    const traits = deps.providers.traits(work.attempt.route.provider);
    const seen = await finding.lookUp(task, work);
    if (seen === null) return;
    const atMs = deps.clock.nowMs();
    if (seen.kind === "found") return deps.report(seq, { type: "accepted", n, job: seen.job, atMs });
    if (seen.kind === "absent") return deps.report(seq, { type: "provedAbsent", n, atMs });
    // Nobody can be asked; but who made a job of it may still tell. Where nobody tells either, the wait is what is left: it is the operator's.
    const isToldOnly = traits.toldWithinMs !== undefined;
    const boundMs = deps.confirmMs?.(work.attempt.route.routeId, isToldOnly);
    const toldMs = Math.min(traits.toldWithinMs ?? boundMs ?? 0, boundMs ?? Number.POSITIVE_INFINITY);
    const toldUntilMs = (work.attempt.sentAtMs ?? atMs) + toldMs / deps.pace;
    while (traits.recovery === "none" && deps.clock.nowMs() < toldUntilMs) await task.pause(toldUntilMs - deps.clock.nowMs());
    deps.report(seq, { type: "meansExhausted", n, atMs: deps.clock.nowMs() });
  };

  /**
   * Watches an attempt that was given up: first for its job (a late answer, or a look-up), then for its result, until
   * nobody can be asked any more.
   */
  const watch = async (task: Task): Promise<void> => {
    const { seq, n } = task;
    for (let turn = 0; ; turn += 1) {
      const work = await readWork(deps, seq, n);
      if (work.attempt.watchUntilMs === null) return;
      if (isOver(work, deps.clock.nowMs())) break;
      if (work.attempt.job) {
        await pollUntilKnown(task, toPollable(work.attempt), 3);
        if (task.signal.aborted || !isOver(work, deps.clock.nowMs())) return;
        break;
      }
      await task.pause(spreadMs(deps, FIND_FIRST_MS * 3, FIND_LONGEST_MS * 3, turn, 10));
      // Asking by way of a key is submitting again: it may buy the job that nobody wants any more.
      const { recovery } = deps.providers.traits(work.attempt.route.provider);
      if (recovery === "none" || recovery === "key") continue;
      // After the end the caller may send the same input again: a job with it is as like as not that one's, and is not to be stopped.
      const hasEnded = ((await deps.reads.generationBySeq(seq))?.completedAtMs ?? null) !== null;
      // On such a list nothing carries our mark.
      if (hasEnded && recovery === "list_match") continue;
      const seen = await finding.once(task, work, hasEnded ? "marked" : undefined);
      // The job goes to disk by way of the report and is read back from there.
      if (seen.kind === "found" && !task.signal.aborted)
        deps.report(seq, { type: "accepted", n, job: seen.job, atMs: deps.clock.nowMs() });
    }
    deps.report(seq, { type: "meansExhausted", n, atMs: deps.clock.nowMs() });
  };

  /** Thousands wait for their next poll: what they ask about is read anew each time, not held. */
  const poll: Turn<Polled> = async (task, polled) => {
    const work = toPollable(await readAttempt(deps, task.seq, task.n));
    return polled.turn === 0 ? pauseBefore(work, polled, 1) : pollOnce(task, work, polled, 1);
  };
  return {
    poll: (seq: number, n: number) => tasks.repeat(seq, n, "poll", newlyPolled(), poll),
    confirm: (seq: number, n: number) => tasks.run(seq, n, "confirm", confirm),
    watch: (seq: number, n: number) => tasks.run(seq, n, "watch", watch),
    /** A callback may name the job of a submission whose answer was lost. The provider is asked about it before that is believed. */
    told: (seq: number, n: number, body: Json) => {
      // While the answer to the submission may still come, it is that which says what the job is.
      if (!tasks.isRunning(seq, n, ["confirm", "watch"])) return;
      tasks.run(seq, n, "told", async (task) => {
        const attempt = await deps.reads.attempt(seq, n);
        if (attempt?.state !== "sending") return;
        const work = await readWork(deps, seq, n);
        const job = deps.providers.told(work, body);
        if (job === undefined) return;
        const seen = await deps.providers.poll(toPollable({ ...attempt, job }), task.signal);
        if (task.signal.aborted || seen.kind === "gone" || seen.kind === "unclear") return;
        const owner = await deps.reads.jobOwner(attempt.route.provider, job.jobId);
        if (!owner) deps.report(seq, { type: "accepted", n, job, atMs: deps.clock.nowMs() });
      });
    },
    /** A route whose jobs do not end within its time is failing, however politely it answers. */
    blame: (seq: number, n: number) =>
      tasks.run(seq, n, "blame", async () => {
        const { route } = await readAttempt(deps, seq, n);
        deps.judge(route.routeId, "failed");
      }),
    cancel: (seq: number, n: number) =>
      tasks.run(seq, n, "cancel", async (task) => {
        const attempt = await readAttempt(deps, seq, n);
        if (attempt.job) await deps.providers.cancel(toPollable(attempt), task.signal);
      }),
  };
};
