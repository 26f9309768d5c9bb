// Runs all CI steps with time budgets, in parallel where possible, and prints one verdict.
import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** Maximum duration of the complete run, s; a longer run fails. */
const WHOLE_S = 1020;
/** Time at which running steps are ended and fail, s. */
const END_S = 1500;
const CORES = 2;
/** Minimum fraction to which the number of a step is reduced. */
const LEAST_SHARE = 0.05;
/** Reserve on a machine that keeps the budgets, s, because the startup of a step takes time however short the step is. */
const MARGIN_S = 260;

/**
 * One line per step, in order of their start. A step starts when those of `after` have ended and `cores` of the two cores are
 * free. A step with `cores` 0 needs little CPU and may run beside any other step. `budgetS` is its budget beside parallel steps;
 * a longer step is marked. A step that `mayFail` is not counted; without it, tests report that they are skipped. Steps in virtual
 * time keep one core busy and do not delay parallel steps, which wait for disks, processes and leases. Every number in braces is
 * shorter than in `npm run long`. A slow machine reduces it further (see `shareOf`), but never below the second number if there
 * is one. `fixedS` is the part of the budget that the numbers in braces do not change. All steps but the installations start after
 * the build, because the tests need both cores.
 * @type {{ name: string, command: string, budgetS: number, fixedS?: number, cores: number, after?: string[], mayFail?: true }[]}
 */
const STEPS = [
  { name: "packages", command: "node scripts/bun.mjs --version", budgetS: 60, cores: 0 },
  // Without a network, or with a registry without advisories, the step prints why it is skipped.
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
  {
    // A part of the long files, of the scenarios on three nodes and of the many cases of one kind.
    name: "test:rest",
    command: "npm run test:rest -- --share {100,20}",
    budgetS: 860,
    fixedS: 190,
    cores: 2,
    after: ["build", "chromium"],
  },
  // Waits for most of its time for connections to be closed, so it runs beside other tests, but not beside the outages, which measure silence.
  { name: "fuzz", command: "npm run fuzz -- --cases {6000}", budgetS: 90, cores: 0, after: ["test"] },
  { name: "cluster", command: "npm run cluster -- --cycles {10}", budgetS: 110, fixedS: 60, cores: 1, after: ["build"] },
  // Shorter than the standalone run: an outage of 33 s (60 s), the bucket 12 s (30 s), 8 s per provider, a cold start of 10 s.
  { name: "outages", command: "npm run outages -- --short", budgetS: 75, cores: 1, after: ["build", "extras"] },
  { name: "power", command: "npm run power -- --cuts {12,3}", budgetS: 80, cores: 1, after: ["build"] },
  { name: "mutants", command: "npm run mutants -- --jobs 1 --most {120,8}", budgetS: 200, cores: 1, after: ["build"] },
  { name: "crash", command: "npm run crash -- --only random --cycles {30}", budgetS: 80, cores: 1, after: ["build"] },
  {
    name: "uploads",
    command: "npm run uploads -- --only disk,bucket,shared --uploads {450}",
    budgetS: 60,
    fixedS: 30,
    cores: 1,
    after: ["build"],
  },
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
  // Runs alone, because it measures the latency of calls. Shorter than the standalone run: one round in which all ways run together.
  {
    name: "bombs",
    command: "npm run bombs -- --binary built --only together --seconds {8,4}",
    budgetS: 30,
    cores: 2,
    after: ["build", "fuzz"],
  },
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
      // The process has already ended.
    }
};
process.on("exit", endAll);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(130));

const ended = new Map();
const failures = [];
let passed = 0;
let failed = 0;

/** A failed test with the first two lines of its message, if present. */
const FAILED = /^\(fail\).*(?:\n {7}\S.*){0,2}/gm;
const TEST_FILE = /^(?:test|actors)\/\S+\.test\.ts:$/;
const PASSED = /^\((?:pass|skip)\)/;
const CONTEXT_LINES = 25;

/** The file of a failed test and what its runner printed before it: the error, which stands above the line `(fail)`. */
const contextOf = (out, at) => {
  const lines = out.slice(0, at).trimEnd().split("\n");
  const file = lines.findLast((line) => TEST_FILE.test(line)) ?? "";
  const from = lines.findLastIndex((line) => PASSED.test(line) || line.startsWith("(fail)") || TEST_FILE.test(line));
  return [file, ...lines.slice(from + 1).slice(-CONTEXT_LINES)].filter(Boolean).map((line) => `  ${line}`);
};

/** Counts a completed command by its last line "N passed, N failed"; without such a line it counts as one check. */
const count = ({ name, mayFail }, out, code) => {
  if (mayFail) return;
  const seen = new Set();
  for (const { 0: found, index } of out.matchAll(FAILED)) {
    // The runner repeats the failed tests at the end of its output.
    if (seen.has(found)) continue;
    seen.add(found);
    failures.push(`${name}: ${found}`, ...contextOf(out, index));
  }
  const [, good, bad] = [...out.matchAll(/^(\d+) passed, (\d+) failed$/gm)].at(-1) ?? [];
  passed += Number(good ?? (code === 0 ? 1 : 0));
  const figure = Number(bad ?? 0);
  failed += figure > 0 || code === 0 ? figure : 1;
  if (code !== 0) failures.push(`${name}: ended with ${code}`);
};

/**
 * Fraction to which the numbers in braces are reduced: 1 on a machine that keeps the budgets of the tests; on a slower one as
 * much as the remaining time allows, and at least a twentieth.
 */
const shareOf = () => {
  const seen = STEPS.filter(({ name, cores }) => cores === CORES && ended.has(name));
  const sum = (steps, of) => steps.reduce((total, step) => total + of(step), 0);
  const slowness = sum(seen, ({ name }) => ended.get(name).tookS) / sum(seen, ({ name }) => expectedS.get(name)) || 1;
  const open = STEPS.filter(({ name }) => !ended.has(name));
  const unchangedS = slowness * (MARGIN_S + sum(open, ({ fixedS = 0 }) => fixedS));
  const needS = (slowness * sum(open, ({ budgetS, cores, fixedS = 0 }) => (budgetS - fixedS) * cores)) / CORES;
  return Math.min(1, Math.max(LEAST_SHARE, (WHOLE_S - unchangedS - secondsSince(beganMs)) / needS));
};
/** Duration of each started step with its numbers on a machine that keeps the budgets, s. */
const expectedS = new Map();
/** The share of a number of a command, or 1 if it has none. */
const usedShare = (command, share) => {
  const [, number, least = "1"] = /\{(\d+)(?:,(\d+))?\}/.exec(command) ?? [];
  return number === undefined ? 1 : Math.max(Number(least) / Number(number), share);
};
const shortened = (command, share) =>
  command.replace(/\{(\d+)(?:,(\d+))?\}/g, (_, number, least = 1) => String(Math.max(least, Math.ceil(number * share))));

const begin = (step, onEnded) => {
  const path = join(dir, String(STEPS.indexOf(step)));
  const file = openSync(path, "a");
  const share = shareOf();
  const command = shortened(step.command, share);
  const { budgetS, fixedS = 0 } = step;
  expectedS.set(step.name, fixedS + usedShare(step.command, share) * (budgetS - fixedS));
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
        // A later step must not start before a step that waits for both cores.
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
  for (const { name, mayFail } of STEPS) {
    const { tookS, code } = ended.get(name);
    const budgetS = Math.round(expectedS.get(name));
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
// Failures are repeated at the end, where a truncated log still contains them.
if (failures.length > 0) say(`\nfailed:\n${failures.join("\n")}`);
table(wholeS);
say(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
