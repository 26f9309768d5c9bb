// The properties in their full counts: `npm run properties -- [--runs N] [--seed N] [--only NAME]`; ends with `N passed, N failed`.
import { parseArgs } from "node:util";
import { PROPERTIES } from "./all.ts";

const USAGE = `npm run properties -- [--runs N] [--seed N] [--only NAME[,NAME]]

  --runs N      random runs of each property (5000); the race for the last credit makes a fifth of them
  --seed N      where the random values begin; the same seed makes the same values (random)
  --only NAME   ${PROPERTIES.map(({ name }) => name).join(", ")}

Counterexamples of former days (test/regressions/properties-*.json) are played first. A new one becomes such a file.

  npm run properties
  npm run properties -- --runs 200000 --only ledger,machine
  npm run properties -- --seed 7 --only last-credit
`;

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "5000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    only: { type: "string" },
    help: { type: "boolean", default: false },
  },
});
const say = (line: string) => process.stdout.write(`${line}\n`);
if (values.help) {
  say(USAGE);
  process.exit(0);
}
const runs = Number(values.runs);
const seed = Number(values.seed);
const wanted = values.only?.split(",") ?? PROPERTIES.map(({ name }) => name);
const chosen = PROPERTIES.filter(({ name }) => wanted.includes(name));
if (!Number.isInteger(runs) || runs < 1 || !Number.isInteger(seed) || chosen.length !== wanted.length) {
  say(USAGE);
  process.exit(2);
}

say(`seed ${seed}, ${runs} runs`);
let passed = 0;
const figures: Record<string, unknown> = { seed };
for (const { name, says, check } of chosen) {
  // With a bug planted a counterexample says nothing about the product: it is not kept, and nobody waits for it to shrink.
  const outcome = await check({ runs, seed, keeps: process.env.MUTANT === undefined });
  const perSecond = Math.round(outcome.runs / (outcome.ms / 1000));
  if (outcome.fault === null) passed += 1;
  say(`${outcome.fault === null ? "(pass)" : "(fail)"} ${name}: ${says} (${outcome.runs} runs, ${perSecond}/s)`);
  if (outcome.fault !== null) say(outcome.fault.replace(/^/gm, "       ").slice(0, 6000));
  const { fault: _, ms, ...counts } = outcome;
  figures[name] = { ...counts, ms: Math.round(ms), perSecond };
}
say(`figures ${JSON.stringify(figures)}`);
say(`${passed} passed, ${chosen.length - passed} failed`);
process.exit(passed === chosen.length ? 0 : 1);
