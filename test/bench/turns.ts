// Rounds of whole generations: each side keeps so many in flight for a while, in turns with the other, once the code of both is compiled.
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { DATABASE_FILE } from "../../src/store/sqlite/open.ts";
import { type Env, type Spread, spreadOf } from "./bench.ts";
import { openCpu, spreadOut, WARM_SHARE, writtenBytes } from "./machine.ts";
import type { BenchModel, Player } from "./upstream.ts";

/** One side: who is measured, and who helps it. */
export type LifeSide = {
  name: string;
  dir: string;
  model: BenchModel;
  /** One process, or those of the moment. */
  pid: number | (() => readonly number[]);
  /** Those of them that are a database. */
  databasePids?: () => readonly number[];
  /** It has all cores when it is warm, too. */
  usesAll?: boolean;
  helpers: readonly number[];
  /** Those that look for work all the time and are paused while others play; absent: all of it. */
  restless?: () => readonly number[];
  player: Player;
  /** How many were delivered between two times, ms since 1970; absent: what the database in the directory says. */
  count?: (fromMs: number, toMs: number) => Promise<number>;
};

/** Its processes at this moment. */
export const pidsOf = ({ pid }: Pick<LifeSide, "pid">): readonly number[] => (typeof pid === "number" ? [pid] : pid());

/** `databaseUs`: as much of the CPU time as was its database's; `writtenKb`: what reached the disk for one generation, its file included; `compiled`: the share of its CPU time in which code was compiled. */
export type Round = { perSecond: number; cpuUs: number; databaseUs: number; writtenKb: number; share: number; compiled: number };
/** What can be warmed up and played for so long. */
export type Turn = { name: string; warm(atMostMs: number): Promise<number>; play(ms: number): Promise<Round> };
/** A turn in its parts, for sides that play at the same time. */
type Parts = { begin(): Promise<void>; measure(ms: number): Promise<Round>; end(): Promise<void> };

export const withDatabase = <T>(dir: string, work: (db: Database) => T): T => {
  const db = new Database(join(dir, DATABASE_FILE), { readonly: true, strict: true });
  try {
    return work(db);
  } finally {
    db.close();
  }
};

/** What is there before the first round is not looked at again: it may be millions of rows. */
const openCount = ({ dir, model }: LifeSide): NonNullable<LifeSide["count"]> => {
  const newest = withDatabase(
    dir,
    (db) => db.query<{ seq: number | null }, []>("SELECT max(seq) AS seq FROM generation").get()?.seq ?? 0,
  );
  return async (fromMs, toMs) =>
    withDatabase(dir, (db) =>
      db
        .query<{ count: number }, [number, string, number, number]>(
          "SELECT count(*) AS count FROM generation WHERE seq > ?1 AND model = ?2 AND status = 'succeeded' AND completed_at_ms >= ?3 AND completed_at_ms < ?4",
        )
        .get(newest, model.id, fromMs, toMs),
    )?.count ?? 0;
};

/** Before what counts in a round: by then as many end as begin. */
const SETTLE_MS = 600;
/** A side is warm when in so many slices in a row next to no time went into compiling its code. */
const WARM_SLICE_MS = 1_000;
const WARM_SLICES = 2;

/** Turns of whole generations: each begins and ends with nothing in flight, and what ended in its middle is counted. */
export const turnOf = (side: LifeSide): Turn & Parts => {
  const { name, helpers, player, usesAll = false, databasePids = () => [], count = openCount(side) } = side;
  const pids = () => pidsOf(side);
  const cpu = openCpu(pids);
  const database = openCpu(databasePids);
  const helped = openCpu(() => helpers);
  const written = () => pids().reduce((sum, pid) => sum + writtenBytes(pid), 0);
  const begin = async () => {
    player.begin();
    await Bun.sleep(SETTLE_MS);
  };
  const measure = async (ms: number): Promise<Round> => {
    const [fromMs, fromBytes] = [Date.now(), written()];
    cpu();
    database();
    helped();
    await Bun.sleep(ms);
    const [toMs, toBytes, used, kept, help] = [Date.now(), written(), cpu(), database(), helped()];
    const delivered = await count(fromMs, toMs);
    if (delivered === 0) throw new Error(`${name}: nothing was delivered`);
    const elapsedMs = toMs - fromMs;
    return {
      perSecond: (delivered * 1000) / elapsedMs,
      cpuUs: used.all / 1000 / delivered,
      databaseUs: kept.all / 1000 / delivered,
      writtenKb: (toBytes - fromBytes) / 1000 / delivered,
      share: help.all / 1e6 / elapsedMs,
      compiled: used.compiler / Math.max(1, used.all),
    };
  };
  const end = () => player.end();
  return {
    ...{ name, begin, measure, end },
    warm: async (atMostMs) => {
      spreadOut(pids(), true);
      player.begin();
      cpu();
      let ms = 0;
      for (let warm = 0; warm < WARM_SLICES && ms < atMostMs; ms += WARM_SLICE_MS) {
        await Bun.sleep(WARM_SLICE_MS);
        const { all, compiler } = cpu();
        warm = compiler < WARM_SHARE * all ? warm + 1 : 0;
      }
      await end();
      if (!usesAll) spreadOut(pids(), false);
      return ms / 1000;
    },
    play: async (ms) => {
      await begin();
      const round = await measure(ms);
      await end();
      return round;
    },
  };
};

/** At this share of the load's core what helps is the bottleneck, and nothing was measured. */
const MOST_SHARE = 0.9;

