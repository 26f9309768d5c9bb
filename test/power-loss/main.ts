// The power cuts: `npm run power -- [--cuts N] [--seed N] [--control]`; ends with `N passed, N failed`.
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Check } from "../../src/torture/crash/audit.ts";
import { mergeChecks, mergeEnds } from "../../src/torture/crash/merge-reports.ts";
import { entry, type Genrouter, killAll } from "../../src/torture/crash/processes.ts";
import { builtBinary } from "../built.ts";
import { keepScratch, makeScratch } from "../scratch.ts";
import type { Missing } from "./check-disk.ts";
import { type CutsEnd, type CutsPlan, runCuts } from "./cuts.ts";
import { playKept } from "./kept.ts";

const HELP = `Usage: npm run power -- [--cuts N] [--seed N] [--lanes N] [--control]

Cuts the power of the binary at random moments under load: a preloaded library drops everything that was not synced.
After each cut everything that was acknowledged must be on disk; at the end of each world all generations end and are audited.
Then the controls run with synchronous = NORMAL, and on a disk that does not sync result files; their checks must find losses.
  --cuts N    power cuts (default 20), in worlds of at most 25
  --seed N    seed of loads and moments (default: a new one each time, printed)
  --lanes N   concurrent worlds (default: one for each core, at most 2)
  --control   run the controls only

Examples:
  $ npm run power
  $ npm run power -- --cuts 100 --seed 1        # one part of a long run
  $ npm run power -- --control
`;
const CUTS_OF_WORLD = 25;
/** A control has so many cuts in which to lose something; one or two are enough. */
const CUTS_OF_CONTROL = 8;
const WORLD_SEEDS = 100_003;

const say = (line: string) => process.stdout.write(`${line}\n`);
const readFlags = () => {
  try {
    const { values } = parseArgs({
      options: {
        cuts: { type: "string", default: "20" },
        seed: { type: "string", default: String(Date.now() % 1_000_000) },
        lanes: { type: "string", default: String(Math.min(2, availableParallelism())) },
        control: { type: "boolean", default: false },
        help: { type: "boolean", default: false, short: "h" },
      },
    });
    for (const name of ["cuts", "seed", "lanes"] as const)
      if (!/^\d{1,9}$/.test(values[name]) || (name !== "seed" && Number(values[name]) === 0))
        throw new Error(`--${name}: ${JSON.stringify(values[name])} is not a whole number${name === "seed" ? "" : " above 0"}`);
    return { ...values, cuts: Number(values.cuts), seed: Number(values.seed), lanes: Number(values.lanes) };
  } catch (fault) {
    say(`${fault instanceof Error ? fault.message : fault}\n\n${HELP}`);
    return process.exit(2);
  }
};
const flags = readFlags();
if (flags.help) {
  say(HELP);
  process.exit(0);
}

let passed = 0;
let failed = 0;
const judge = ({ name, faults }: Check) => {
  if (faults.length === 0) passed += 1;
  else failed += 1;
  say(`${faults.length === 0 ? "(pass)" : "(fail)"} ${name}`);
  for (const fault of faults.slice(0, 10)) say(`       ${fault}`);
  if (faults.length > 10) say(`       and ${faults.length - 10} more`);
};

const PROMISES: Record<keyof Missing, string> = {
  acknowledged: "everything acknowledged before a power cut is on disk after it",
  ends: "an end that a client saw before a power cut is on disk after it",
  journal: "every submission at a provider was stored before it was sent, and survives a power cut",
  files: "the files of succeeded generations survive a power cut, byte for byte",
  invariants: "the thirteen invariants hold after every power cut",
};
const promisesOf = (missing: Missing): Check[] =>
  Object.entries(PROMISES).map(([name, promise]) => ({ name: promise, faults: missing[name as keyof Missing] }));

const planOf = (genrouter: Genrouter, world: number, cuts: number): CutsPlan => {
  const dir = makeScratch("power-");
  return {
    dir,
    cuts,
    seed: flags.seed + world * WORLD_SEEDS,
    genrouter,
    say: (line) => {
      if (line.includes("kept for a look")) keepScratch(dir);
      say(`world ${world + 1}, ${line}`);
    },
    isAudited: true,
  };
};

/** An error that stops a world is reported as a fault. */
const reported = (fault: unknown): Check[] => [
  {
    name: "the world completes without an error",
    faults: [fault instanceof Error ? (fault.stack ?? fault.message) : String(fault)],
  },
];

