// Poll effect: polls accepted jobs, confirms lost submissions, and watches attempts given up.
import { type RouteVerdict, verdictOf } from "../../actors/circuit-breaker/machine.ts";
import type { Failure, Json, ResultFile } from "../domain/types.ts";
import { StorageRefused } from "../files/port.ts";
import type { PollOutcome, Work } from "../providers/port.ts";
import type { Collecting } from "./collect.ts";
import { type EffectsDeps, jitteredMs, namesOf, readAttempt, readWork, STORAGE_PAUSE_MS, spreadMs, toPollable } from "./deps.ts";
import { FIND_FIRST_MS, FIND_LONGEST_MS, type Finding } from "./job-lookup.ts";
import { createQuickPolls, pollPauseMs } from "./poll-schedule.ts";
import type { Task, TaskRunner, TaskStep } from "./task-runner.ts";

/**
 * The response "no such job" counts after this many times in a row, if the last request is at least `GONE_MS` after the first
 * such response.
 */
const GONE_TIMES = 3;
const GONE_MS = 60_000;

/** Times of asking a provider to cancel a job, and the pause before each further one. */
const CANCEL_TIMES = 3;
const CANCEL_FIRST_MS = 2_000;
const CANCEL_LONGEST_MS = 30_000;

/**
 * State of a job between two polls: the next turn, and the consecutive responses that the job is not known. `cancel`: whether its
 * provider is asked to cancel it, and has confirmed that.
 */
type Polled = {
  turn: number;
  /** The last poll of this process; before the first one, the begin of its polling. */
  askedAtMs: number;
  gone: number;
  goneSinceMs: number;
  cancel: "no" | "requested" | "confirmed";
};
/** An end is not noted if the job was not polled for so many of its longest intervals, as after an outage. */
const UNWATCHED = 3;
/** Submissions are usually answered within this time. */
const USUAL_ANSWER_MS = 30_000;

