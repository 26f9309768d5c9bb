// Submit effect: takes a bulkhead slot, stores the request, then sends it.
import { verdictOf } from "../../actors/circuit-breaker/machine.ts";
import type { GenerationEvent } from "../../actors/generation/types.ts";
import type { Outcome } from "../files/outcome-spool.ts";
import { StorageRefused } from "../files/port.ts";
import { mayHaveFiles } from "../inputs/pinned-links.ts";
import type { SubmitOutcome, Work } from "../providers/port.ts";
import { DatabaseUnavailable } from "../store/errors.ts";
import { type EffectsDeps, readWork, STORAGE_PAUSE_MS } from "./deps.ts";
import type { DuplicateGuard } from "./duplicate-guard.ts";
import type { Finding } from "./job-lookup.ts";
import type { Pinning } from "./pin-inputs.ts";
import type { Task, TaskRunner } from "./task-runner.ts";

/** Retry interval while the store is unavailable. */
const UNAVAILABLE_PAUSE_MS = 500;

/** A bucket normally stores a file in less time. After this time, the response is also stored on this node's disk. */
const KEPT_HERE_AFTER_MS = 500;

/** A response that determines the outcome of the request. */
type Answered = Exclude<SubmitOutcome, { kind: "ambiguous" }>;
type Announced = Extract<Outcome, { type: "announced" }>;

type Begun = Extract<GenerationEvent, { type: "begun" }>;
type SlotTaken = Extract<GenerationEvent, { type: "slotTaken" }>;

