// The simulation: `npm run simulate -- [--seed N] [--seeds K]`; ends with `N passed, N failed`.
import { parseArgs } from "node:util";
import { FAULT_NAMES, FAULTS, type FaultName } from "./faults.ts";
import { runSeed, runSeeds, unstruck, type WorldEnd, type WorldOptions } from "./run.ts";
import { replayCommand, shrink } from "./shrink.ts";

const HELP = `Simulated worlds: the real engine, ledger, machines and store in virtual time, under faults drawn from a seed.

  npm run simulate                              1,000 seeds from a random one
  npm run simulate -- --seed 7                  one seed
  npm run simulate -- --seed 7 --seeds 5000     seeds 7 to 5006
  npm run simulate -- --seed 7 --trace          one seed with every line of its trace

  --seed N         the first seed (random when absent)
  --seeds K        how many (1 with --seed alone, else 1,000)
  --seconds S      stop after this many seconds
  --wishes N       at most this many submissions per world
  --without A,B    faults that do not happen
  --trace          print the trace (one seed)
  --json           the end as one JSON line

Faults: ${FAULT_NAMES.map((name) => `\n  ${name.padEnd(18)} ${FAULTS[name].means}`).join("")}
`;
/** So many seeds end processes at every registered place; fewer may miss one. */
const ENOUGH_FOR_ALL_CROSSINGS = 500;
const PROGRESS_MS = 5_000;

const say = (line: string) => process.stdout.write(`${line}\n`);
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
        ...{ without: { type: "string" }, trace: { type: "boolean" }, json: { type: "boolean" }, help: { type: "boolean" } },
      },
    }).values;
  } catch (fault) {
    return stop(`${fault instanceof Error ? fault.message : String(fault)}; see --help`);
  }
};

const tellFailure = async (failure: WorldEnd, options: WorldOptions): Promise<void> => {
  say(`(fail) seed ${failure.seed}`);
  const again = await runSeed(failure.seed, options);
  if (again.fingerprint !== failure.fingerprint) say("       its second run went another way: something in it is left to chance");
  const small = await shrink(failure, options);
  for (const line of small.end.trace) say(`  ${line}`);
  for (const fault of small.end.faults.slice(0, 5)) say(`  found: ${fault}`);
  const drawn = Object.entries(small.end.drawn).filter(([, probability]) => probability > 0);
  say(`  faults: ${drawn.map(([name, probability]) => `${name} ${probability.toFixed(3)}`).join(", ") || "none"}`);
  say(`  replay: ${replayCommand(failure.seed, small.options)}`);
};

const words = readWords();
if (words.help) {
  say(HELP);
  process.exit(0);
}
const wishes = countOf("wishes", words.wishes);
const options: WorldOptions = {
  ...(words.without ? { without: words.without.split(",").map(faultOf) } : {}),
  ...(wishes === undefined ? {} : { wishes }),
};
const first = countOf("seed", words.seed) ?? Math.floor(Math.random() * 1_000_000_000);
const count = countOf("seeds", words.seeds) ?? (words.seed === undefined ? 1_000 : 1);
const seconds = countOf("seconds", words.seconds);

if (words.trace) {
  const end = await runSeed(first, { ...options, keepsTrace: true });
  for (const line of end.trace) say(line);
  for (const fault of end.faults) say(`found: ${fault}`);
  say(`figures ${JSON.stringify({ ...end.figures, fingerprint: end.fingerprint })}`);
  say(`${end.faults.length === 0 ? 1 : 0} passed, ${end.faults.length === 0 ? 0 : 1} failed`);
  process.exit(end.faults.length === 0 ? 0 : 1);
}

const beganMono = performance.now();
const elapsedS = () => (performance.now() - beganMono) / 1000;
let saidMono = beganMono;
say(`seed ${first}, ${count} seeds`);
const end = await runSeeds(first, count, {
  options,
  isOver: () => seconds !== undefined && elapsedS() >= seconds,
  told: (done) => {
    if (performance.now() - saidMono < PROGRESS_MS) return;
    saidMono = performance.now();
    say(`  ${done} of ${count} seeds, ${Math.round((done / elapsedS()) * 60)} a minute`);
  },
});
if (end.failure) await tellFailure(end.failure, options);
const missed = end.seeds >= ENOUGH_FOR_ALL_CROSSINGS && !words.without && !end.failure ? unstruck(end.struck) : [];
for (const crossing of missed) say(`(fail) no process ended at: ${crossing}`);
const perMinute = Math.round((end.seeds / elapsedS()) * 60);
const figures = { firstSeed: first, seeds: end.seeds, perMinute, ...end.figures };
say(`figures ${JSON.stringify(figures)}`);
if (words.json) say(JSON.stringify({ ...figures, failed: end.failure?.seed ?? null, faults: end.failure?.faults ?? [], missed }));
const failed = (end.failure ? 1 : 0) + missed.length;
say(`${end.seeds - (end.failure ? 1 : 0)} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
