// Runs the benches (`npm run bench`): every figure of the service beside its yardstick, in the same run on the same machine.
import { accessSync, constants, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { builtBinary } from "../built.ts";
import { namesOf, readFlags, refuse } from "../flags.ts";
import { BENCHES } from "./all.ts";
import { type Env, Skipped } from "./bench.ts";
import { stopAllHeard } from "./child.ts";
import { keptOf, type Measured, NOTHING, RESULTS, type RunResults } from "./kept.ts";
import { describeMachine, isInMemory, moveToLoadCore } from "./machine.ts";
import { killServices } from "./service.ts";
import { killRungs } from "./sides.ts";
import { endKept, stockAhead } from "./stock.ts";
import { pictureOf, tableOf, type Unmeasured } from "./table.ts";
import { tenFiguresChart } from "./ten-figures.ts";
import { isLadder } from "./yardstick.ts";

const HELP = `Usage: npm run bench -- [--short] [--only NAME,NAME] [--json] [--out DIR] [--yardstick DIR] [--before BINARY]

Measures the service and a yardstick in turns on the same machine, and compares the ratio of the two with its target. The server
and the load each have one core. Exit code 0: every target was met, and only peers that cannot be installed here were skipped.

  --short       fewer and shorter rounds, fewer rows; benches without a target are skipped unless --only names them
  --only NAMES  these benches, separated by commas
  --json        prints only the results, as JSON, on standard output
  --out DIR     writes results.json after each bench, and two charts; with --only, the results of other benches of
                the same code and setting are kept, so that a long run can be made in parts
  --yardstick DIR
                compares the ceiling of submissions with that of another yardstick, in the bench \`submit\`
  --before BINARY
                an earlier build for the bench \`before\`, which is skipped without it

${BENCHES.map(({ name, compares }) => `  ${name.padEnd(16)} ${compares}`).join("\n")}

Examples:
  npm run bench -- --short
  npm run bench -- --only submit,poll
  npm run bench -- --only before --before ../genrouter-of-before
`;

const values = readFlags({
  short: { type: "boolean", default: false },
  only: { type: "string" },
  json: { type: "boolean", default: false },
  out: { type: "string" },
  yardstick: { type: "string" },
  before: { type: "string" },
  help: { type: "boolean", default: false, short: "h" },
});
if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
const print = (text: string) => process.stdout.write(`${text}\n`);
const report = (line: string) => process.stderr.write(`${line}\n`);
const names = BENCHES.map(({ name }) => name);
// Short runs skip informational benches.
const usual = BENCHES.filter(
  ({ isInformational, needs }) => !(isInformational && values.short) && (!needs || values[needs] !== undefined),
).map(({ name }) => name);
const wanted = values.only === undefined ? usual : namesOf("only", values.only, names);
const chosen = BENCHES.filter(({ name }) => wanted.includes(name));

const { out, yardstick, before } = values;
const lacking = chosen.find(({ needs }) => needs && values[needs] === undefined);
if (lacking) refuse(`--only ${lacking.name}: it needs --${lacking.needs}`);
if (before !== undefined && !existsSync(before)) refuse(`--before: there is no file ${before}`);
if (yardstick !== undefined && !isLadder(yardstick)) refuse(`--yardstick: there is no ladder in ${yardstick}`);
if (out !== undefined)
  try {
    mkdirSync(out, { recursive: true });
    accessSync(out, constants.W_OK);
  } catch (fault) {
    refuse(`--out: nothing can be written there: ${fault instanceof Error ? fault.message : fault}`);
  }
if (isInMemory(tmpdir())) refuse(`${tmpdir()} is in memory, where a sync costs nothing: set TMPDIR to a directory on a disk`);

await builtBinary(report);
moveToLoadCore();
const git = (...words: string[]) =>
  Bun.spawnSync(["git", ...words], { cwd: import.meta.dir, stderr: "ignore" })
    .stdout.toString()
    .trim();
const isDirty = git("status", "--porcelain", "--untracked-files=no") !== "";
const commit = `${git("rev-parse", "--short=12", "HEAD") || "unknown"}${isDirty ? "-dirty" : ""}`;
const machine = describeMachine();
/** Only code counts: pages and pictures may change between the parts of a long run. */
const sources = git("ls-tree", "-r", "--full-tree", "HEAD", "--", "src", "actors", "catalogue", "test/bench").split("\n");
const isCode = (line: string) => /\.(ts|sql|json)$/.test(line) && !line.endsWith(RESULTS);
const code = Bun.SHA256.hash(sources.filter(isCode).join("\n"), "hex").slice(0, 12);

const kept = out === undefined || values.only === undefined ? NOTHING : keptOf(out, { code, isShort: values.short }, wanted);
const measured: Measured[] = [...kept.measured];
const skipped: Unmeasured[] = [...kept.skipped];
const failed: Unmeasured[] = [...kept.failed];
const judgedOf = () => measured.filter(({ isNote }) => !isNote);
const reported = (): RunResults => {
  const inOrder = measured.toSorted((a, b) => names.indexOf(a.bench) - names.indexOf(b.bench));
  return {
    ...{ results: inOrder.filter(({ isNote }) => !isNote), notes: inOrder.filter(({ isNote }) => isNote), skipped, failed },
    ...{ machine, commit, code, isShort: values.short, at: new Date().toISOString() },
  };
};
const keep = () => {
  if (out !== undefined) writeFileSync(join(out, RESULTS), JSON.stringify(reported(), null, 1));
};
const fromMono = performance.now();
const elapsed = () => `${Math.round((performance.now() - fromMono) / 1000)} s`;

/** Runs a part of the program; a failure is recorded under its name, and the other parts continue. */
const attempt = async (name: string, say: (line: string) => void, work: () => Promise<void>): Promise<void> => {
  try {
    await work();
  } catch (fault) {
    const reason = fault instanceof Error ? fault.message : String(fault);
    if (!(fault instanceof Skipped)) failed.push({ name, bench: name, reason });
    else if (fault.isFault) failed.push({ name, bench: name, reason: `not measured: ${reason}` });
    else skipped.push({ name, bench: name, reason });
    say(`${fault instanceof Skipped ? "not measured" : "FAILED"}: ${reason}`);
  }
};

for (const [at, bench] of chosen.entries()) {
  const say = (line: string) => report(`[${at + 1}/${chosen.length}, ${elapsed()}] ${bench.name}: ${line}`);
  say(bench.compares);
  const env: Env = {
    isShort: values.short,
    rounds: values.short ? 3 : 10,
    roundMs: values.short ? 500 : 2_000,
    starts: values.short ? 3 : 5,
    lives: values.short
      ? { rounds: 3, roundMs: 1_000, warmAtMostMs: 8_000 }
      : { rounds: 7, roundMs: 3_000, warmAtMostMs: 60_000 },
    ...(yardstick === undefined ? {} : { yardstick }),
    ...(before === undefined ? {} : { before: resolve(before) }),
    report: say,
    skip: (part, reason) => {
      skipped.push({ name: `${bench.name}, ${part}`, bench: bench.name, reason });
      say(`${part}: not measured: ${reason}`);
    },
  };
  await attempt(bench.name, say, async () => {
    // Flushes earlier writes to disk, so that they do not disturb this bench.
    Bun.spawnSync(["sync"]);
    const taking = bench.isPatient ? chosen.slice(at + 1).find(({ takesEnded }) => takesEnded) : undefined;
    const fetching = bench.isPatient ? chosen.slice(at + 1).find(({ fetches }) => fetches) : undefined;
    const ahead = Promise.allSettled([
      taking?.takesEnded && stockAhead(taking.takesEnded(values.short)),
      fetching?.fetches?.(say),
    ]);
    try {
      for (const result of await bench.run(env)) measured.push({ ...result, bench: bench.name });
    } finally {
      await ahead;
    }
  });
  // Leftovers of a failed bench would disturb the next.
  stopAllHeard();
  killRungs();
  killServices();
  keep();
}
await attempt("what was stocked", report, () => endKept());

const missed = judgedOf().filter(({ met }) => !met);
if (values.json) print(JSON.stringify(reported()));
else {
  print(`${machine}, commit ${commit}, ${elapsed()}`);
  print(tableOf([...reported().results, ...reported().notes], { skipped, failed }));
  if (skipped.length > 0) print(`${skipped.length} not measured`);
  print(`${judgedOf().length - missed.length} passed, ${missed.length + failed.length} failed`);
}
keep();
if (out !== undefined) {
  const title = `${machine}, ${commit}`;
  writeFileSync(join(out, "targets.svg"), pictureOf(reported().results, title));
  writeFileSync(join(out, "ten-figures.svg"), tenFiguresChart(reported().results, title));
}
process.exit(missed.length + failed.length === 0 ? 0 : 1);
