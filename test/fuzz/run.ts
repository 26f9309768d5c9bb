// Runs cases in several concurrent lanes, each a property with its seed, so that failures shrink and can be replayed.
import fc from "fast-check";
import { rawRequests } from "./bytes.ts";
import type { Case } from "./case.ts";
import { type Lane, openLane, type World } from "./fixture.ts";
import { lives } from "./lives.ts";
import { lineOf, play } from "./play.ts";
import { mutatedCalls, validCalls } from "./requests.ts";

export type Finding = { seed: number; path: string; faults: string[]; case: Case; line: string };

/** Shares of the cases: valid by the schemas, with one invalid part, raw bytes, lives. */
const SHARES = { valid: 50, mutated: 30, raw: 10, lives: 10 } as const;
/** The number of findings after which a lane stops. */
const FINDINGS_PER_LANE = 2;
/** The number of findings after which all lanes stop: more are mostly the same. */
const ENOUGH = 10;
/** The time limit of shrinking. */
const SHRINK_MS = 15_000;

const casesOf = ({ document, models }: World): fc.Arbitrary<Case> =>
  fc.oneof(
    { weight: SHARES.valid, arbitrary: validCalls(document, models) },
    { weight: SHARES.mutated, arbitrary: mutatedCalls(document, models) },
    { weight: SHARES.raw, arbitrary: rawRequests },
    { weight: SHARES.lives, arbitrary: lives(models) },
  );

class Wrong extends Error {
  readonly faults: string[];
  constructor(faults: string[]) {
    super(faults.join("\n"));
    this.faults = faults;
  }
}

/** The seed of one lane: a different integer for every lane and part. */
const seedOf = (seed: number, lane: number): number => (Math.imul(seed ^ (lane * 0x9e3779b1), 0x85ebca6b) >>> 1) ^ lane;

type Check = {
  seed: number;
  runs: number;
  path?: string;
  shrinkMs: number;
  isEnough: () => boolean;
  played: (kind: Case["kind"]) => void;
};

/** Plays `runs` cases of one seed, or until one fails. */
const check = async (
  lane: Lane,
  { seed, runs, path, shrinkMs, isEnough, played }: Check,
): Promise<{ done: number; finding: Finding | null }> => {
  let done = 0;
  let last: string[] = [];
  let shrinkEndsMono = Number.POSITIVE_INFINITY;
  const property = fc.asyncProperty(casesOf(lane.world), async (one) => {
    // After the limit cases count as passed, so that shrinking stops at the smallest that failed.
    if (performance.now() > shrinkEndsMono || (isEnough() && shrinkEndsMono === Number.POSITIVE_INFINITY)) return;
    done += 1;
    played(one.kind);
    const faults = await play(lane, one);
    if (faults.length === 0) return;
    if (shrinkEndsMono === Number.POSITIVE_INFINITY) shrinkEndsMono = performance.now() + shrinkMs;
    last = faults;
    throw new Wrong(faults);
  });
  const reported = await fc.check(property, { seed, numRuns: runs, ...(path === undefined ? {} : { path }) });
  if (!reported.failed) return { done, finding: null };
  if (reported.errorInstance instanceof Error && !(reported.errorInstance instanceof Wrong)) throw reported.errorInstance;
  const [smallest] = reported.counterexample ?? [];
  if (smallest === undefined) throw new Error("a failed check without a case");
  const faults = reported.errorInstance instanceof Wrong ? reported.errorInstance.faults : last;
  const line = await lineOf(lane, smallest);
  return { done, finding: { seed, path: reported.counterexamplePath ?? "", faults, case: smallest, line } };
};

/** Replays one case by the seed and path that its failure printed. */
export const replay = async (world: World, seed: number, path: string): Promise<Finding | null> =>
  (
    await check(await openLane(world), {
      seed,
      runs: 1_000_000,
      path,
      shrinkMs: SHRINK_MS,
      isEnough: () => false,
      played: () => undefined,
    })
  ).finding;

/** Plays a kept case. */
export const playKept = async (world: World, kept: Case): Promise<string[]> => play(await openLane(world), kept);

/**
 * Plays `cases` cases on `lanes` concurrent lanes.
 * @param played is called before every case.
 */
export const runCases = async (
  world: World,
  plan: { cases: number; lanes: number; seed: number; shrinkMs?: number; enough?: number; played?: (kind: Case["kind"]) => void },
): Promise<{ done: number; findings: Finding[] }> => {
  const { cases, lanes, seed, shrinkMs = SHRINK_MS, enough = ENOUGH, played = () => undefined } = plan;
  const share = Math.ceil(cases / lanes);
  const findings: Finding[] = [];
  const isEnough = () => findings.length >= enough;
  const counts = await Promise.all(
    Array.from({ length: lanes }, async (_, n) => {
      const lane = await openLane(world);
      let done = 0;
      for (let turn = 0; done < share && turn < FINDINGS_PER_LANE && !isEnough(); turn++) {
        const reported = await check(lane, {
          seed: seedOf(seed + turn * 7_919, n),
          runs: share - done,
          shrinkMs,
          isEnough,
          played,
        });
        done += reported.done;
        if (reported.finding === null) break;
        findings.push(reported.finding);
      }
      return done;
    }),
  );
  return { done: counts.reduce((sum, count) => sum + count, 0), findings };
};
