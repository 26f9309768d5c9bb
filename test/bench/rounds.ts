// Two sides of one bench measured in turns, A B B A, or at the same time, so that what else the machine does meets both alike.
import { type Spread, spreadOf } from "./bench.ts";
import type { Load, Plan, Stream } from "./generator.ts";
import { WARM_SHARE } from "./machine.ts";
import { type Meter, startMeter } from "./measure.ts";

/** A process that listens, and what it is asked. */
export type Side = {
  name: string;
  /** Of several that answer for each other: connections go to each in turn. */
  port: number | readonly number[];
  pids: readonly number[];
  streams: readonly Stream[];
  /** What the service is held against, and all of whose time is CPU time: where the load cannot fill it, it counts with what that allows. */
  isYardstick?: boolean;
  /** Those of its processes that are a database. */
  databasePids?: () => readonly number[];
};
/** `databaseUs`: as much of the CPU time as was its database's; `compiled`: the share of the CPU time in which code was compiled. */
export type Measured = Load & { cpuUs: number; databaseUs: number; compiled: number };
export type Rounds = {
  perSecond: Spread;
  cpuUs: Spread;
  databaseUs: Spread;
  p50: Spread[];
  p99: Spread[];
  share: Spread;
  /** How often the side answered 202, from the first warm-up on. */
  accepted: number;
};
type Beside = { cpuUs: Spread; share: Spread };
/** What is told beside the figure that counts: CPU time per request, and how full the load's core was. */
export const beside = ({ ours, other }: { ours: Beside; other: Beside }) => ({
  cpuUs: { ours: ours.cpuUs.median, other: other.cpuUs.median },
  share: { ours: ours.share.median, other: other.share.median },
});

const roundsOf = (all: Measured[], accepted: number): Rounds => {
  const streams = all[0]?.streams.map((_, at) => at) ?? [];
  const of = (pick: (one: Measured) => number) => spreadOf(all.map(pick));
  return {
    perSecond: of(({ perSecond }) => perSecond),
    cpuUs: of(({ cpuUs }) => cpuUs),
    databaseUs: of(({ databaseUs }) => databaseUs),
    share: of(({ share }) => share),
    p50: streams.map((at) => of((one) => one.streams[at]?.p50 ?? Number.NaN)),
    p99: streams.map((at) => of((one) => one.streams[at]?.p99 ?? Number.NaN)),
    accepted,
  };
};

/** What is compared of rounds that several processes of a side played, one behind the other. */
export const joinedRounds = (parts: readonly Rounds[]): Pick<Rounds, "perSecond" | "cpuUs" | "share"> => {
  const joined = (name: "perSecond" | "cpuUs" | "share") => spreadOf(parts.flatMap((part) => part[name].each));
  return { perSecond: joined("perSecond"), cpuUs: joined("cpuUs"), share: joined("share") };
};

export type RoundsPlan = Pick<Plan, "connections" | "rate"> & {
  rounds: number;
  forMs: number;
  tell: (line: string) => void;
  /** While it warms up; absent: as many. */
  warmConnections?: number;
  /** While it warms up; absent: as fast as it can. */
  warmRate?: number;
  /** All sides at the same time: where they do next to nothing and take long over it. */
  warmTogether?: boolean;
  /**
   * All sides at the same time, on the same core: for two services alike, with as many threads each, that share it evenly. Whatever the
   * machine does meanwhile meets both, so that a difference of a few parts in a hundred shows.
   */
  together?: boolean;
  /** The caller says by itself what figures of a full generator mean. */
  mayBeFull?: boolean;
  /** Waits are what is measured: a round in which nearly nothing is answered counts with them. */
  countsWaits?: boolean;
  /** Whether a body is what was asked for, of one answer per stream and round. */
  isBody?: (body: string, stream: number) => boolean;
};

/** At this share of its core the generator is the bottleneck; one that keeps a pace looks at the clock all the time. */
const FULL_SHARE = 0.9;

/** What a side could answer with its core to itself: never less than it did. */
const unbounded = (one: Measured): Measured => ({ ...one, perSecond: Math.max(one.perSecond, 1e6 / one.cpuUs) });

/** Before each measurement: the connections are made, and what they begin with is over. */
const SETTLE_MS = 100;

/** A side is warm when in so many slices in a row next to no time went into compiling its code. */
const WARM_MS = 500;
const WARM_SLICES = 2;
const WARM_AT_MOST_MS = 20_000;
const warmUp = async (slice: () => Promise<Measured>): Promise<number> => {
  let ms = 0;
  for (let warm = 0; ms < WARM_AT_MOST_MS && warm < WARM_SLICES; ms += WARM_MS) {
    const { compiled } = await slice();
    warm = compiled < WARM_SHARE ? warm + 1 : 0;
  }
  return ms / 1000;
};