export const createPoll = (
  deps: EffectsDeps,
  tasks: TaskRunner,
  { finding, collecting }: { finding: Finding; collecting: Pick<Collecting, "announce"> },
) => {
  const newlyPolled = (cancel: Polled["cancel"] = "no"): Polled => ({
    ...{ turn: 0, gone: 0, goneSinceMs: 0, cancel, askedAtMs: deps.clock.nowMs() },
  });
  const quickPolls = createQuickPolls(deps.clock, deps.pace);

  /**
   * Returns the pause before the next poll of a job. `slower` multiplies the pauses of a watch. `isUnclear`: the provider did not
   * answer the last poll, for example because there were too many, so the pause grows with each turn.
   */
  const pauseBefore = ({ attempt }: Work, polled: Polled, slower: number, isUnclear = false): number => {
    const { route, sentAtMs } = attempt;
    const { pollEveryMs, pollLeastMs } = deps.providers.traits(route.provider);
    const [firstMs, longestMs] = pollEveryMs;
    const { turn } = polled;
    polled.turn += 1;
    const grownMs = spreadMs(deps, firstMs * slower, longestMs * slower, turn, 10);
    const usual = slower === 1 ? deps.usualEnd(route.routeId) : undefined;
    if (!usual || sentAtMs === null) return grownMs;
    const ageMs = deps.clock.nowMs() - sentAtMs;
    const leastMs = Math.max(10, pollLeastMs / deps.pace);
    const pauseMs = pollPauseMs(ageMs, usual, { longestMs: longestMs / deps.pace, leastMs });
    // A job that this process has not polled yet may have ended long ago.
    const soonMs = turn === 0 && ageMs > usual.toMs ? Math.min(grownMs, pauseMs) : pauseMs;
    const spreadPauseMs = Math.max(leastMs, jitteredMs(deps, soonMs));
    if (isUnclear) return Math.max(grownMs, spreadPauseMs);
    if (spreadPauseMs >= grownMs) return spreadPauseMs;
    return quickPolls.pauseMs(route.provider, spreadPauseMs, grownMs, deps.nodes?.() ?? 1);
  };

  /** Learns when jobs of a route end. After a time without polls, the poll that shows the end says nothing about it. */
  const noteEnd = ({ attempt: { route, sentAtMs } }: Work, { turn, askedAtMs }: Polled, requestedAtMs: number) => {
    if (sentAtMs === null) return;
    const longestMs = (deps.providers.traits(route.provider).pollEveryMs[1] * UNWATCHED) / deps.pace;
    const isFirst = turn <= 1;
    const wasPolled = requestedAtMs - askedAtMs <= longestMs && (!isFirst || askedAtMs - sentAtMs <= USUAL_ANSWER_MS);
    if (wasPolled && requestedAtMs >= sentAtMs) deps.noticed(route.routeId, requestedAtMs - sentAtMs);
  };

  /** Stores inline files. Resolves to null if the storage refuses them, because the job can be polled again. */
  const keepInline = async ({ attempt }: Work, results: readonly ResultFile[]): Promise<ResultFile[] | null> => {
    try {
      return await deps.media.keepInline(attempt.ref, results);
    } catch (fault) {
      if (fault instanceof StorageRefused) return null;
      throw fault;
    }
  };

  /** Some providers forget a job that they have cancelled. */
  const isGone = ({ gone, goneSinceMs, cancel }: Polled, requestedAtMs: number): boolean =>
    cancel === "confirmed" || (gone >= GONE_TIMES && requestedAtMs - goneSinceMs >= GONE_MS / deps.pace);

  /**
   * Performs one poll. An attempt that was given up was judged at that time; its later failure, like that of a job that the client
   * cancels, may be due to the cancellation and does not count against the route.
   * @returns the pause before the next poll, ms; null if an event was reported or the poll is over
   */
  const pollOnce = async (task: Task, work: Work, polled: Polled, slower: number): Promise<number | null> => {
    const { seq, n } = task;
    const { routeId, provider } = work.attempt.route;
    const blame = (verdict: RouteVerdict | null, why: Failure, isOfAccount = false) => {
      if (verdict && slower === 1 && polled.cancel === "no") deps.judge(routeId, verdict, why, isOfAccount);
    };
    const requestedAtMs = deps.clock.nowMs();
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
        // The late result of an attempt that was given up is stored at once, because only its row can bring it back.
        if (slower > 1) {
          deps.report(seq, { type: "announced", n, results, atMs });
          return null;
        }
        noteEnd(work, polled, requestedAtMs);
        await collecting.announce(task, work.attempt, results);
        return null;
      }
      case "failed": {
        // The job completed without a readable file. The result is confirmed before it counts as a failure.
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
        // Measured at the request, because a suspended process reads an old response late.
        if (isGone(polled, requestedAtMs)) {
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
        polled.askedAtMs = requestedAtMs;
        return Math.max(seen.retryAfterMs ?? 0, pauseBefore(work, polled, slower));
      case "ask-result":
        break;
    }
    polled.askedAtMs = requestedAtMs;
    return laterMs + pauseBefore(work, polled, slower, seen.kind === "unclear");
  };

  /** Polls a watched attempt until an event is reported. */
  const pollUntilKnown = async (task: Task, work: Work, slower: number): Promise<void> => {
    const polled = newlyPolled();
    let pauseMs: number | null = pauseBefore(work, polled, slower);
    while (pauseMs !== null) {
      await task.pause(pauseMs);
      pauseMs = await pollOnce(task, work, polled, slower);
    }
  };

  const isOver = (work: Work, nowMs: number) => work.attempt.watchUntilMs !== null && nowMs >= work.attempt.watchUntilMs;

  /** Looks up a job whose submission was not answered, until it is found, proved absent, or the lookup is exhausted. */
  const confirm = async (task: Task, isCancelRequested: boolean): Promise<void> => {
    const { seq, n } = task;
    const work = await readWork(deps, seq, n);
    const traits = deps.providers.traits(work.attempt.route.provider);
    // A lookup by key is a resend, which could purchase a job that is no longer wanted.
    if (isCancelRequested && traits.recovery === "key")
      return deps.report(seq, { type: "meansExhausted", n, atMs: deps.clock.nowMs() });
    const seen = await finding.lookUp(task, work);
    if (seen === null) return;
    const atMs = deps.clock.nowMs();
    if (seen.kind === "found") return deps.report(seq, { type: "accepted", n, job: seen.job, atMs });
    if (seen.kind === "absent") return deps.report(seq, { type: "provedAbsent", n, atMs });
    // The provider cannot be queried, but its callback may still name the job. If it sends no callbacks either, the
    // attempt waits for the operator's decision.
    const isCallbackOnly = traits.callbackWaitMs !== undefined;
    const boundMs = deps.confirmMs?.(work.attempt.route.routeId, isCallbackOnly);
    const reportedMs = Math.min(traits.callbackWaitMs ?? boundMs ?? 0, boundMs ?? Number.POSITIVE_INFINITY);
    const notifiedUntilMs = (work.attempt.sentAtMs ?? atMs) + reportedMs / deps.pace;
    while (traits.recovery === "none" && deps.clock.nowMs() < notifiedUntilMs)
      await task.pause(notifiedUntilMs - deps.clock.nowMs());
    deps.report(seq, { type: "meansExhausted", n, atMs: deps.clock.nowMs() });
  };

  /**
   * Watches an attempt that was given up: first for its job (late response or lookup), then for its result, until the watch ends.
   */
  const watch = async (task: Task): Promise<void> => {
    const { seq, n } = task;
    for (let round = 0; ; round += 1) {
      const work = await readWork(deps, seq, n);
      if (work.attempt.watchUntilMs === null) return;
      if (isOver(work, deps.clock.nowMs())) break;
      if (work.attempt.job) {
        await pollUntilKnown(task, toPollable(work.attempt), 3);
        if (task.signal.aborted || !isOver(work, deps.clock.nowMs())) return;
        break;
      }
      await task.pause(spreadMs(deps, FIND_FIRST_MS * 3, FIND_LONGEST_MS * 3, round, 10));
      // A lookup by key is a resend, which could purchase a job that is no longer needed.
      const { recovery } = deps.providers.traits(work.attempt.route.provider);
      if (recovery === "none" || recovery === "key") continue;
      // After the end, the customer may submit the same input again. A job with that input probably belongs to the new generation
      // and must not be cancelled.
      const hasEnded = ((await deps.reads.generationBySeq(seq))?.completedAtMs ?? null) !== null;
      // Jobs in such a list carry no reference of genrouter.
      if (hasEnded && recovery === "list_match") continue;
      const seen = await finding.once(task, work, hasEnded ? "marked" : undefined);
      // The reported event stores the job, and the next turn reads it from the store.
      if (seen.kind === "found" && !task.signal.aborted)
        deps.report(seq, { type: "accepted", n, job: seen.job, atMs: deps.clock.nowMs() });
    }
    deps.report(seq, { type: "meansExhausted", n, atMs: deps.clock.nowMs() });
  };

  /** Thousands of jobs wait for their next poll, so each poll reads its attempt again instead of holding it in memory. */
  const poll: TaskStep<Polled> = async (task, polled) => {
    const work = toPollable(await readAttempt(deps, task.seq, task.n));
    // Its result is stored, and being downloaded.
    if (work.attempt.results !== null) return null;
    return polled.turn === 0 ? pauseBefore(work, polled, 1) : pollOnce(task, work, polled, 1);
  };
  const cancelOnce = async (task: Task): Promise<boolean> => {
    const attempt = await readAttempt(deps, task.seq, task.n);
    return attempt.job !== null && (await deps.providers.cancel(toPollable(attempt), task.signal));
  };
  /** The job of the current attempt is polled after a confirmation, because only a poll says how it ended. */
  const cancelCurrent = async (task: Task, polled: Polled): Promise<void> => {
    for (let round = 0; round < CANCEL_TIMES; round += 1) {
      if (round > 0) await task.pause(spreadMs(deps, CANCEL_FIRST_MS, CANCEL_LONGEST_MS, round, 1));
      if (await cancelOnce(task)) {
        polled.cancel = "confirmed";
        return tasks.hurry(task.seq, task.n);
      }
    }
  };

  return {
    poll: (seq: number, n: number) => tasks.repeat(seq, n, "poll", newlyPolled(), poll),
    /** Polls the job, and asks its provider to cancel it. It may still deliver. */
    pollCancelled: (seq: number, n: number) => {
      tasks.letGo(seq, n, ["send"]);
      const polled = newlyPolled("requested");
      tasks.repeat(seq, n, "poll", polled, poll);
      tasks.run(seq, n, "cancel", (task) => cancelCurrent(task, polled));
    },
    confirm: (seq: number, n: number) => tasks.run(seq, n, "confirm", (task) => confirm(task, false)),
    /** Looks for the job without buying one. */
    confirmCancelled: (seq: number, n: number) => {
      tasks.letGo(seq, n, ["send"]);
      tasks.run(seq, n, "confirm", (task) => confirm(task, true));
    },
    watch: (seq: number, n: number) => tasks.run(seq, n, "watch", watch),
    /**
     * A callback can name the job of a submission whose response was lost. The job is accepted only after a poll of the provider
     * confirms it.
     */
    onReport: (seq: number, n: number, body: Json) => {
      // While the response to the submission may still arrive, that response determines the job.
      if (!tasks.isRunning(seq, n, ["confirm", "watch"])) return;
      tasks.run(seq, n, "callback", async (task) => {
        const attempt = await deps.reads.attempt(seq, n);
        if (attempt?.state !== "sending") return;
        const work = await readWork(deps, seq, n);
        const job = deps.providers.jobInCallback(work, body);
        if (job === undefined) return;
        const seen = await deps.providers.poll(toPollable({ ...attempt, job }), task.signal);
        if (task.signal.aborted || seen.kind === "gone" || seen.kind === "unclear") return;
        const owner = await deps.reads.jobOwner(attempt.route.provider, job.jobId);
        if (!owner) deps.report(seq, { type: "accepted", n, job, atMs: deps.clock.nowMs() });
      });
    },
    /** Counts a failure of the route whose job did not end within its time, even if polls are answered normally. */
    blame: (seq: number, n: number) =>
      tasks.run(seq, n, "blame", async () => {
        const { route } = await readAttempt(deps, seq, n);
        deps.judge(route.routeId, "failed");
      }),
    cancel: (seq: number, n: number) =>
      tasks.run(seq, n, "cancel", async (task) => {
        await cancelOnce(task);
      }),
  };
};
