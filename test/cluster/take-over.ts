// Judges takeovers by the records of the database: within two leases, if another node and the database were up all the time.
import type { Death, TakenOver } from "./watch.ts";

export type Span = { fromMs: number; toMs: number };
/** A time in which a process was healthy and unharmed. */
export type Life = Span & { pid: number };

export type TakeOvers = {
  faults: string[];
  /** Epochs whose generations were taken over, and the number of those generations. */
  owners: number;
  generations: number;
  /** Takeovers later than two leases, because no node could have done them in time. */
  excused: string[];
  /** The longest takeover in time, from the last renewal to the last ownership change. */
  longestMs: number;
};

const overlaps = (one: Span, other: Span) => one.fromMs < other.toMs && one.toMs > other.fromMs;

/**
 * Another node has to be up from the expiry of a lease to two leases after its last renewal.
 * @param lives of the processes, and `outages`: of the database in its own time (one machine, one clock).
 */
export const judgeTakeOvers = (
  {
    deaths,
    taken,
    lives,
    outages,
  }: { deaths: readonly Death[]; taken: readonly TakenOver[]; lives: readonly Life[]; outages: readonly Span[] },
  leaseMs: number,
): TakeOvers => {
  const verdict: TakeOvers = { faults: [], owners: 0, generations: 0, excused: [], longestMs: 0 };
  const byEpoch = new Map(deaths.map((death) => [death.epoch, death]));
  /** Lifetimes, cut at the end of their node. */
  const ends = new Map(deaths.map(({ pid, endedMs }) => [pid, endedMs]));
  const cut = lives.map((life) => ({ ...life, toMs: Math.min(life.toMs, ends.get(life.pid) ?? Number.POSITIVE_INFINITY) }));
  for (const { epoch, count, lastMs } of taken) {
    const death = byEpoch.get(epoch);
    if (!death) {
      verdict.faults.push(`${count} generations of epoch ${epoch} were taken over, and it never ended`);
      continue;
    }
    verdict.owners += 1;
    verdict.generations += count;
    const tookMs = lastMs - death.diedMs;
    const bound = { fromMs: death.diedMs + (death.isFenced ? leaseMs : 0), toMs: death.diedMs + 2 * leaseMs };
    if (tookMs <= 2 * leaseMs) {
      verdict.longestMs = Math.max(verdict.longestMs, tookMs);
      continue;
    }
    const isGuarded = cut.some(({ pid, fromMs, toMs }) => pid !== death.pid && fromMs <= bound.fromMs && toMs >= bound.toMs);
    const wasUnavailable = outages.some((span) => overlaps(span, { fromMs: death.diedMs, toMs: bound.toMs }));
    if (isGuarded && !wasUnavailable)
      verdict.faults.push(`epoch ${epoch}: the last of ${count} generations was taken over after ${tookMs} ms`);
    else
      verdict.excused.push(
        `epoch ${epoch}, ${tookMs} ms: ${wasUnavailable ? "the database was unavailable" : "no other node was up all the time"}`,
      );
  }
  return verdict;
};
