// Runs the whole proof: every step with its time budget, two at a time where they leave each other room, and one verdict at the end.
import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** The whole may take this long, s; above it, it has failed. */
const WHOLE_S = 1020;
/** What still runs then is ended, and has failed, s. */
const END_S = 1500;
const CORES = 2;
/** No number of a step is shortened below this part of it. */
const LEAST_SHARE = 0.05;
/** Kept free at the end: what starts a step takes its time however short it is. */
const MARGIN_S = 150;

/**
 * One line a step, in the order in which they begin: each begins when those of `after` have ended and `cores` of the two are free (0: it takes
 * little, and may run beside anything). `budgetS` is what it may take beside what runs with it: above it a step is marked. One that `mayFail` is not counted: without it
 * tests say that they are skipped.
 * What lives in virtual time keeps one core busy and takes nothing from what runs beside it, which waits for disks, processes and leases.
 * Shorter than `npm run long`: every number in braces, which a slow machine shortens further (see `shareOf`), never below the second number
 * where there is one. All but the installs begin after the build: the tests wait for both cores.
 * @type {{ name: string, command: string, budgetS: number, cores: number, after?: string[], mayFail?: true }[]}
 */
const STEPS = [
  { name: "packages", command: "node scripts/bun.mjs --version", budgetS: 60, cores: 0 },
  // Without a network, or from a registry that has no advisories, it prints why it is skipped.
  { name: "audit", command: "node scripts/audit.mjs", budgetS: 30, cores: 0 },
  { name: "extras", command: "bash .ci/extras", budgetS: 90, cores: 0, mayFail: true },
  {
    name: "chromium",
    command: "node scripts/bun.mjs test/browser/fetch.ts",
    budgetS: 60,
    cores: 0,
    after: ["packages"],
    mayFail: true,
  },
  // Before the tests, some of which run the binary.
  { name: "build", command: "npm run build", budgetS: 30, cores: 1, after: ["packages"] },
  { name: "build twice", command: "npm run build -- --check", budgetS: 60, cores: 0, after: ["build"] },
  { name: "test", command: "npm test", budgetS: 240, cores: 2, after: ["build", "extras"] },
  { name: "test:rest", command: "npm run test:rest", budgetS: 300, cores: 2, after: ["build", "chromium"] },
  // First of those that share the cores: much of their time passes in waits, and at the end nobody fills it.
  { name: "fuzz", command: "npm run fuzz -- --cases {6000}", budgetS: 45, cores: 1, after: ["build"] },
  { name: "cluster", command: "npm run cluster -- --cycles {10}", budgetS: 70, cores: 1, after: ["build"] },
  // Shorter than it is by itself: an outage of 33 s instead of 60, the bucket 12 s instead of 30, a provider 8 s each, a cold start of 10 s.
  { name: "outages", command: "npm run outages -- --short", budgetS: 75, cores: 1, after: ["build", "extras"] },
  { name: "power", command: "npm run power -- --cuts {12,3}", budgetS: 80, cores: 1, after: ["build"] },
  { name: "mutants", command: "npm run mutants -- --jobs 1 --most {120,8}", budgetS: 200, cores: 1, after: ["build"] },
  { name: "crash", command: "npm run crash -- --only random --cycles {30}", budgetS: 70, cores: 1, after: ["build"] },
  { name: "properties", command: "npm run properties -- --jobs 1 --runs {3000}", budgetS: 80, cores: 1, after: ["build"] },
  { name: "simulate", command: "npm run simulate -- --cores 1 --seeds {800}", budgetS: 60, cores: 1, after: ["build"] },
  { name: "faults", command: "npm run faults -- --sweep {40,4}", budgetS: 60, cores: 1, after: ["build"] },
  { name: "move", command: "npm run move -- --generations {20000,5000}", budgetS: 40, cores: 1, after: ["build"] },
  {
    name: "two-faced",
    command: "npm run two-faced -- --binary built --cases {15}",
    budgetS: 50,
    cores: 1,
    after: ["build"],
  },
  { name: "fuzz media", command: "npm run fuzz -- --media {100}", budgetS: 40, cores: 1, after: ["build"] },
  // Alone: it judges how long a call waits.
  { name: "bombs", command: "npm run bombs -- --seconds {5,2}", budgetS: 60, cores: 2, after: ["build"] },
];

const dir = mkdtempSync(join(tmpdir(), "ci-"));
const beganMs = Date.now();
const secondsSince = (ms) => (Date.now() - ms) / 1000;
const say = (text) => process.stdout.write(`${text}\n`);

const running = new Map();
const endAll = () => {
  for (const { child } of running.values())
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
};
process.on("exit", endAll);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(130));

const ended = new Map();
const failures = [];
let passed = 0;
let failed = 0;

