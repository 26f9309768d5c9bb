// Runs the properties with full counts: `npm run properties -- [--runs N] [--only NAME]`; ends with `N passed, N failed`.
import { availableParallelism } from "node:os";
import { namesOf, readFlags, wholeOf } from "../flags.ts";
import { PROPERTIES } from "./all.ts";

const USAGE = `npm run properties -- [--runs N] [--seed N] [--only NAME[,NAME]] [--jobs N]

  --runs N      random runs of each property (5000); last-credit makes a fifth of them
  --seed N      seed of the random values (random)
  --only NAME   ${PROPERTIES.map(({ name }) => name).join(", ")}
  --jobs N      concurrent properties, each in a separate process (one for each core)

Earlier counterexamples (test/regressions/properties-*.json) run first. A new one is written to such a file.

  npm run properties
  npm run properties -- --runs 200000 --only ledger,machine
  npm run properties -- --seed 7 --only last-credit
`;

const values = readFlags({
  runs: { type: "string", default: "5000" },
  seed: { type: "string", default: String(Date.now() % 1_000_000) },
  only: { type: "string" },
  jobs: { type: "string", default: String(availableParallelism()) },
  help: { type: "boolean", default: false },
});
const say = (line: string) => process.stdout.write(`${line}\n`);
if (values.help) {
  say(USAGE);
  process.exit(0);
}
const runs = wholeOf("runs", values.runs);
const seed = wholeOf("seed", values.seed, 0);
const most = wholeOf("jobs", values.jobs);
const names = PROPERTIES.map(({ name }) => name);
const wanted = values.only === undefined ? names : namesOf("only", values.only, names);
const chosen = PROPERTIES.filter(({ name }) => wanted.includes(name));

type Result = { name: string; lines: string[]; held: boolean; figures: unknown };

const checkHere = async ({ name, says, check }: (typeof PROPERTIES)[number]): Promise<Result> => {
  // With a planted bug a counterexample is no finding about the product: it is neither shrunk nor kept.
  const { fault, ms, ...counts } = await check({ runs, seed, keeps: process.env.MUTANT === undefined });
  const perSecond = Math.round(counts.runs / (ms / 1000));
  const head = `${fault === null ? "(pass)" : "(fail)"} ${name}: ${says} (${counts.runs} runs, ${perSecond}/s)`;
  const lines = fault === null ? [head] : [head, fault.replace(/^/gm, "       ").slice(0, 6000)];
  return { name, lines, held: fault === null, figures: { ...counts, ms: Math.round(ms), perSecond } };
};

/** Checks a property in a separate process and passes its output on. */
const checkApart = async ({ name }: (typeof PROPERTIES)[number]): Promise<Result> => {
  const args = ["--runs", String(runs), "--seed", String(seed), "--only", name, "--jobs", "1"];
  const child = Bun.spawn([process.execPath, import.meta.path, ...args], { stdout: "pipe", stderr: "inherit" });
  const said = (await new Response(child.stdout).text()).trimEnd().split("\n");
  const held = (await child.exited) === 0;
  const figures = said.find((line) => line.startsWith("figures "))?.slice("figures ".length);
  const own = figures === undefined ? undefined : (JSON.parse(figures) as Record<string, unknown>)[name];
  // Without the first line (seed) and the last two (figures, count); the output of a crashed process is shown whole.
  return { name, lines: own === undefined ? [`(fail) ${name}`, ...said] : said.slice(1, -2), held, figures: own };
};

say(`seed ${seed}, ${runs} runs`);
const jobs = Math.min(chosen.length, most);
const results: Result[] = [];
const waiting = [...chosen];
const worker = async () => {
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const result = await (jobs === 1 ? checkHere(next) : checkApart(next));
    results.push(result);
    for (const line of result.lines) say(line);
  }
};
await Promise.all(Array.from({ length: jobs }, worker));
const failed = results.filter(({ held }) => !held).length;
say(`figures ${JSON.stringify({ seed, ...Object.fromEntries(results.map(({ name, figures }) => [name, figures])) })}`);
say(`${results.length - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
