// Looks up jobs whose id is unknown: after a lost response, or after a restored backup.

import { ClockCache } from "../collections/clock-cache.ts";
import type { Job } from "../domain/types.ts";
import type { FindOutcome, Recovery, Work } from "../providers/port.ts";
import { type EffectsDeps, spreadMs } from "./deps.ts";
import type { Task } from "./task-runner.ts";

/** First and longest pause in milliseconds between lookups of a lost submission. */
export const FIND_FIRST_MS = 3_000;
export const FIND_LONGEST_MS = 30_000;
/** Difference in milliseconds between the service's and the machine's clock above which a list by time proves nothing. */
const CLOCK_SLACK_MS = 60_000;
/** Upper bound in milliseconds of the skew between nodes. NTP keeps it within milliseconds, and a larger skew is logged. */
const NODES_APART_MS = 300_000;

/** Result of a lookup. `exhausted`: the provider cannot be queried, or no longer. */
export type Found = { kind: "found"; job: Job } | { kind: "absent" } | { kind: "exhausted" };

export type Finding = {
  /** One lookup; a job that belongs to another attempt does not count. */
  once(task: Task, work: Work, only?: "marked"): Promise<FindOutcome>;
  /** Looks up until the job is found, proved absent or unknowable; null if the task was stopped. */
  lookUp(task: Task, work: Work): Promise<Found | null>;
  /** Whether a request that this store does not know may have been sent for a generation. */
  mayHaveDuplicate(seq: number): boolean;
  /** Marks a generation as reclaimed: its earlier requests have the times of another clock. */
  takenUp(seq: number): void;
  /** Records that this node sends an attempt. */
  sent(seq: number, n: number): void;
  /** Records that the response to an attempt is given up now. */
  answerLost(seq: number, n: number): void;
  /** Drops the state of an ended generation. */
  ended(seq: number): void;
};
/** Time of the takeover, and the attempts that this node sent after it. */
type TakenUp = { sinceMs: number; sentHere: Set<number> };

/** Minimum number of remembered takeovers, which is more than are open at a time. */
const TAKEN_UP_AT_LEAST = 10_000;

