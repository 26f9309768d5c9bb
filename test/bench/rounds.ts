// Two sides of one bench measured in turns, A B B A, so that what else the machine does meets both alike.
import { type Spread, spreadOf } from "./bench.ts";
import type { Load, Plan, Stream } from "./generator.ts";
import { measure } from "./measure.ts";

/** A process that listens, and what it is asked. */
export type Side = { name: string; port: number; pids: readonly number[]; streams: readonly Stream[] };
export type Measured = Load & { cpuUs: number };
export type Rounds = { perSecond: Spread; cpuUs: Spread; p50: Spread[]; p99: Spread[]; share: Spread; all: Measured[] };

const roundsOf = (all: Measured[]): Rounds => {
  const streams = all[0]?.streams.map((_, at) => at) ?? [];
  const of = (pick: (one: Measured) => number) => spreadOf(all.map(pick));
  return {
    perSecond: of(({ perSecond }) => perSecond),
    cpuUs: of(({ cpuUs }) => cpuUs),
    share: of(({ share }) => share),
    p50: streams.map((at) => of((one) => one.streams[at]?.p50 ?? Number.NaN)),
    p99: streams.map((at) => of((one) => one.streams[at]?.p99 ?? Number.NaN)),
    all,
  };
};

export type RoundsPlan = Pick<Plan, "connections" | "rate"> & { rounds: number; forMs: number; tell: (line: string) => void };

/** At this share of its core the generator is the bottleneck; one that keeps a pace looks at the clock all the time. */
const FULL_SHARE = 0.9;

/** A side is warm when so many slices in a row took no less CPU time per request: its code has been compiled as far as it will be. */
const WARM_MS = 1_000;
const WARM_SLICES = 3;
const MOST_SLICES = 15;
const LESS = 0.97;
const warmUp = async (slice: () => Promise<Measured>): Promise<number> => {
  let least = Number.POSITIVE_INFINITY;
  let same = 0;
  let slices = 0;
  for (; slices < MOST_SLICES && same < WARM_SLICES; slices += 1) {
    const { cpuUs } = await slice();
    same = cpuUs < least * LESS ? 0 : same + 1;
    least = Math.min(least, cpuUs);
  }
  return slices;
};

/** @throws when a side answered anything but what it should: figures of wrong answers are none. */
export const playRounds = async <Name extends string>(
  sides: Readonly<Record<Name, Side>>,
  { rounds, forMs, connections, rate, tell }: RoundsPlan,
  isRight: (status: string) => boolean,
): Promise<Record<Name, Rounds>> => {
  const names = Object.keys(sides) as Name[];
  const all = Object.fromEntries(names.map((name) => [name, [] as Measured[]])) as Record<Name, Measured[]>;
  const once = (name: Name, warmMs: number, ms: number) => measure(sides[name], { connections, rate, warmMs, forMs: ms });
  for (const name of names) {
    const slices = await warmUp(() => once(name, 0, WARM_MS));
    tell(`${sides[name].name} is warm after ${slices} s`);
  }
  for (let round = 0; round < rounds; round += 1)
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const one = await once(name, forMs / 4, forMs);
      const wrong = Object.entries(one.statuses).find(([status]) => !isRight(status));
      if (wrong || one.broken > 0)
        throw new Error(
          `${sides[name].name}: ${wrong ? `${wrong[1]} answers of ${wrong[0]}` : `${one.broken} broken connections`}`,
        );
      if (rate === null && one.share >= FULL_SHARE)
        throw new Error(
          `${sides[name].name}: the load's core was ${(one.share * 100).toFixed(0)} % full, so it was measured and not the side`,
        );
      all[name].push(one);
      tell(`round ${round + 1} of ${rounds}: ${sides[name].name} ${Math.round(one.perSecond)} per second`);
    }
  return Object.fromEntries(names.map((name) => [name, roundsOf(all[name])])) as Record<Name, Rounds>;
};