/** Figures that are above 0 only if cuts occurred while the service worked. */
const WORK = ["bytesTaken", "namesTaken", "files", "submissions"] as const;
/** A few cuts may all miss the writing of a file. Then so many further worlds follow, each with so many cuts. */
const FURTHER_WORLDS = 4;
const CUTS_OF_FURTHER_WORLD = 4;

const playCuts = async (genrouter: Genrouter): Promise<Record<string, number>> => {
  const share = Math.ceil(flags.cuts / flags.lanes);
  const sizes: number[] = [];
  for (let left = flags.cuts; left > 0; left -= sizes.at(-1) ?? left) sizes.push(Math.min(left, share, CUTS_OF_WORLD));
  const ends: { checks: Check[]; figures: Record<string, number> }[] = [];
  const worlds = sizes.map((cuts, world) => planOf(genrouter, world, cuts));
  const play = async (plan: CutsPlan) => {
    ends.push(
      await runCuts(plan).then(
        ({ missing, checks, figures }) => ({ checks: [...promisesOf(missing), ...checks], figures }),
        (fault: unknown) => {
          plan.say(`kept for a look: ${plan.dir}`);
          return { checks: reported(fault), figures: {} };
        },
      ),
    );
  };
  const lane = async () => {
    for (let plan = worlds.shift(); plan; plan = worlds.shift()) await play(plan);
  };
  const unseenWork = () => WORK.filter((name) => !mergeEnds(ends).figures[name]);
  await Promise.all(Array.from({ length: flags.lanes }, lane));
  for (let further = 0; further < FURTHER_WORLDS && unseenWork().length > 0; further += 1)
    await play(planOf(genrouter, sizes.length + further, CUTS_OF_FURTHER_WORLD));
  killAll();
  const { checks, figures } = mergeEnds(ends);
  for (const check of mergeChecks(checks)) judge(check);
  judge({
    name: "the cuts occur during work: unsynced bytes and names were lost, and files were being written",
    faults: unseenWork().map((name) => `no ${name}`),
  });
  return figures;
};

/** Each control must lose something, and the check must find it; otherwise the cuts above would prove nothing. */
type Control = { name: string; how: Partial<CutsPlan>; loses: keyof Missing };
const CONTROLS: readonly [Control, ...Control[]] = [
  {
    name: "synchronous = NORMAL loses acknowledged rows, and the check finds it",
    how: { serves: entry(join(import.meta.dir, "relaxed.ts")) },
    loses: "acknowledged",
  },
  {
    name: "a disk that does not sync the bytes of files loses some, and the check finds it",
    how: { deaf: ".part" },
    loses: "files",
  },
  {
    name: "a disk that does not sync the names of files loses some, and the check finds it",
    how: { deaf: "/files" },
    loses: "files",
  },
];

const playControl = async (genrouter: Genrouter, n: number): Promise<{ check: Check; figures: Record<string, number> }> => {
  const { name, how, loses } = CONTROLS[n] ?? CONTROLS[0];
  const plan = { ...planOf(genrouter, n, CUTS_OF_CONTROL), ...how, isAudited: false, say: () => undefined };
  const end: CutsEnd | Check[] = await runCuts(plan).catch(reported);
  if (Array.isArray(end)) {
    keepScratch(plan.dir, say);
    return { check: { name, faults: end.flatMap(({ faults }) => faults) }, figures: {} };
  }
  const lost = end.missing[loses].length;
  const faults = lost > 0 ? [] : [`nothing was lost in ${end.figures.cuts} cuts: the check proves nothing`];
  return { check: { name: `${name}: ${lost} in ${end.figures.cuts} cuts`, faults }, figures: { [`control${n + 1}Lost`]: lost } };
};

const playControls = async (genrouter: Genrouter): Promise<Record<string, number>> => {
  const ends = await Promise.all(CONTROLS.map((_, n) => playControl(genrouter, n)));
  killAll();
  for (const { check } of ends) judge(check);
  return Object.assign({}, ...ends.map(({ figures }) => figures)) as Record<string, number>;
};

say(`seed ${flags.seed}`);
const beganMono = performance.now();
const genrouter = await builtBinary(say);
let figures: Record<string, number> = {};
if (!flags.control) {
  for (const check of await playKept(say)) judge(check);
  figures = await playCuts(genrouter);
}
figures = { ...figures, ...(await playControls(genrouter)), tookMs: Math.round(performance.now() - beganMono) };
say(`figures ${JSON.stringify(figures)}`);
say(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
