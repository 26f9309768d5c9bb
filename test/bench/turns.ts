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
  helpers: readonly number[];
  player: Player;
  /** How many were delivered between two times, ms since 1970; absent: what the database in the directory says. */
  count?: (fromMs: number, toMs: number) => Promise<number>;
};

/** `writtenKb`: what reached the disk for one generation, its file included; `compiled`: the share of its CPU time in which code was compiled. */
export type Round = { perSecond: number; cpuUs: number; writtenKb: number; share: number; compiled: number };
/** What can be warmed up and played for so long. */
export type Turn = { name: string; warm(atMostMs: number): Promise<number>; play(ms: number): Promise<Round> };

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
export const turnOf = (side: LifeSide): Turn => {
  const { name, helpers, player, count = openCount(side) } = side;
  const pids = (): readonly number[] => (typeof side.pid === "number" ? [side.pid] : side.pid());
  const cpu = openCpu(pids);
  const helped = openCpu(() => helpers);
  const written = () => pids().reduce((sum, pid) => sum + writtenBytes(pid), 0);
  return {
    name,
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
      await player.end();
      spreadOut(pids(), false);
      return ms / 1000;
    },
    play: async (ms) => {
      player.begin();
      await Bun.sleep(SETTLE_MS);
      const [fromMs, fromBytes] = [Date.now(), written()];
      cpu();
      helped();
      await Bun.sleep(ms);
      const [toMs, toBytes, used, help] = [Date.now(), written(), cpu(), helped()];
      await player.end();
      const delivered = await count(fromMs, toMs);
      if (delivered === 0) throw new Error(`${name}: nothing was delivered`);
      const elapsedMs = toMs - fromMs;
      return {
        perSecond: (delivered * 1000) / elapsedMs,
        cpuUs: used.all / 1000 / delivered,
        writtenKb: (toBytes - fromBytes) / 1000 / delivered,
        share: help.all / 1e6 / elapsedMs,
        compiled: used.compiler / Math.max(1, used.all),
      };
    },
  };
};

/** At this share of the load's core what helps is the bottleneck, and nothing was measured. */
const MOST_SHARE = 0.9;

export type Lives = { [Figure in keyof Round]: Spread };

/**
 * Sides in turns, A B B A. Both are warmed at the same time, on both cores. The runtime compiles in bursts, long after most of it is done: a
 * round of two in which one side's code was still compiled is played again, up to as many times as there are rounds.
 */
export const playTurns = async <Name extends string>(
  turns: Readonly<Record<Name, Turn>>,
  { lives: { rounds, roundMs, warmAtMostMs }, tell }: Pick<Env, "lives" | "tell">,
): Promise<Record<Name, Lives>> => {
  const names = Object.keys(turns) as Name[];
  const all = Object.fromEntries(names.map((name) => [name, [] as Round[]])) as Record<Name, Round[]>;
  const warmUp = async (name: Name) => tell(`${turns[name].name} is warm after ${await turns[name].warm(warmAtMostMs)} s`);
  await Promise.all(names.map(warmUp));
  for (let round = 0, again = 0; round < rounds; ) {
    const played: Partial<Record<Name, Round>> = {};
    for (const name of (round + again) % 2 === 0 ? names : names.toReversed()) played[name] = await turns[name].play(roundMs);
    const isCold = names.some((name) => (played[name]?.compiled ?? 0) >= WARM_SHARE) && again < rounds;
    if (isCold) again += 1;
    else round += 1;
    for (const name of names) {
      const one = played[name];
      if (!one) continue;
      if (!isCold) all[name].push(one);
      const [perSecond, share, compiled] = [one.perSecond, one.share * 100, one.compiled * 100].map((figure) =>
        figure.toFixed(0),
      );
      tell(
        `round ${isCold ? "(not counted)" : `${round} of ${rounds}`}: ${turns[name].name} ${perSecond} per second, ${one.cpuUs.toFixed(0)} µs, ${compiled} % of it compiling, load ${share} %`,
      );
    }
  }
  const livesOf = (name: Name): Lives => {
    const of = (pick: (one: Round) => number) => spreadOf(all[name].map(pick));
    const lives = {
      perSecond: of(({ perSecond }) => perSecond),
      cpuUs: of(({ cpuUs }) => cpuUs),
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

/** Whole generations on both sides, in turns. */
export const playLives = <Name extends string>(
  sides: Readonly<Record<Name, LifeSide>>,
  env: Pick<Env, "lives" | "tell">,
): Promise<Record<Name, Lives>> => {
  const names = Object.keys(sides) as Name[];
  return playTurns(Object.fromEntries(names.map((name) => [name, turnOf(sides[name])])) as Record<Name, Turn>, env);
};
