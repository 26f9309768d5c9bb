// The sweep: the n-th write or sync of a lifetime fails, for one n after the other, on the directory of the lifetime before.

import { listening } from "../../src/torture/crash/crash-fixture.ts";
import type { Ended } from "../../src/torture/crash/processes.ts";
import { fail, must, type Scene, withScene } from "./fixture.ts";
import type { RowWorld } from "./table.ts";

export type SweepKind = "WRITE" | "SYNC";
export type SweepEnd = {
  faults: string[];
  /** All lifetimes; those that the fault hit; and how those ended: before they listened, with 70 under load, or not at all. */
  counts: { lives: number; struck: number; failedStarts: number; ended: number; survived: number };
};

/** Approximately what a lifetime of this sweep writes and syncs: the indices of a short sweep are spread over it. */
const REACH: Record<SweepKind, number> = { WRITE: 320, SYNC: 64 };
const SUBMISSIONS = 6;
/** A lifetime that the fault did not end completes all generations in far less than this. */
const LIFE_MS = 40_000;
const LANES = 4;
/** Lifetimes on one directory; then everything settles, and the next one begins on a new directory. */
const CHAIN = 10;
/** Permitted exit codes of a start on a failing disk: unknown outcome, or an unusable directory. */
const LAWFUL_STARTS: readonly (number | null)[] = [70, 78];

/** `count` indices, or all of 1 to `count` if that is more than a lifetime has. */
export const indicesOf = (kind: SweepKind, count: number): number[] =>
  count >= REACH[kind]
    ? Array.from({ length: count }, (_, n) => n + 1)
    : [...new Set(Array.from({ length: count }, (_, n) => 1 + Math.round((n * (REACH[kind] - 1)) / Math.max(1, count - 1))))];

/** One lifetime with one fault. @returns how it ended; undefined if it completed its work. @throws if it did neither. */
const live = async (
  scene: Scene,
  env: Record<string, string>,
): Promise<{ end: Ended | undefined; isStarted: boolean; said: string }> => {
  const child = scene.spawn(env);
  const started = await listening(child).catch(() => undefined);
  if (!started) {
    child.kill("SIGKILL");
    return { end: await child.ended, isStarted: false, said: child.output() };
  }
  let end: Ended | undefined;
  void child.ended.then((how) => {
    end = how;
  });
  await Promise.all(Array.from({ length: SUBMISSIONS }, () => scene.submit(started.url)));
  const endMono = performance.now() + LIFE_MS;
  while (!end && performance.now() < endMono && (await scene.unfinished()) > 0) await Bun.sleep(20);
  if (end) return { end, isStarted: true, said: child.output() };
  const open = await scene.unfinished();
  must(open === 0, `it continued, and ${open} generations never ended: ${child.output().slice(-800)}`);
  child.kill("SIGTERM");
  const stopped = await child.ended;
  return { end: stopped.code === 0 ? undefined : stopped, isStarted: true, said: child.output() };
};

const playChain = async (world: RowWorld, kind: SweepKind, indices: readonly number[], sweep: SweepEnd) => {
  let at = 0;
  const play = async (scene: Scene) => {
    for (const n of indices) {
      at = n;
      const { env, board } = scene.faulty({ [`FAIL_${kind}_AT`]: String(n) });
      const { end, isStarted, said } = await live(scene, env);
      const { struck } = board.read();
      sweep.counts.lives += 1;
      sweep.counts.struck += struck;
      if (!isStarted) {
        must(struck > 0, "a start failed without a fault");
        must(LAWFUL_STARTS.includes(end?.code ?? null), `the start ended with ${end?.signal ?? end?.code}: ${said.slice(-400)}`);
        sweep.counts.failedStarts += 1;
      } else if (end) {
        must(end.code === 70 && struck > 0, `it ended with ${end.signal ?? end.code}`);
        sweep.counts.ended += 1;
      } else sweep.counts.survived += struck;
      await scene.holds();
    }
    await scene.recovers();
  };
  await withScene(world, play).catch((fault: unknown) => {
    sweep.faults.push(`${kind.toLowerCase()} ${at}: ${fault instanceof Error ? fault.message : fault}`);
  });
};

export const playSweep = async (world: RowWorld, kind: SweepKind, count: number): Promise<SweepEnd> => {
  const sweep: SweepEnd = { faults: [], counts: { lives: 0, struck: 0, failedStarts: 0, ended: 0, survived: 0 } };
  const indices = indicesOf(kind, count);
  const chains: number[][] = [];
  for (let from = 0; from < indices.length; from += CHAIN) chains.push(indices.slice(from, from + CHAIN));
  const lane = async () => {
    for (let chain = chains.shift(); chain; chain = chains.shift()) await playChain(world, kind, chain, sweep);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  if (sweep.counts.struck === 0) fail("no fault was hit: the sweep proves nothing");
  return sweep;
};