/** What failed, with the first two lines of why, where they stand below it. */
const FAILED = /^\(fail\).*(?:\n {7}\S.*){0,2}/gm;

/** A command that has ended is counted by its last line that says "N passed, N failed"; without one it is one check by itself. */
const count = ({ name, mayFail }, out, code) => {
  if (mayFail) return;
  for (const [found] of out.matchAll(FAILED)) failures.push(`${name}: ${found}`);
  const [, good, bad] = [...out.matchAll(/^(\d+) passed, (\d+) failed$/gm)].at(-1) ?? [];
  passed += Number(good ?? (code === 0 ? 1 : 0));
  const figure = Number(bad ?? 0);
  failed += figure > 0 || code === 0 ? figure : 1;
  if (code !== 0) failures.push(`${name}: ended with ${code}`);
};

/**
 * The part of the numbers in braces for which there is time: all on a machine that keeps the budgets of the tests; on one that is slower as much
 * as its own speed leaves room for, and a twentieth at least.
 */
const shareOf = () => {
  const seen = STEPS.filter(({ name, cores }) => cores === CORES && ended.has(name));
  const sum = (steps, of) => steps.reduce((total, step) => total + of(step), 0);
  const slowness = Math.max(1, sum(seen, ({ name }) => ended.get(name).tookS) / (sum(seen, ({ budgetS }) => budgetS) || 1));
  const open = STEPS.filter(({ name }) => !ended.has(name));
  const needS = (slowness * sum(open, ({ budgetS, cores }) => budgetS * cores)) / CORES;
  return Math.min(1, Math.max(LEAST_SHARE, (WHOLE_S - MARGIN_S - secondsSince(beganMs)) / needS));
};
const shortened = (command) =>
  command.replace(/\{(\d+)(?:,(\d+))?\}/g, (_, number, least = 1) => String(Math.max(least, Math.ceil(number * shareOf()))));

const begin = (step, onEnded) => {
  const path = join(dir, String(STEPS.indexOf(step)));
  const file = openSync(path, "a");
  const command = shortened(step.command);
  const child = spawn("bash", ["-c", command], { cwd: root, detached: true, stdio: ["ignore", file, file] });
  const fromMs = Date.now();
  running.set(step.name, { step, child });
  say(`== ${Math.round(secondsSince(beganMs))} s: ${step.name} begins: ${command}`);
  child.on("close", (code, signal) => {
    closeSync(file);
    running.delete(step.name);
    const tookS = secondsSince(fromMs);
    const out = readFileSync(path, "utf8");
    say(`\n== ${step.name}: ${command}\n${out.trimEnd()}\n== ${step.name} ended after ${Math.round(tookS)} s\n`);
    count(step, out, code ?? signal);
    ended.set(step.name, { tookS, code: code ?? signal });
    onEnded();
  });
};

const runAll = () =>
  new Promise((done) => {
    const waiting = [...STEPS];
    const beginMore = () => {
      if (ended.size === STEPS.length) done();
      for (const step of [...waiting]) {
        const busy = [...running.values()].reduce((sum, each) => sum + each.step.cores, 0);
        const isReady = (step.after ?? []).every((name) => ended.has(name));
        // Nothing overtakes what waits for both cores only.
        if (isReady && busy + step.cores > CORES) break;
        if (!isReady) continue;
        waiting.splice(waiting.indexOf(step), 1);
        begin(step, beginMore);
      }
    };
    beginMore();
  });

const table = (wholeS) => {
  const row = (name, budgetS, tookS, note) =>
    `${name.padEnd(14)} ${String(budgetS).padStart(7)} s ${String(Math.round(tookS)).padStart(7)} s  ${note}`;
  say("\nstep            budget    actual");
  for (const { name, budgetS, mayFail } of STEPS) {
    const { tookS, code } = ended.get(name);
    const notes = [tookS > budgetS ? "over its budget" : "", code === 0 ? "" : mayFail ? "not there" : "failed"];
    say(row(name, budgetS, tookS, notes.filter(Boolean).join(", ")));
  }
  say(row("the whole", WHOLE_S, wholeS, wholeS > WHOLE_S ? "over its budget" : ""));
};

const alarm = setTimeout(() => {
  failures.push(`ended after ${END_S} s: ${[...running.keys()].join(", ")}`);
  endAll();
}, END_S * 1000);
await runAll();
clearTimeout(alarm);
rmSync(dir, { recursive: true, force: true });
const wholeS = secondsSince(beganMs);
if (wholeS > WHOLE_S) {
  failed += 1;
  failures.push(`the whole took ${Math.round(wholeS)} s of ${WHOLE_S} s`);
}
// What failed stands once more at the end, where a log that was cut off still shows it.
if (failures.length > 0) say(`\nfailed:\n${failures.join("\n")}`);
table(wholeS);
say(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
