// Measures two sides of a bench in turns (A B B A) or at the same time, so that other load affects both equally.
import { type Spread, spreadOf } from "./bench.ts";
import type { Load, Plan, Stream } from "./generator.ts";
import { WARM_SHARE } from "./machine.ts";
import { type Meter, startMeter } from "./measure.ts";

/** A listening process and its requests. */
export type Side = {
  name: string;
  /** Ports of interchangeable nodes: connections are spread over them in turn. */
  port: number | readonly number[];
  pids: readonly number[];
  streams: readonly Stream[];
  /** For a yardstick whose time is all CPU time: if the load cannot fill it, it counts with its extrapolated rate. */
  isYardstick?: boolean;
  /** The processes of its database. */
  databasePids?: () => readonly number[];
};
/** `databaseUs`: the CPU time of its database; `compiled`: the share of CPU time for compilation. */
export type Measured = Load & { cpuUs: number; databaseUs: number; compiled: number };
export type Rounds = {
  perSecond: Spread;
  cpuUs: Spread;
  databaseUs: Spread;
  p50: Spread[];
  p99: Spread[];
  share: Spread;
  /** The number of 202 responses since the first warm-up. */
  accepted: number;
};
type Beside = { cpuUs: Spread; share: Spread };
/** Additional figures: CPU time per request, and the use of the load's core. */
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

/** The compared figure of rounds that several processes of a side played in sequence. */
export const joinedRounds = (parts: readonly Rounds[]): Pick<Rounds, "perSecond" | "cpuUs" | "share"> => {
  const joined = (name: "perSecond" | "cpuUs" | "share") => spreadOf(parts.flatMap((part) => part[name].each));
  return { perSecond: joined("perSecond"), cpuUs: joined("cpuUs"), share: joined("share") };
};

export type RoundsPlan = Pick<Plan, "connections" | "rate"> & {
  rounds: number;
  forMs: number;
  report: (line: string) => void;
  /** Connections during the warm-up; default: the same number. */
  warmConnections?: number;
  /** Rate during the warm-up; default: as fast as possible. */
  warmRate?: number;
  /** All sides at the same time, for long rounds with little work. */
  warmTogether?: boolean;
  /**
   * All sides at the same time on the same core, for two equal services with the same number of threads, which share it evenly.
   * Other load affects both, so that a difference of a few percent is visible.
   */
  together?: boolean;
  /** The caller itself interprets figures of a saturated generator. */
  mayBeFull?: boolean;
  /** The bench measures waits: a round with nearly no responses counts. */
  countsWaits?: boolean;
  /** Checks the body of one response of each stream and round. */
  isBody?: (body: string, stream: number) => boolean;
};

/** At this share of its core the generator is the bottleneck; one with a fixed rate reads the clock all the time. */
const FULL_SHARE = 0.9;

/** The rate that a side could reach with its whole core: at least the measured rate. */
const unbounded = (one: Measured): Measured => ({ ...one, perSecond: Math.max(one.perSecond, 1e6 / one.cpuUs) });

/** The time before each measurement, in which connections open and settle. */
const SETTLE_MS = 100;

/** A side is warm after this many slices in a row with almost no compilation. */
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

/** Times of a side that cannot sustain half of the rate are not compared. */
const LEAST_PACE = 0.5;
const isStalled = ({ streams, count }: Load, { rate, forMs }: Pick<RoundsPlan, "rate" | "forMs">): boolean =>
  streams.some((one) => one.count === 0) || (rate !== null && count < (LEAST_PACE * rate * forMs) / 1000);
/**
 * A shared disk may stall for longer than a round. The median ignores one such round of either side, and a missing figure is no
 * reason to discard the others: it is repeated up to this many times, or counts if the bench measures waits.
 */
const STALLS = 1;

/** @throws if a response is not the expected one. */
const requireResponses = (
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

/** @throws if a side returned an unexpected status: figures of wrong responses are invalid. */
export const playRounds = async <Name extends string>(
  sides: Readonly<Record<Name, Side>>,
  plan: RoundsPlan,
  isRight: (status: string) => boolean,
): Promise<Record<Name, Rounds>> => {
  const { rounds, forMs, connections, rate, report, mayBeFull = false, together = false } = plan;
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
    const warm = async (name: Name) => report(`${sides[name].name} is warm after ${await warmUp(() => once(name, warming))} s`);
    if (plan.warmTogether) await Promise.all(names.map(warm));
    else for (const name of names) await warm(name);
    for (let round = 0, stalls = 0; round < rounds; round += 1) {
      const asked = { connections, rate, warmMs: SETTLE_MS, forMs };
      const inTurn = round % 2 === 0 ? names : names.toReversed();
      const play = async (name: Name): Promise<[Name, Measured]> => [name, await once(name, asked)];
      const played = together ? await Promise.all(inTurn.map(play)) : await oneAfterTheOther(inTurn, play);
      for (const [name, one] of played) {
        const isExcused = stalls < STALLS && isStalled(one, plan);
        requireResponses(sides[name].name, one, plan, isRight, isExcused);
        report(
          `round ${round + 1} of ${rounds}: ${sides[name].name} ${Math.round(one.perSecond)} per second, ${one.cpuUs.toFixed(1)} µs, ${(one.compiled * 100).toFixed(0)} % of it compiling, load ${(one.share * 100).toFixed(0)} %`,
        );
      }
      const stalled = played.find(([, one]) => isStalled(one, plan));
      if (stalled) stalls += 1;
      if (stalled && !plan.countsWaits) {
        report(`round ${round + 1} of ${rounds}: ${sides[stalled[0]].name} was kept from answering; it is played again`);
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
