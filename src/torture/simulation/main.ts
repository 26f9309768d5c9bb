// Simulation program: `npm run simulate -- [--seed N] [--seeds K]`.
//
// Its last line is `N passed, N failed`.

import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { unseen } from "./coverage-counters.ts";
import { FAULT_NAMES, FAULTS, type FaultName } from "./faults.ts";
import { runOnCores, type ShareEnd } from "./parallel.ts";
import { runSeed, runSeeds, unstruck, type WorldOptions } from "./run.ts";
import { replayCommand, shrink } from "./shrink.ts";

const HELP = `Runs the real engine, ledger, statecharts and store in virtual time, with faults drawn from a seed. A seed gives one world.

  npm run simulate                              1,000 seeds from a random one
  npm run simulate -- --seed 7                  one seed
  npm run simulate -- --seed 7 --seeds 5000     seeds 7 to 5006
  npm run simulate -- --seed 7 --trace          one seed with every line of its trace

  --seed N         the first seed (random when absent)
  --seeds K        number of seeds (1 with --seed alone, else 1,000)
  --seconds S      stops after S seconds
  --wishes N       maximum number of submissions per world
  --nodes N        nodes on one store, 1 to 3 (drawn from the seed when absent: one world in seven has several)
  --without A,B    faults that are left out
  --trace          prints the trace (one seed)
  --cores N        concurrent processes (all cores when absent)
  --json           prints the result as one JSON line

Faults: ${FAULT_NAMES.map((name) => `\n  ${name.padEnd(18)} ${FAULTS[name].means}`).join("")}
`;
/** This many seeds end processes at every crossing; fewer may miss one. */
const ENOUGH_FOR_ALL_CROSSINGS = 800;
/** This many seeds reach every situation of the coverage counters. */
const ENOUGH_FOR_ALL_SITUATIONS = 2_000;
const PROGRESS_MS = 5_000;
const MAX_NODES = 3;

const report = (line: string) => process.stdout.write(`${line}\n`);
const stop = (why: string): never => {
  process.stderr.write(`${why}\n`);
  process.exit(2);
};
const countOf = (name: string, text: string | undefined): number | undefined => {
  if (text === undefined) return undefined;
  return /^\d{1,15}$/.test(text) ? Number(text) : stop(`--${name}: expected a whole number, not ${JSON.stringify(text)}`);
};
const faultOf = (name: string): FaultName =>
  FAULT_NAMES.find((known) => known === name) ?? stop(`--without: no fault ${JSON.stringify(name)}; --help lists them`);

const readWords = () => {
  try {
    return parseArgs({
      options: {
        ...{ seed: { type: "string" }, seeds: { type: "string" }, seconds: { type: "string" }, wishes: { type: "string" } },
        ...{
          nodes: { type: "string" },
          without: { type: "string" },
          trace: { type: "boolean" },
          json: { type: "boolean" },
          cores: { type: "string" },
          help: { type: "boolean" },
        },
      },
    }).values;
  } catch (fault) {
    return stop(`${fault instanceof Error ? fault.message : String(fault)}; see --help`);
  }
};

const printFailure = async (seed: number, options: WorldOptions): Promise<void> => {
  report(`(fail) seed ${seed}`);
  const failure = await runSeed(seed, options);
  const again = await runSeed(seed, options);
  if (again.fingerprint !== failure.fingerprint) report("       its second run differs: the run is not deterministic");
  const small = await shrink(failure, options);
  for (const line of small.end.trace) report(`  ${line}`);
  for (const fault of small.end.faults.slice(0, 5)) report(`  found: ${fault}`);
  const drawn = Object.entries(small.end.drawn).filter(([, probability]) => probability > 0);
  report(`  faults: ${drawn.map(([name, probability]) => `${name} ${probability.toFixed(3)}`).join(", ") || "none"}`);
  report(`  replay: ${replayCommand(failure.seed, small.options)}`);
};