export const createJobLookup = (deps: EffectsDeps): Finding => {
  const bornMs = deps.clock.nowMs();
  const { restored } = deps;
  const takenUp = new ClockCache<number, TakenUp>(TAKEN_UP_AT_LEAST);
  /** Since when this process has observed the request of an attempt, by its own clock. */
  const livedSinceMs = (seq: number, n: number): number => {
    const taken = takenUp.get(seq);
    return taken && !taken.sentHere.has(n) ? taken.sinceMs : bornMs;
  };
  /** Times at which the responses of attempts were given up, by generation. */
  const lostAtMs = new Map<number, Map<number, number>>();
  const isSentElsewhere = (seq: number, n: number): boolean => takenUp.get(seq)?.sentHere.has(n) === false;
  const mayHaveDuplicate = (seq: number): boolean => restored !== null && seq <= restored.upToSeq;
  /**
   * Earliest time at which the provider may have received a request of an attempt: normally its sending. For a generation of a
   * restored backup it is the time of the backup, because later requests are unknown here.
   */
  const sinceMs = (seq: number, n: number, stampedMs: number): number => {
    // A request of another node was sent before the takeover, whatever its clock showed.
    const sentAtMs = isSentElsewhere(seq, n) ? Math.min(stampedMs, livedSinceMs(seq, n)) : stampedMs;
    return restored !== null && mayHaveDuplicate(seq) ? Math.min(sentAtMs, restored.takenAtMs) : sentAtMs;
  };

  const ask = async (task: Task, work: Work, only?: "marked"): Promise<FindOutcome> => {
    const sentElsewhere = isSentElsewhere(task.seq, task.n);
    const found = await deps.providers.find({ ...work, sentElsewhere }, task.signal, only);
    if (found.kind !== "found") return found;
    const owner = await deps.reads.jobOwner(work.attempt.route.provider, found.job.jobId);
    if (!owner || (owner.seq === task.seq && owner.n === task.n)) return found;
    // Another attempt of the same generation has the job, so it is not an unknown one.
    if (owner.seq === task.seq && mayHaveDuplicate(task.seq)) return { kind: "absent" };
    return { kind: "unclear", detail: "the job found belongs to another attempt" };
  };

  /**
   * References that a job of a generation may carry. Attempt 2 of the service after the backup may be attempt 1 here, because
   * other routes are down or disabled.
   */
  const refsOf = async (seq: number, ref: string, recovery: Recovery): Promise<string[]> => {
    if (!mayHaveDuplicate(seq)) return [ref];
    const body = ref.slice(0, ref.lastIndexOf("-"));
    // Jobs found by their input share one reference, otherwise two attempts could claim the same job.
    if (recovery === "list_match") return [`${body}-1`];
    const most = Math.max(((await restored?.planOf(seq)) ?? []).length, Number(ref.slice(body.length + 1)));
    return Array.from({ length: most }, (_, at) => `${body}-${at + 1}`);
  };

  const once: Finding["once"] = async (task, work, only) => {
    const { attempt } = work;
    const { recovery } = deps.providers.traits(attempt.route.provider);
    // The provider may forget a key sooner than a skewed clock suggests; a later request would create another job.
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
    // The wall clock may have jumped between two processes and differs between nodes, so only observed time counts. A request
    // leaves after its journal entry, later still after a suspension, and the provider may accept it until its response is given
    // up.
    const lostMs = lostAtMs.get(task.seq)?.get(task.n) ?? sentAtMs;
    const settlesFromMs = Math.max(sentAtMs, lostMs, livedSinceMs(task.seq, task.n));
    const boundMs = (deps.confirmMs?.(work.attempt.route.routeId, false) ?? Number.POSITIVE_INFINITY) / deps.pace;
    let receivedAtMs = settlesFromMs;
    let absences = 0;
    // A lookup by key is a submission. For a request that this store never sent it would be the first one.
    const ownSentAtMs = work.attempt.sentAtMs ?? Number.POSITIVE_INFINITY;
    const isUnsent = restored !== null && mayHaveDuplicate(task.seq) && ownSentAtMs > restored.takenAtMs;
    const cannotLookUp = traits.recovery === "none" || (traits.recovery === "key" && isUnsent);
    for (let turn = 0; !cannotLookUp; turn += 1) {
      await task.pause(spreadMs(deps, FIND_FIRST_MS, FIND_LONGEST_MS, turn, 10));
      const requestedAtMs = deps.clock.nowMs();
      const seen = await once(task, work);
      const atMs = deps.clock.nowMs();
      if (task.signal.aborted) return null;
      if (seen.kind === "found") return { kind: "found", job: seen.job };
      // A list is requested by time. With a skewed clock, a missing job proves nothing.
      const isClockRight = Math.abs(deps.clock.aheadMs?.() ?? 0) < CLOCK_SLACK_MS;
      // A missing job proves absence only if the list had time to show it, and only twice in a row. The time counts until the
      // query was sent, because a suspended process reads an old response late.
      const hasSettled = requestedAtMs - settlesFromMs >= traits.findSettleMs / deps.pace;
      absences = seen.kind === "absent" && isClockRight && hasSettled ? absences + 1 : 0;
      if (absences >= 2) return { kind: "absent" };
      // A provider that does not answer lookups either is queried for a bounded time.
      if (seen.kind !== "unclear") receivedAtMs = atMs;
      else if (atMs - receivedAtMs >= boundMs) break;
      if (atMs - sentAtMs >= traits.findWindowMs) break;
    }
    return { kind: "exhausted" };
  };

  return {
    ...{ once, lookUp, mayHaveDuplicate },
    takenUp: (seq) => takenUp.set(seq, { sinceMs: deps.clock.nowMs(), sentHere: new Set() }),
    sent: (seq, n) => void takenUp.get(seq)?.sentHere.add(n),
    answerLost: (seq, n) => {
      const lost = lostAtMs.get(seq) ?? new Map<number, number>();
      lostAtMs.set(seq, lost.set(n, deps.clock.nowMs()));
    },
    ended: (seq) => void lostAtMs.delete(seq),
  };
};
