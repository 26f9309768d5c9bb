// Submitting an attempt: a connection of the provider's pool first, the journal next, the socket last.
import { verdictOf } from "../../actors/circuit-breaker/machine.ts";
import type { Outcome } from "../files/outcome-spool.ts";
import { StorageRefused } from "../files/port.ts";
import type { SubmitOutcome, Work } from "../providers/port.ts";
import { DatabaseUnavailable } from "../store/errors.ts";
import { type EffectsDeps, readWork, STORAGE_PAUSE_MS } from "./deps.ts";
import type { DuplicateGuard } from "./duplicate-guard.ts";
import type { Finding } from "./job-lookup.ts";
import type { Pinning } from "./pin-inputs.ts";
import type { Task, TaskRunner } from "./task-runner.ts";

/** While the store cannot be reached it is asked again so often. */
const AWAY_PAUSE_MS = 500;

/** A bucket takes a file in less; an answer that waits longer for it is kept on this node's disk meanwhile. */
const KEPT_HERE_AFTER_MS = 500;

/** An answer that says what became of the request. */
type Answered = Exclude<SubmitOutcome, { kind: "ambiguous" }>;
type Announced = Extract<Outcome, { type: "announced" }>;

/** The two halves of a submission; the slot is held from the first to the end of the second. */
export const createSubmitAttempt = (
  deps: EffectsDeps,
  tasks: TaskRunner,
  { finding, twins, pinning }: { finding: Finding; twins: DuplicateGuard; pinning: Pinning },
) => {
  const slots = new Map<string, () => void>();
  const giveBack = (seq: number, n: number) => {
    slots.get(`${seq}:${n}`)?.();
    slots.delete(`${seq}:${n}`);
  };

  const takeSlot = async (task: Task): Promise<void> => {
    const { seq, n, signal } = task;
    const work = await readWork(deps, seq, n);
    // Before a connection is taken and before its time begins: it may take long, and others are not to wait for it.
    await twins.judge(task, work);
    if (signal.aborted) return;
    const given = await pinning.give(task, work);
    if (given === null || signal.aborted) return;
    const release = await deps.providers.slot(work.attempt.route.provider, signal);
    if (signal.aborted) {
      release();
      return;
    }
    let request: string;
    try {
      request = deps.providers.compose({ ...work, ...(given ? { given: given.links() } : {}) });
    } catch (fault) {
      release();
      throw fault;
    }
    slots.set(`${seq}:${n}`, release);
    deps.report(seq, { type: "slotTaken", n, request, ...(given ? { givenAs: given.as } : {}), atMs: deps.clock.nowMs() });
  };

  /** A job belongs to one attempt; a provider that says otherwise has not said which job is ours. */
  const isOwnedElsewhere = async (seq: number, n: number, work: Work, jobId: string): Promise<boolean> => {
    const owner = await deps.reads.jobOwner(work.attempt.route.provider, jobId);
    return owner !== undefined && !(owner.seq === seq && owner.n === n);
  };

  /** An answer is in hand from here on, until its step is in the store. */
  const hold = (seq: number, { attempt }: Work, outcome: Outcome) =>
    deps.inHand?.arrived(seq, { ref: attempt.ref, provider: attempt.route.provider, outcome });

  /** @returns whether this node's disk has what is in an answer, and the answer, so that the next start goes on with both. */
  const holdHere = async (seq: number, work: Work, announced: Announced): Promise<boolean> => {
    if (!deps.inHand) return false;
    try {
      const results = await deps.media.keepHere?.(work.attempt.ref, announced.results);
      if (results) hold(seq, work, { ...announced, results });
      return results !== undefined;
    } catch (fault) {
      if (!(fault instanceof StorageRefused)) throw fault;
      return false;
    }
  };

  /**
   * What was made is in the answer and nowhere else: while the bucket is away, or takes its time, it is on this node's disk, and in memory while
   * that is full.
   */
  const kept = async (task: Task, work: Work, announced: Announced): Promise<{ answer: Announced; isHeld: boolean }> => {
    let isHeld = false;
    const here = async () => {
      isHeld ||= await holdHere(task.seq, work, announced);
    };
    for (;;) {
      // The upload takes real time, whatever the service's clock says.
      const late = setTimeout(() => void here().catch(() => undefined), KEPT_HERE_AFTER_MS);
      try {
        const results = await deps.media.keepInline(work.attempt.ref, announced.results);
        return { answer: { ...announced, results }, isHeld };
      } catch (fault) {
        if (!(fault instanceof StorageRefused)) throw fault;
        await here();
        await task.pause(STORAGE_PAUSE_MS / deps.pace);
      } finally {
        clearTimeout(late);
      }
    }
  };

  /** What an answer says, as the machine is told; it is in hand, and what is in it is where every node finds it. */
  const eventOf = async (task: Task, work: Work, outcome: Answered): Promise<Outcome> => {
    const told = { n: task.n, atMs: deps.clock.nowMs() };
    if (outcome.kind === "announced") {
      const { job, results } = outcome;
      const { answer, isHeld } = await kept(task, work, { type: "announced", ...told, job, results: [...results] });
      if (!isHeld) hold(task.seq, work, answer);
      return answer;
    }
    const answer: Outcome =
      outcome.kind === "accepted"
        ? { type: "accepted", ...told, job: outcome.job }
        : { type: "rejected", ...told, failure: outcome.failure };
    hold(task.seq, work, answer);
    return answer;
  };

  /** A store that is away for a while costs no answer that is in hand: what is asked of it waits until it is back, or the process ends. */
  const whenReached = async <T>(task: Task, read: () => Promise<T>): Promise<T> => {
    for (;;)
      try {
        return await read();
      } catch (fault) {
        if (!(fault instanceof DatabaseUnavailable)) throw fault;
        await task.pause(AWAY_PAUSE_MS / deps.pace);
      }
  };

  const send = async (task: Task): Promise<void> => {
    const { seq, n, signal } = task;
    const lose = (detail: string) => {
      finding.answerLost(seq, n);
      deps.report(seq, { type: "answerLost", n, detail, atMs: deps.clock.nowMs() });
    };
    try {
      const work = await whenReached(task, () => readWork(deps, seq, n));
      const { routeId } = work.attempt.route;
      const atOnce = twins.verdictOf(seq, n);
      if (atOnce.kind !== "first") {
        if (atOnce.kind === "found") deps.report(seq, { type: "accepted", n, job: atOnce.job, atMs: deps.clock.nowMs() });
        else lose("it may have been sent after the backup was taken");
        return;
      }
      // The last look before the socket: whoever stood still since the journal said `sending` may have been taken for dead.
      await deps.sure?.();
      if (signal.aborted) return;
      const outcome = await deps.providers.submit(work, signal);
      // Broken off by us: it says nothing about the route, and a restart finds the attempt `sending`.
      if (signal.aborted) return;
      if (outcome.kind === "ambiguous") {
        deps.judge(routeId, "unclear");
        lose(outcome.detail);
        return;
      }
      if (outcome.kind === "rejected") {
        const verdict = verdictOf(outcome.failure.class);
        if (verdict) deps.judge(routeId, verdict, outcome.failure, outcome.isOfAccount);
      }
      const answer = await eventOf(task, work, outcome);
      const jobId = answer.type === "rejected" ? undefined : answer.job?.jobId;
      if (jobId !== undefined && (await whenReached(task, () => isOwnedElsewhere(seq, n, work, jobId)))) {
        deps.inHand?.drop(seq, n);
        lose("the provider named a job of another attempt");
        return;
      }
      deps.report(seq, answer);
    } catch (fault) {
      // Broken off by us while it waited: a restart finds the attempt `sending`.
      if (signal.aborted) return;
      // A defect of ours, with the request perhaps out: confirmed like any lost answer, and told.
      lose("the sending broke off");
      throw fault;
    } finally {
      giveBack(seq, n);
    }
  };

  return {
    takeSlot: (seq: number, n: number) => tasks.run(seq, n, "submit", takeSlot),
    send: (seq: number, n: number) => tasks.run(seq, n, "send", send),
    /** A slot that was taken for an attempt that is not sent after all. */
    letGo: giveBack,
  };
};