export type Lives = { [Figure in keyof Round]: Spread };

/** So many pairs of rounds are played again at most. */
const mostAgain = (rounds: number): number => Math.floor(rounds / 3);

/**
 * Plays pairs of rounds until so many count. The runtime compiles in bursts, long after most of it is done: a pair in which one side's code was
 * still compiled is played again, up to a third as many times as there are rounds.
 */
const playPairs = async <Name extends string>(
  turns: Readonly<Record<Name, Turn>>,
  { lives: { rounds, warmAtMostMs }, tell }: Pick<Env, "lives" | "tell">,
  pair: (at: number) => Promise<Record<Name, Round>>,
): Promise<Record<Name, Lives>> => {
  const names = Object.keys(turns) as Name[];
  const warmUp = async (name: Name) => tell(`${turns[name].name} is warm after ${await turns[name].warm(warmAtMostMs)} s`);
  await Promise.all(names.map(warmUp));
  const counted: Record<Name, Round>[] = [];
  for (let at = 0, again = 0; counted.length < rounds; at += 1) {
    const played = await pair(at);
    const isCold = names.some((name) => played[name].compiled >= WARM_SHARE) && again < mostAgain(rounds);
    if (isCold) again += 1;
    else counted.push(played);
    for (const name of names) {
      const { perSecond, cpuUs, compiled, share } = played[name];
      const [rate, cost, compiling, load] = [perSecond, cpuUs, compiled * 100, share * 100].map((figure) => figure.toFixed(0));
      tell(
        `round ${isCold ? "(not counted)" : `${counted.length} of ${rounds}`}: ${turns[name].name} ${rate} per second, ${cost} µs, ${compiling} % of it compiling, load ${load} %`,
      );
    }
  }
  const livesOf = (name: Name): Lives => {
    const of = (pick: (one: Round) => number) => spreadOf(counted.map((played) => pick(played[name])));
    const lives = {
      perSecond: of(({ perSecond }) => perSecond),
      cpuUs: of(({ cpuUs }) => cpuUs),
      databaseUs: of(({ databaseUs }) => databaseUs),
      writtenKb: of(({ writtenKb }) => writtenKb),
      share: of(({ share }) => share),
      compiled: of(({ compiled }) => compiled),
    };
    if (lives.share.median >= MOST_SHARE)
      throw new Error(`${turns[name].name}: the load's core was full, so nothing was measured`);
    return lives;
  };
  return Object.fromEntries(names.map((name) => [name, livesOf(name)])) as Record<Name, Lives>;
};

/** Sides in turns, A B B A, warmed at the same time and on both cores. */
export const playTurns = <Name extends string>(
  turns: Readonly<Record<Name, Turn>>,
  env: Pick<Env, "lives" | "tell">,
): Promise<Record<Name, Lives>> => {
  const names = Object.keys(turns) as Name[];
  return playPairs(turns, env, async (at) => {
    const played: Partial<Record<Name, Round>> = {};
    for (const name of at % 2 === 0 ? names : names.toReversed()) played[name] = await turns[name].play(env.lives.roundMs);
    return played as Record<Name, Round>;
  });
};

const turnsOf = <Name extends string>(sides: Readonly<Record<Name, LifeSide>>) =>
  Object.fromEntries(Object.entries<LifeSide>(sides).map(([name, side]) => [name, turnOf(side)])) as Record<
    Name,
    ReturnType<typeof turnOf>
  >;

/** Whole generations on both sides, in turns. */
export const playLives = <Name extends string>(
  sides: Readonly<Record<Name, LifeSide>>,
  env: Pick<Env, "lives" | "tell">,
): Promise<Record<Name, Lives>> => playTurns(turnsOf(sides), env);

/** Two that share a core take it from each other in bursts of a second: their rounds are long, and what counts is the whole of them. */
const LONGER = 4;
/** What playing together takes at most, ms. */
export const longestMs = ({ lives: { rounds, roundMs, warmAtMostMs } }: Pick<Env, "lives">): number =>
  warmAtMostMs + (rounds + mostAgain(rounds)) * roundMs * LONGER;
const wholeOf = (spread: Spread): Spread => {
  const mean = spread.each.reduce((sum, one) => sum + one, 0) / spread.each.length;
  return { ...spread, median: mean, each: [mean] };
};

/**
 * Whole generations on both sides at the same time, on the same core: for two services alike, with as many threads each, that share it evenly.
 * Whatever the machine does meanwhile meets both, so that a difference of a few parts in a hundred shows.
 */
export const playTogether = async <Name extends string>(
  sides: Readonly<Record<Name, LifeSide>>,
  env: Pick<Env, "lives" | "tell">,
): Promise<Record<Name, Lives>> => {
  const turns = turnsOf(sides);
  const names = Object.keys(turns) as Name[];
  const all = (of: (turn: Parts) => Promise<unknown>) => Promise.all(names.map((name) => of(turns[name])));
  const measureAll = async (at: number) => {
    if (at === 0) await all((turn) => turn.begin());
    const rounds = await Promise.all(names.map((name) => turns[name].measure(env.lives.roundMs * LONGER)));
    return Object.fromEntries(names.map((name, n) => [name, rounds[n]])) as Record<Name, Round>;
  };
  try {
    const played = await playPairs(turns, env, measureAll);
    return Object.fromEntries(
      names.map((name) => [name, { ...played[name], perSecond: wholeOf(played[name].perSecond) }]),
    ) as Record<Name, Lives>;
  } finally {
    await all((turn) => turn.end());
  }
};