/** A side that cannot keep half of a pace is not one whose times are worth comparing. */
const LEAST_PACE = 0.5;
const isStalled = ({ streams, count }: Load, { rate, forMs }: Pick<RoundsPlan, "rate" | "forMs">): boolean =>
  streams.some((one) => one.count === 0) || (rate !== null && count < (LEAST_PACE * rate * forMs) / 1000);
/**
 * A disk that others use too may stand still for longer than a round. The median would not notice one such round of whichever side, and that
 * it has no figure is no reason to throw all others away: so often it is played again, or, where waits are what is measured, counts with them.
 */
const STALLS = 1;

/** @throws when what was answered is not what was asked for. */
const insistOnAnswers = (
  name: string,
  one: Measured,
  { rate, forMs, isBody = () => true }: RoundsPlan,
  isRight: (status: string) => boolean,
  isExcused: boolean,
): void => {
  const wrong = Object.entries(one.statuses).find(([status]) => !isRight(status));
  if (wrong) throw new Error(`${name}: ${wrong[1]} answers of ${wrong[0]}`);
  if (one.broken > 0) throw new Error(`${name}: ${one.broken} broken connections`);
  if (isExcused) return;
  if (isStalled(one, { rate, forMs }))
    throw new Error(`${name} answered ${Math.round(one.perSecond)} requests a second${rate === null ? "" : ` of ${rate}`}`);
  const odd = one.samples.find((body, stream) => !isBody(body, stream));
  if (odd !== undefined) throw new Error(`${name} answered ${odd.slice(0, 200)}`);
};

const oneAfterTheOther = async <Item, Done>(items: readonly Item[], work: (item: Item) => Promise<Done>): Promise<Done[]> => {
  const done: Done[] = [];
  for (const item of items) done.push(await work(item));
  return done;
};

/** @throws when a side answered anything but what it should: figures of wrong answers are none. */
export const playRounds = async <Name extends string>(
  sides: Readonly<Record<Name, Side>>,
  plan: RoundsPlan,
  isRight: (status: string) => boolean,
): Promise<Record<Name, Rounds>> => {
  const { rounds, forMs, connections, rate, tell, mayBeFull = false, together = false } = plan;
  const names = Object.keys(sides) as Name[];
  const accepted = Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
  const all = Object.fromEntries(names.map((name) => [name, [] as Measured[]])) as Record<Name, Measured[]>;
  const meters = Object.fromEntries(names.map((name) => [name, startMeter(sides[name])])) as Record<Name, Meter>;
  const once = async (name: Name, asked: Plan) => {
    const one = await meters[name].measure(asked);
    accepted[name] += one.answered["202"] ?? 0;
    return sides[name].isYardstick && one.share >= FULL_SHARE ? unbounded(one) : one;
  };
  const warming = { connections: plan.warmConnections ?? connections, rate: plan.warmRate ?? null, warmMs: 0, forMs: WARM_MS };
  try {
    const warm = async (name: Name) => tell(`${sides[name].name} is warm after ${await warmUp(() => once(name, warming))} s`);
    if (plan.warmTogether) await Promise.all(names.map(warm));
    else for (const name of names) await warm(name);
    for (let round = 0, stalls = 0; round < rounds; round += 1) {
      const asked = { connections, rate, warmMs: SETTLE_MS, forMs };
      const inTurn = round % 2 === 0 ? names : names.toReversed();
      const play = async (name: Name): Promise<[Name, Measured]> => [name, await once(name, asked)];
      const played = together ? await Promise.all(inTurn.map(play)) : await oneAfterTheOther(inTurn, play);
      for (const [name, one] of played) {
        const isExcused = stalls < STALLS && isStalled(one, plan);
        insistOnAnswers(sides[name].name, one, plan, isRight, isExcused);
        tell(
          `round ${round + 1} of ${rounds}: ${sides[name].name} ${Math.round(one.perSecond)} per second, ${one.cpuUs.toFixed(1)} µs, ${(one.compiled * 100).toFixed(0)} % of it compiling, load ${(one.share * 100).toFixed(0)} %`,
        );
      }
      const stalled = played.find(([, one]) => isStalled(one, plan));
      if (stalled) stalls += 1;
      if (stalled && !plan.countsWaits) {
        tell(`round ${round + 1} of ${rounds}: ${sides[stalled[0]].name} was kept from answering; it is played again`);
        round -= 1;
      } else for (const [name, one] of played) all[name].push(one);
    }
  } finally {
    for (const name of names) meters[name].stop();
  }
  for (const name of names) {
    const share = spreadOf(all[name].map((one) => one.share)).median;
    if (rate === null && !mayBeFull && !sides[name].isYardstick && share >= FULL_SHARE)
      throw new Error(
        `${sides[name].name}: the load's core was ${(share * 100).toFixed(0)} % full, so it was measured and not the side`,
      );
  }
  return Object.fromEntries(names.map((name) => [name, roundsOf(all[name], accepted[name])])) as Record<Name, Rounds>;
};
