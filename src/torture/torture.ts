// Torture run: alternates crash cycles and simulated worlds on the operator's disk.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { endow } from "./crash/crash-fixture.ts";
import { type End, mergeEnds } from "./crash/merge-reports.ts";
import { runLanes } from "./crash/parallel-worlds.ts";
import type { Genrouter } from "./crash/processes.ts";
import { type Disk, measureDisk } from "./disk.ts";
import { reportsFullDisk, watchSpace } from "./disk-space.ts";
import { runSeed } from "./simulation/run.ts";

export type TorturePlan = {
  /** An empty directory for the run. */
  scratch: string;
  seed: number;
  longestMs: number;
  lanes: number;
  genrouter: Genrouter;
  /** Ends the run early; a started cycle still reaches its audit. */
  isStopped: () => boolean;
};

/** The progress of a run. `doing`: a short description. `submissions`: those that reached a provider. */
export type Progress = { doing: string; kills: number; submissions: number; worlds: number };

/** A violated invariant. `seed` reproduces its run. */
export type Finding = { check: string; faults: string[]; seed: number };
export type TortureEnd = {
  findings: Finding[];
  disk: Disk;
  figures: Record<string, number>;
  tookMs: number;
  /** Why the run ended without a verdict, if it had no findings until then. */
  unjudged: Unjudged | null;
};
/** `disk-full`: findings on a full disk prove nothing either. `stopped`: before all generations had ended. */
export type Unjudged = "disk-full" | "stopped";

/** One turn: kills, with quiescing and audit after them, and then simulated worlds. */
const KILLS_MS = 45_000;
const WORLDS_MS = 18_000;
/** Largest share of the remaining time for kills, because quiescing, audit and worlds follow. */
const KILLS_SHARE = 0.5;
/** Approximate duration of quiescing and audit. A turn with less than twice this time runs worlds only. */
const PEACE_MS = 8000;
const MAX_CYCLES = 1_000_000;
/** Distance between the seeds of turns; worlds use the seeds in between. */
const TURN_SEEDS = 10_007;

export const torture = async (plan: TorturePlan, report: (progress: Progress) => void): Promise<TortureEnd> => {
  const { scratch, genrouter, lanes, isStopped } = plan;
  const beganMono = performance.now();
  const tookMs = () => Math.round(performance.now() - beganMono);
  const leftMs = () => plan.longestMs - tookMs();
  const findings: Finding[] = [];
  const progress: Progress = { doing: "measuring the disk", kills: 0, submissions: 0, worlds: 0 };
  const show = () => report({ ...progress });
  show();
  const space = watchSpace(scratch);
  const mustEnd = () => isStopped() || space.isShort();
  // A disk that the service refuses (network file system, read-only) is refused here with the same message.
  const probe = join(scratch, "probe");
  await endow(probe, []);
  rmSync(probe, { recursive: true });
  const disk = measureDisk(scratch);

  const killForAWhile = async (turn: number): Promise<End> => {
    const seed = plan.seed + turn * TURN_SEEDS;
    const overMono = performance.now() + Math.min(KILLS_MS, leftMs() * KILLS_SHARE);
    const isOver = () => mustEnd() || performance.now() > overMono;
    const before = { ...progress };
    progress.doing = "killing the service under load";
    const end = await runLanes({
      dir: join(scratch, `crashes-${seed}`),
      cycles: MAX_CYCLES,
      seed,
      lanes,
      genrouter,
      isOver,
      isHurried: isStopped,
      report: (line) => {
        if (/peace/.test(line)) progress.doing = "finishing all generations, then auditing";
        show();
      },
      onCycle: ({ kills, submissions }) => {
        progress.kills = before.kills + kills;
        progress.submissions = before.submissions + submissions;
        show();
      },
    });
    const broken = end.checks.filter(({ faults }) => faults.length > 0);
    // A log of the run may be truncated; its missing lines are not a fault of the service.
    const says = broken.some(({ faults }) => faults.some(reportsFullDisk));
    if (broken.length > 0 && (space.isFull() || (space.isShort() && says))) return end;
    for (const { name, faults } of broken) findings.push({ check: name, faults, seed });
    if (findings.length === 0 && !end.figures.unended) rmSync(join(scratch, `crashes-${seed}`), { recursive: true, force: true });
    return end;
  };

  const simulateForAWhile = async (turn: number, longestMs: number): Promise<void> => {
    const overMono = performance.now() + longestMs;
    progress.doing = "simulating worlds";
    for (let n = 0; findings.length === 0 && !mustEnd() && (n === 0 || performance.now() < overMono); n += 1) {
      const seed = plan.seed + turn * TURN_SEEDS + n;
      const { faults, trace } = await runSeed(seed);
      progress.worlds += 1;
      show();
      // A world does not yield to the event loop, which signals and the progress line require.
      await Bun.sleep(0);
      if (faults.length === 0) continue;
      mkdirSync(scratch, { recursive: true });
      writeFileSync(join(scratch, `world-${seed}.txt`), `${[...faults, "", ...trace].join("\n")}\n`);
      findings.push({ check: `a simulated world (seed ${seed}) violates no invariant`, faults, seed });
    }
  };

  const ends: End[] = [];
  for (let turn = 0; turn === 0 || (leftMs() > 0 && findings.length === 0 && !mustEnd()); turn += 1) {
    const hasTime = turn === 0 || leftMs() > 2 * PEACE_MS;
    if (hasTime) ends.push(await killForAWhile(turn));
    await simulateForAWhile(turn, leftMs() > 2 * PEACE_MS ? Math.min(WORLDS_MS, leftMs()) : leftMs());
  }
  space.stop();
  const { figures } = mergeEnds(ends);
  const leftOff = space.isShort() ? "disk-full" : figures.unended ? "stopped" : null;
  const unjudged = findings.length === 0 ? leftOff : null;
  return { findings, disk, figures: { ...figures, worlds: progress.worlds }, tookMs: tookMs(), unjudged };
};
