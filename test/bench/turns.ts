// Measures rounds of whole generations: the sides keep a number in flight, in turns, after both are warm.
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { DATABASE_FILE } from "../../src/store/sqlite/open.ts";
import { type Env, type Spread, spreadOf } from "./bench.ts";
import { openCpu, spreadOut, WARM_SHARE, writtenBytes } from "./machine.ts";
import type { BenchModel, Player } from "./upstream.ts";

/** One side: the measured processes and their helpers. */
export type LifeSide = {
  name: string;
  dir: string;
  model: BenchModel;
  /** One process, or a function that returns the current ones. */
  pid: number | (() => readonly number[]);
  /** The processes of its database. */
  databasePids?: () => readonly number[];
  /** It uses all cores after the warm-up, too. */
  usesAll?: boolean;
  helpers: readonly number[];
  /** Processes that poll for work all the time and are paused while others play; default: all. */
  restless?: () => readonly number[];
  player: Player;
  /** The number delivered between two times, ms since 1970; default: by the database in the directory. */
  count?: (fromMs: number, toMs: number) => Promise<number>;
};

/** Its current processes. */
export const pidsOf = ({ pid }: Pick<LifeSide, "pid">): readonly number[] => (typeof pid === "number" ? [pid] : pid());

/** `databaseUs`: CPU time of its database; `writtenKb`: disk writes for one generation; `compiled`: share for compilation. */
export type Round = { perSecond: number; cpuUs: number; databaseUs: number; writtenKb: number; share: number; compiled: number };
/** A player that can be warmed up and played for a time. */
export type Turn = { name: string; warm(atMostMs: number): Promise<number>; play(ms: number): Promise<Round> };
/** The parts of a turn, for sides that play at the same time. */
type Parts = { begin(): Promise<void>; measure(ms: number): Promise<Round>; end(): Promise<void> };

export const withDatabase = <T>(dir: string, work: (db: Database) => T): T => {
  const db = new Database(join(dir, DATABASE_FILE), { readonly: true, strict: true });
  try {
    return work(db);
  } finally {
    db.close();
  }
};

/** Rows before the first round are not read again: there may be millions. */
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

/** The time before the measured part of a round, until as many end as begin. */
const SETTLE_MS = 600;
/** A side is warm after this many slices in a row with almost no compilation. */
const WARM_SLICE_MS = 1_000;
const WARM_SLICES = 2;

/** Turns of whole generations: each begins and ends with nothing in flight, and counts the ends in its middle. */
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

/** At this share of the load's core the helpers are the bottleneck, and the figures are invalid. */
const MOST_SHARE = 0.9;

export type Lives = { [Figure in keyof Round]: Spread };

/** The maximum number of repeated pairs of rounds. */
const mostAgain = (rounds: number): number => Math.floor(rounds / 3);

/**
 * Plays pairs of rounds until enough count. The runtime compiles in late bursts: a pair in which one side still compiled code is
 * repeated, up to a third as many times as there are rounds.
 */
const playPairs = async <Name extends string>(
  turns: Readonly<Record<Name, Turn>>,
  { lives: { rounds, warmAtMostMs }, report }: Pick<Env, "lives" | "report">,
  pair: (at: number) => Promise<Record<Name, Round>>,
): Promise<Record<Name, Lives>> => {
  const names = Object.keys(turns) as Name[];
  const warmUp = async (name: Name) => report(`${turns[name].name} is warm after ${await turns[name].warm(warmAtMostMs)} s`);
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
      report(
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

/** Plays sides in turns (A B B A), after a common warm-up on both cores. */
export const playTurns = <Name extends string>(
  turns: Readonly<Record<Name, Turn>>,
  env: Pick<Env, "lives" | "report">,
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

/** Plays whole generations on both sides in turns. */
export const playLives = <Name extends string>(
  sides: Readonly<Record<Name, LifeSide>>,
  env: Pick<Env, "lives" | "report">,
): Promise<Record<Name, Lives>> => playTurns(turnsOf(sides), env);

/** Two sides on one core take turns in bursts of a second, so rounds are long and count as a whole. */
const LONGER = 4;
/** The maximum duration of a common round, ms. */
export const longestMs = ({ lives: { rounds, roundMs, warmAtMostMs } }: Pick<Env, "lives">): number =>
  warmAtMostMs + (rounds + mostAgain(rounds)) * roundMs * LONGER;
const wholeOf = (spread: Spread): Spread => {
  const mean = spread.each.reduce((sum, one) => sum + one, 0) / spread.each.length;
  return { ...spread, median: mean, each: [mean] };
};

/**
 * Plays whole generations on both sides at the same time on the same core, for two equal services with the same number of
 * threads, which share it evenly. Other load affects both, so that a difference of a few percent is visible.
 */
export const playTogether = async <Name extends string>(
  sides: Readonly<Record<Name, LifeSide>>,
  env: Pick<Env, "lives" | "report">,
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
