// `npm run bench`: every figure of the service beside its yardstick, both measured in the same run on the same machine.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { builtBinary } from "../built.ts";
import { namesOf, readFlags } from "../flags.ts";
import { BENCHES } from "./all.ts";
import { type Env, type Result, Skipped } from "./bench.ts";
import { describeMachine } from "./machine.ts";
import { pictureOf, tableOf } from "./table.ts";

const HELP = `Usage: npm run bench -- [--short] [--only NAME,NAME] [--json] [--out DIR]

Measures the service beside a yardstick, in turns on the same machine, and holds the ratio of the two against its target. Server and
load have a core each. Exit code 0: every target was met.

  --short       fewer and shorter rounds, fewer rows
  --only NAMES  these benches, separated by commas
  --json        the results as JSON on standard output, and nothing else there
  --out DIR     writes results.json and targets.svg there

${BENCHES.map(({ name, compares }) => `  ${name.padEnd(16)} ${compares}`).join("\n")}

Examples:
  npm run bench -- --short
  npm run bench -- --only submit,poll
`;

const values = readFlags({
  short: { type: "boolean", default: false },
  only: { type: "string" },
  json: { type: "boolean", default: false },
  out: { type: "string" },
  help: { type: "boolean", default: false, short: "h" },
});
if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
const print = (text: string) => process.stdout.write(`${text}\n`);
const tell = (line: string) => process.stderr.write(`${line}\n`);
const names = BENCHES.map(({ name }) => name);
const wanted = values.only === undefined ? names : namesOf("only", values.only, names);

await builtBinary(tell);
const commit = Bun.spawnSync(["git", "rev-parse", "--short=12", "HEAD"]).stdout.toString().trim();
const results: Result[] = [];
let failed = 0;
const fromMono = performance.now();
for (const [at, bench] of BENCHES.filter(({ name }) => wanted.includes(name)).entries()) {
  const head = `[${at + 1}/${wanted.length}, ${Math.round((performance.now() - fromMono) / 1000)} s] ${bench.name}`;
  tell(`${head}: ${bench.compares}`);
  const env: Env = {
    isShort: values.short,
    rounds: values.short ? 6 : 20,
    roundMs: values.short ? 500 : 2_000,
    starts: values.short ? 3 : 7,
    lives: values.short ? { rounds: 6, roundMs: 800, warmAtMostMs: 12_000 } : { rounds: 9, roundMs: 3_000, warmAtMostMs: 60_000 },
    tell: (line) => tell(`${head}: ${line}`),
  };
  try {
    results.push(...(await bench.run(env)));
  } catch (fault) {
    if (!(fault instanceof Skipped)) failed += 1;
    tell(`${head}: ${fault instanceof Skipped ? "skipped" : "FAILED"}: ${fault instanceof Error ? fault.message : fault}`);
  }
}
const judged = results.filter(({ isNote }) => !isNote);
const missed = judged.filter(({ met }) => !met);
const told = { results, machine: describeMachine(), commit, at: new Date().toISOString() };
if (values.out !== undefined) {
  writeFileSync(join(values.out, "results.json"), JSON.stringify(told, null, 1));
  writeFileSync(join(values.out, "targets.svg"), pictureOf(results, `${told.machine}, ${commit}`));
}
if (values.json) print(JSON.stringify(told));
else {
  print(`${told.machine}, commit ${commit}, ${Math.round((performance.now() - fromMono) / 1000)} s`);
  print(tableOf(results));
  print(`${judged.length - missed.length} passed, ${missed.length + failed} failed`);
}
process.exit(missed.length + failed === 0 ? 0 : 1);