/** Returns the two halves of a submission. The bulkhead slot is held from the first half until the end of the second. */
export const createSubmitAttempt = (
  deps: EffectsDeps,
  tasks: TaskRunner,
  { finding, duplicates, pinning }: { finding: Finding; duplicates: DuplicateGuard; pinning: Pinning },
) => {
  /** By generation and attempt. */
  const slots = new Map<number, Map<number, () => void>>();
  const giveBack = (seq: number, n: number) => {
    const ofAll = slots.get(seq);
    ofAll?.get(n)?.();
    ofAll?.delete(n);
    if (ofAll?.size === 0) slots.delete(seq);
  };
  const holdSlot = (seq: number, n: number, release: () => void) => {
    giveBack(seq, n);
    const ofAll = slots.get(seq) ?? new Map<number, () => void>();
    slots.set(seq, ofAll.set(n, release));
  };

  /**
   * Takes a slot and composes the request of an attempt that begins now, if nothing needs to be waited for: its input is in memory
   * and names no files, a slot is free, and no provider has to be asked for duplicates first.
   * @returns the event that follows at once; null: the effect of the attempt takes the slot
   */
  const prepare = (seq: number, { n, ref, spec, atMs }: Begun, priceCredits: number): SlotTaken | null => {
    const work = deps.newWork(seq, n, { ref, route: spec, priceCredits });
    if (!work || mayHaveFiles(work.input.raw) || duplicates.verdictOf(seq, n).kind !== "first") return null;
    const release = deps.providers.trySlot(spec.provider);
    if (release === null) return null;
    try {
      const request = deps.providers.compose(work);
      holdSlot(seq, n, release);
      return { type: "slotTaken", n, request, atMs };
    } catch {
      // The effect composes it again and reports the error.
      release();
      return null;
    }
  };

  const takeSlot = async (task: Task): Promise<void> => {
    const { seq, n, signal } = task;
    const work = await readWork(deps, seq, n);
    // Performed before a slot is taken and before the attempt's time begins, because it may take long and must not block other
    // attempts.
    await duplicates.judge(task, work);
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
    holdSlot(seq, n, release);
    deps.report(seq, { type: "slotTaken", n, request, ...(given ? { givenAs: given.as } : {}), atMs: deps.clock.nowMs() });
  };

  /**
   * Whether the job belongs to another attempt. A job belongs to exactly one attempt, so such a response does not identify the
   * job.
   */
  const isOwnedElsewhere = async (seq: number, n: number, work: Work, jobId: string): Promise<boolean> => {
    const owner = await deps.reads.jobOwner(work.attempt.route.provider, jobId);
    return owner !== undefined && !(owner.seq === seq && owner.n === n);
  };

  /** Holds a response as a pending outcome until its transition is in the store. */
  const holdOutcome = (seq: number, { attempt }: Work, outcome: Outcome) =>
    deps.inHand?.arrived(seq, { ref: attempt.ref, sentAtMs: attempt.sentAtMs, provider: attempt.route.provider, outcome });

  /**
   * Stores the files of a response and the response itself on this node's disk, so that the next start can continue with both.
   * @returns whether both are stored
   */
  const holdHere = async (seq: number, work: Work, announced: Announced): Promise<boolean> => {
    if (!deps.inHand) return false;
    try {
      const results = await deps.media.keepHere?.(work.attempt.ref, announced.results);
      if (results) holdOutcome(seq, work, { ...announced, results });
      return results !== undefined;
    } catch (fault) {
      if (!(fault instanceof StorageRefused)) throw fault;
      return false;
    }
  };

  /**
   * Stores inline files, which exist only in the response. While the bucket is unavailable or slow, they are on this node's disk;
   * if that is full, in memory.
   */
  const kept = async (task: Task, work: Work, announced: Announced): Promise<{ answer: Announced; isHeld: boolean }> => {
    let isHeld = false;
    const here = async () => {
      isHeld ||= await holdHere(task.seq, work, announced);
    };
    for (;;) {
      // The upload takes real time, so the timer does not use the service's clock.
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

  /** Returns the event of a response. The response is held, and its files are stored where every node can read them. */
  const eventOf = async (task: Task, work: Work, outcome: Answered): Promise<Outcome> => {
    const reported = { n: task.n, atMs: deps.clock.nowMs() };
    if (outcome.kind === "announced") {
      const { job, results } = outcome;
      const { answer, isHeld } = await kept(task, work, { type: "announced", ...reported, job, results: [...results] });
      if (!isHeld) holdOutcome(task.seq, work, answer);
      return answer;
    }
    const answer: Outcome =
      outcome.kind === "accepted"
        ? { type: "accepted", ...reported, job: outcome.job }
        : { type: "rejected", ...reported, failure: outcome.failure };
    holdOutcome(task.seq, work, answer);
    return answer;
  };

  /**
   * Retries a read while the store is unavailable, until it succeeds or the process ends. No received response is lost meanwhile.
   */
  const whenReached = async <T>(task: Task, read: () => Promise<T>): Promise<T> => {
    for (;;)
      try {
        return await read();
      } catch (fault) {
        if (!(fault instanceof DatabaseUnavailable)) throw fault;
        await task.pause(UNAVAILABLE_PAUSE_MS / deps.pace);
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
      const atOnce = duplicates.verdictOf(seq, n);
      if (atOnce.kind !== "first") {
        if (atOnce.kind === "found") deps.report(seq, { type: "accepted", n, job: atOnce.job, atMs: deps.clock.nowMs() });
        else lose("it may have been sent after the backup was taken");
        return;
      }
      // Last check before the socket opens. If the process was suspended after `sending` was stored, another node may have taken
      // over.
      await deps.sure?.();
      if (signal.aborted) return;
      const outcome = await deps.providers.submit(work, signal);
      // Cancelled by this process, which says nothing about the route. A restart finds the attempt in `sending`.
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
      // Cancelled by this process during a wait. A restart finds the attempt in `sending`.
      if (signal.aborted) return;
      // A defect of genrouter, with the request possibly sent. The attempt is confirmed like any lost response, and the defect is
      // logged.
      lose("the sending broke off");
      throw fault;
    } finally {
      giveBack(seq, n);
    }
  };

  return {
    prepare,
    takeSlot: (seq: number, n: number) => tasks.run(seq, n, "submit", takeSlot),
    send: (seq: number, n: number) => tasks.run(seq, n, "send", send),
    /** Frees the slot of an attempt that is not sent. */
    letGo: giveBack,
    /** Frees what a generation still holds that sends nothing any more. */
    freeSlots: (seq: number) => {
      for (const n of [...(slots.get(seq)?.keys() ?? [])]) giveBack(seq, n);
    },
  };
};