const words = readWords();
if (words.help) {
  report(HELP);
  process.exit(0);
}
const wishes = countOf("wishes", words.wishes);
const nodes = countOf("nodes", words.nodes);
if (nodes !== undefined && (nodes < 1 || nodes > MAX_NODES)) stop(`--nodes: expected 1 to ${MAX_NODES}`);
const options: WorldOptions = {
  ...(words.without ? { without: words.without.split(",").map(faultOf) } : {}),
  ...(wishes === undefined ? {} : { wishes }),
  ...(nodes === undefined ? {} : { nodes }),
};
const first = countOf("seed", words.seed) ?? Math.floor(Math.random() * 1_000_000_000);
const count = countOf("seeds", words.seeds) ?? (words.seed === undefined ? 1_000 : 1);
if (count === 0) stop("--seeds: expected at least 1");
if (words.trace && count > 1) stop("--trace: shows one seed; leave --seeds out");
const seconds = countOf("seconds", words.seconds);
/** With fewer seeds a second process costs more time than it saves. */
const WORTH_CORES = 50;
const cores = count < WORTH_CORES ? 1 : (countOf("cores", words.cores) ?? availableParallelism());

if (words.trace) {
  const end = await runSeed(first, { ...options, keepsTrace: true });
  for (const line of end.trace) report(line);
  for (const fault of end.faults) report(`found: ${fault}`);
  report(`figures ${JSON.stringify({ ...end.figures, fingerprint: end.fingerprint })}`);
  report(`${end.faults.length === 0 ? 1 : 0} passed, ${end.faults.length === 0 ? 0 : 1} failed`);
  process.exit(end.faults.length === 0 ? 0 : 1);
}

const beganMono = performance.now();
const elapsedS = () => (performance.now() - beganMono) / 1000;
let saidMono = beganMono;
const progress = (done: number) => {
  if (performance.now() - saidMono < PROGRESS_MS) return;
  saidMono = performance.now();
  report(`  ${done} of ${count} seeds, ${Math.round((done / elapsedS()) * 60)} a minute`);
};
const sumInto = (sums: Record<string, number>, more: Record<string, number>) => {
  for (const [name, figure] of Object.entries(more)) sums[name] = (sums[name] ?? 0) + figure;
};

const runHere = async (): Promise<ShareEnd[]> => {
  const isOver = () => seconds !== undefined && elapsedS() >= seconds;
  const end = await runSeeds(first, count, { options, isOver, onReport: progress });
  const { seeds, figures, failure } = end;
  const struck = Object.fromEntries(end.struck);
  return [{ firstSeed: first, seeds, failed: failure?.seed ?? null, faults: failure?.faults ?? [], struck, figures }];
};
const passedOn = [
  ...(seconds === undefined ? [] : ["--seconds", String(seconds)]),
  ...(wishes === undefined ? [] : ["--wishes", String(wishes)]),
  ...(nodes === undefined ? [] : ["--nodes", String(nodes)]),
  ...(words.without ? ["--without", words.without] : []),
];
if (!words.json) report(`seed ${first}, ${count} seeds`);
const shares = cores > 1 ? await runOnCores({ first, count, cores, words: passedOn, onReport: progress }) : await runHere();

const seeds = shares.reduce((sum, share) => sum + share.seeds, 0);
const figures: Record<string, number> = {};
const struck: Record<string, number> = {};
for (const share of shares) {
  sumInto(figures, share.figures);
  sumInto(struck, share.struck);
}
const failures = shares.flatMap(({ failed }) => (failed === null ? [] : [failed]));
if (words.json) {
  const faults = shares.flatMap((share) => share.faults);
  const all: ShareEnd = { firstSeed: first, seeds, failed: failures[0] ?? null, faults, struck, figures };
  report(JSON.stringify(all));
  process.exit(failures.length === 0 ? 0 : 1);
}
for (const seed of failures) await printFailure(seed, options);
const judgesCrossings = seeds >= ENOUGH_FOR_ALL_CROSSINGS && !words.without && !words.nodes && failures.length === 0;
const missed = judgesCrossings ? unstruck(new Map(Object.entries(struck))) : [];
for (const crossing of missed) report(`(fail) no process ended at: ${crossing}`);
const never = judgesCrossings && seeds >= ENOUGH_FOR_ALL_SITUATIONS ? unseen(figures) : [];
for (const situation of never) report(`(fail) never came about: ${situation}`);
report(`figures ${JSON.stringify({ firstSeed: first, seeds, perMinute: Math.round((seeds / elapsedS()) * 60), ...figures })}`);
const failed = failures.length + missed.length + never.length;
report(`${seeds - failures.length} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
