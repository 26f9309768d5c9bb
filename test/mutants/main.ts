// Runs the mutants: `npm run mutants -- [--only NAME] [--most N] [--seed N]`; ends with `N passed, N failed`.
import { availableParallelism } from "node:os";
import { namesOf, readFlags, wholeOf } from "../flags.ts";
import { MUTANTS } from "./all.ts";
import { hunt } from "./hunt.ts";
import { filesOf, isSimulated, type Killer, type Mutant, planted } from "./mutant.ts";

const USAGE = `npm run mutants -- [--only NAME[,NAME]] [--most N] [--seed N] [--jobs N] [--list]

Changes the sources while they are loaded, one bug at a time, and runs the properties or the simulation for at most a minute until
one fails. A bug that none finds is a gap in the tests. The controls run without a bug and must find nothing.

  --only NAME   these mutants, without the controls
  --most N      at most N mutants, others each day, and only the controls of their killers (all)
  --seed N      first seed of all killers (1, or a seed shortly before one that finds the mutant)
  --jobs N      concurrent mutants (one for each core)
  --list        prints what each mutant breaks and which defect it represents

  npm run mutants
  npm run mutants -- --only no-grace
`;

const values = readFlags({
  only: { type: "string" },
  most: { type: "string" },
  seed: { type: "string" },
  jobs: { type: "string", default: String(availableParallelism()) },
  list: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
});
const say = (line: string) => process.stdout.write(`${line}\n`);
if (values.help) {
  say(USAGE);
  process.exit(0);
}
const FIRST_SEED = 1;
const given = values.seed === undefined ? undefined : wholeOf("seed", values.seed, 0);
const jobs = wholeOf("jobs", values.jobs);
const names = MUTANTS.map(({ name }) => name);
const wanted = values.only === undefined ? undefined : namesOf("only", values.only, names);
const DAY_MS = 86_400_000;
const most = values.most === undefined ? MUTANTS.length : Math.min(MUTANTS.length, wholeOf("most", values.most));
/** The index of today's first mutant, so that all mutants run within some days. */
const firstOfToday = (Math.floor(Date.now() / DAY_MS) * most) % MUTANTS.length;
const ofToday = [...MUTANTS.slice(firstOfToday), ...MUTANTS.slice(0, firstOfToday)].slice(0, most);
const chosen = wanted ? MUTANTS.filter(({ name }) => wanted.includes(name)) : most < MUTANTS.length ? ofToday : MUTANTS;
if (values.list) {
  for (const { name, breaks, standsFor, killer } of chosen) say(`${name} (${killer})\n  ${breaks}\n  ${standsFor}`);
  process.exit(0);
}

/** Runs and seeds of the control. */
const CONTROL: Readonly<Record<Killer, number>> = {
  ledger: 100,
  limits: 500,
  "last-credit": 500,
  machine: 100,
  asking: 1000,
  "look-up": 1000,
  resuming: 1000,
  "slow-receivers": 1000,
  "changing-receivers": 1000,
  deliveries: 30,
  simulation: 20,
  nodes: 10,
};

let passed = 0;
let failed = 0;
const judge = (holds: boolean, line: string) => {
  if (holds) passed += 1;
  else failed += 1;
  say(`${holds ? "(pass)" : "(fail)"} ${line}`);
};
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
const reasonOf = (fault: unknown): string => (fault instanceof Error ? fault.message : String(fault));
type Kill = { by: Killer; runs: number; ms: number };
const kills: Record<string, Kill> = {};

const huntMutant = async (mutant: Mutant): Promise<void> => {
  const { name, killer, breaks } = mutant;
  try {
    for (const file of filesOf(mutant)) planted(mutant, file);
    const { found, runs, ms } = await hunt(killer, name, given ?? mutant.seed ?? FIRST_SEED, null);
    const what = isSimulated(killer) ? "seeds" : "runs";
    if (found) kills[name] = { by: killer, runs, ms: Math.round(ms) };
    judge(
      found,
      found
        ? `${name}: found by ${killer} ${runs === 0 ? "in a kept counterexample" : `after ${runs} ${what}`}, ${seconds(ms)}`
        : `${name}: survived ${killer}. ${breaks}`,
    );
  } catch (fault) {
    judge(false, `${name}: ${reasonOf(fault)}`);
  }
};
const huntNothing = async (killer: Killer): Promise<void> => {
  try {
    const { found, ms, said } = await hunt(killer, null, given ?? FIRST_SEED, CONTROL[killer]);
    judge(!found, `without a mutant ${killer} finds ${found ? `something:\n${said.slice(-3000)}` : `nothing, ${seconds(ms)}`}`);
  } catch (fault) {
    judge(false, `control of ${killer}: ${reasonOf(fault)}`);
  }
};

say(`seed ${given ?? "of each"}, ${chosen.length} mutants`);
const killers = Object.keys(CONTROL) as Killer[];
const controls = wanted ? [] : killers.filter((killer) => chosen.some((mutant) => mutant.killer === killer));
const tasks = [...controls.map((killer) => () => huntNothing(killer)), ...chosen.map((mutant) => () => huntMutant(mutant))];
const worker = async () => {
  for (let task = tasks.shift(); task; task = tasks.shift()) await task();
};
await Promise.all(Array.from({ length: jobs }, worker));
const longestMs = Math.max(0, ...Object.values(kills).map(({ ms }) => ms));
say(`figures ${JSON.stringify({ mutants: chosen.length, found: Object.keys(kills).length, longestMs, kills })}`);
say(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
