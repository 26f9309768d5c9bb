// Judges take-overs by what the database wrote down: within two lease times, when another node and the database were up all along.
import type { Death, TakenOver } from "./watch.ts";

export type Span = { fromMs: number; toMs: number };
/** A time in which a process was in order, as far as it was left alone. */
export type Life = Span & { pid: number };

export type TakeOvers = {
  faults: string[];
  /** Owners whose generations were taken over, and the generations. */
  owners: number;
  generations: number;
  /** Later than two leases, for the reason that nobody could. */
  excused: string[];
  /** The longest of those that were in time, from the last renewal to the last claim. */
  longestMs: number;
};

const overlaps = (one: Span, other: Span) => one.fromMs < other.toMs && one.toMs > other.fromMs;

/**
 * From an owner's lease's end to two leases after its last renewal somebody has to be there to take over.
 * @param lives of the processes, and `away`: when the database was not there, in its own time (one machine, one clock).
 */
export const judgeTakeOvers = (
  {
    deaths,
    taken,
    lives,
    away,
  }: { deaths: readonly Death[]; taken: readonly TakenOver[]; lives: readonly Life[]; away: readonly Span[] },
  leaseMs: number,
): TakeOvers => {
  const verdict: TakeOvers = { faults: [], owners: 0, generations: 0, excused: [], longestMs: 0 };
  const byEpoch = new Map(deaths.map((death) => [death.epoch, death]));
  /** Lives, none of which goes on after its owner's end. */
  const ends = new Map(deaths.map(({ pid, endedMs }) => [pid, endedMs]));
  const cut = lives.map((life) => ({ ...life, toMs: Math.min(life.toMs, ends.get(life.pid) ?? Number.POSITIVE_INFINITY) }));
  for (const { epoch, count, lastMs } of taken) {
    const death = byEpoch.get(epoch);
    if (!death) {
      verdict.faults.push(`${count} generations of owner ${epoch} were taken over, and it never ended`);
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
    const wasAway = away.some((span) => overlaps(span, { fromMs: death.diedMs, toMs: bound.toMs }));
    if (isGuarded && !wasAway)
      verdict.faults.push(`owner ${epoch}: the last of ${count} generations was taken over after ${tookMs} ms`);
    else
      verdict.excused.push(
        `owner ${epoch}, ${tookMs} ms: ${wasAway ? "the database was away" : "no other node was up all along"}`,
      );
  }
  return verdict;
};
