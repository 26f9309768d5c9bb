// Finding jobs that nobody told us of: a submission's whose answer was lost, or one that was sent after the backup that runs now was taken.

import { ClockCache } from "../collections/clock-cache.ts";
import type { Job } from "../domain/types.ts";
import type { FindOutcome, Recovery, Work } from "../providers/port.ts";
import { type EffectsDeps, spreadMs } from "./deps.ts";
import type { Task } from "./task-runner.ts";

/** Look-ups of a lost submission: first and longest pause. */
export const FIND_FIRST_MS = 3_000;
export const FIND_LONGEST_MS = 30_000;
/** Difference between the service's clock and the machine's above which a list asked for by time proves nothing. */
const CLOCK_SLACK_MS = 60_000;
/** Clocks of nodes beside each other differ by less: NTP keeps them within milliseconds, and what is more is told. */
const NODES_APART_MS = 300_000;

/** What came of asking. `exhausted`: nobody can be asked, or not any more. */
export type Found = { kind: "found"; job: Job } | { kind: "absent" } | { kind: "exhausted" };

export type Finding = {
  /** One look-up; a job that belongs to another attempt is not ours. */
  once(task: Task, work: Work, only?: "marked"): Promise<FindOutcome>;
  /** Asks until the job is found, proved absent, or past finding; null when the task was let go. */
  lookUp(task: Task, work: Work): Promise<Found | null>;
  /** Whether something that this store knows nothing of may have been sent for a generation. */
  mayHaveTwin(seq: number): boolean;
  /** From now on this node goes on with a generation of another: what was sent for it was stamped by another clock. */
  takenUp(seq: number): void;
  /** An attempt is sent by this node. */
  sent(seq: number, n: number): void;
  /** The answer to an attempt's request is given up, now. */
  answerLost(seq: number, n: number): void;
  /** The generation has ended: what is remembered of its attempts is let go. */
  ended(seq: number): void;
};
/** Taken up from another node: since when, and which of its attempts were sent here after that. */
type TakenUp = { sinceMs: number; sentHere: Set<number> };

/** Taken up and remembered: more than move at a time. */
const TAKEN_UP_AT_LEAST = 10_000;

export const createJobLookup = (deps: EffectsDeps): Finding => {
  const bornMs = deps.clock.nowMs();
  const { restored } = deps;
  const takenUp = new ClockCache<number, TakenUp>(TAKEN_UP_AT_LEAST);
  /** Since when this process lives through what may become of an attempt's request, by its own clock. */
  const livedSinceMs = (seq: number, n: number): number => {
    const taken = takenUp.get(seq);
    return taken && !taken.sentHere.has(n) ? taken.sinceMs : bornMs;
  };
  /** Attempts whose answer was lost, by generation: when it was given up. */
  const lostAtMs = new Map<number, Map<number, number>>();
  const isSentElsewhere = (seq: number, n: number): boolean => takenUp.get(seq)?.sentHere.has(n) === false;
  const mayHaveTwin = (seq: number): boolean => restored !== null && seq <= restored.upToSeq;
  /**
   * Since when a request of an attempt may be with its provider: from its sending on, as a rule. Of a generation that was on its way
   * when a backup was taken, and goes on in the restored copy of it, since the backup: what was sent after it nobody here knows of.
   */
  const sinceMs = (seq: number, n: number, stampedMs: number): number => {
    // What another node sent was sent before it was taken over, whatever that one's clock said.
    const sentAtMs = isSentElsewhere(seq, n) ? Math.min(stampedMs, livedSinceMs(seq, n)) : stampedMs;
    return restored !== null && mayHaveTwin(seq) ? Math.min(sentAtMs, restored.takenAtMs) : sentAtMs;
  };

  const ask = async (task: Task, work: Work, only?: "marked"): Promise<FindOutcome> => {
    const sentElsewhere = isSentElsewhere(task.seq, task.n);
    const found = await deps.providers.find({ ...work, sentElsewhere }, task.signal, only);
    if (found.kind !== "found") return found;
    const owner = await deps.reads.jobOwner(work.attempt.route.provider, found.job.jobId);
    if (!owner || (owner.seq === task.seq && owner.n === task.n)) return found;
    // Another attempt of the same generation has it here, too: it is no job that nobody knows of.
    if (owner.seq === task.seq && mayHaveTwin(task.seq)) return { kind: "absent" };
    return { kind: "unclear", detail: "the job found belongs to another attempt" };
  };

  /**
   * The references that a job of a generation may carry. What was attempt 2 to the service whose books are gone may be attempt 1 here: the
   * routes that are down or switched off are others.
   */
  const refsOf = async (seq: number, ref: string, recovery: Recovery): Promise<string[]> => {
    if (!mayHaveTwin(seq)) return [ref];
    const body = ref.slice(0, ref.lastIndexOf("-"));
    // Found by its input: one name for all, or two attempts would take it from each other.
    if (recovery === "list_match") return [`${body}-1`];
    const most = Math.max(((await restored?.planOf(seq)) ?? []).length, Number(ref.slice(body.length + 1)));
    return Array.from({ length: most }, (_, at) => `${body}-${at + 1}`);
  };

  const once: Finding["once"] = async (task, work, only) => {
    const { attempt } = work;
    const { recovery } = deps.providers.traits(attempt.route.provider);
    // A key may be forgotten sooner than a clock that is off would have it: sent again after that, it would be another job.
    const doubtMs = recovery === "key" && isSentElsewhere(task.seq, task.n) ? NODES_APART_MS : 0;
    const sentAtMs = sinceMs(task.seq, task.n, attempt.sentAtMs ?? deps.clock.nowMs()) - doubtMs;
    let seen: FindOutcome = { kind: "absent" };
    for (const ref of await refsOf(task.seq, attempt.ref, recovery)) {
      const found = await ask(task, { ...work, attempt: { ...attempt, ref, sentAtMs } }, only);
      if (found.kind === "found") return found;
      if (found.kind !== "absent") seen = found;
    }
    return seen;
  };

  const lookUp: Finding["lookUp"] = async (task, work) => {
    const traits = deps.providers.traits(work.attempt.route.provider);
    const sentAtMs = sinceMs(task.seq, task.n, work.attempt.sentAtMs ?? deps.clock.nowMs());
    // The wall clock may have jumped between two processes, and is another at another node: what this one did not live through does not
    // count as time gone by. And a request leaves after the journal says so, later still where the process stood still between, and its
    // provider may have taken it up to the moment in which its answer was given up.
    const lostMs = lostAtMs.get(task.seq)?.get(task.n) ?? sentAtMs;
    const settlesFromMs = Math.max(sentAtMs, lostMs, livedSinceMs(task.seq, task.n));
    const boundMs = (deps.confirmMs?.(work.attempt.route.routeId, false) ?? Number.POSITIVE_INFINITY) / deps.pace;
    let heardAtMs = settlesFromMs;
    let absences = 0;
    // Asking by way of a key is submitting: of what this store never sent it would be the first time.
    const ownSentAtMs = work.attempt.sentAtMs ?? Number.POSITIVE_INFINITY;
    const isUnsent = restored !== null && mayHaveTwin(task.seq) && ownSentAtMs > restored.takenAtMs;
    const cannotAsk = traits.recovery === "none" || (traits.recovery === "key" && isUnsent);
    for (let turn = 0; !cannotAsk; turn += 1) {
      await task.pause(spreadMs(deps, FIND_FIRST_MS, FIND_LONGEST_MS, turn, 10));
      const askedAtMs = deps.clock.nowMs();
      const seen = await once(task, work);
      const atMs = deps.clock.nowMs();
      if (task.signal.aborted) return null;
      if (seen.kind === "found") return { kind: "found", job: seen.job };
      // A list is asked for by time: with a clock that is off, "not in it" says nothing.
      const isClockRight = Math.abs(deps.clock.aheadMs?.() ?? 0) < CLOCK_SLACK_MS;
      // Absence proves something only when the list has had time to show the job, and says it twice then. It had until it was asked: a process
      // that stood still reads an old answer late.
      const hasSettled = askedAtMs - settlesFromMs >= traits.findSettleMs / deps.pace;
      absences = seen.kind === "absent" && isClockRight && hasSettled ? absences + 1 : 0;
      if (absences >= 2) return { kind: "absent" };
      // One that does not answer a question either is waited for so long and no longer.
      if (seen.kind !== "unclear") heardAtMs = atMs;
      else if (atMs - heardAtMs >= boundMs) break;
      if (atMs - sentAtMs >= traits.findWindowMs) break;
    }
    return { kind: "exhausted" };
  };

  return {
    ...{ once, lookUp, mayHaveTwin },
    takenUp: (seq) => takenUp.set(seq, { sinceMs: deps.clock.nowMs(), sentHere: new Set() }),
    sent: (seq, n) => void takenUp.get(seq)?.sentHere.add(n),
    answerLost: (seq, n) => {
      const lost = lostAtMs.get(seq) ?? new Map<number, number>();
      lostAtMs.set(seq, lost.set(n, deps.clock.nowMs()));
    },
    ended: (seq) => void lostAtMs.delete(seq),
  };
};
