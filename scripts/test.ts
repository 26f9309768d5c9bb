// `npm test`: runs the checks and all tests without browser, PostgreSQL, crashes or much CPU time.
//
// `--rest` runs the others; with `--share N`, N percent of their expensive cases. The last line is `N passed, N failed`.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { casesOfShare, SHARE_VARIABLE } from "../test/case-share.ts";
import { BOUND_MS } from "../test/stall/meter.ts";
import { type Ended, type Job, runJobs } from "./job-pool.ts";
import { LONG_FILES, needsOf, SET_VARIABLE, setOf, type TestSet, testFiles } from "./test-sets.ts";

const root = join(import.meta.dir, "..");
const bin = (name: string) => join(root, "node_modules", ".bin", name);

const words = process.argv.slice(2);
/** `--share 30`: percent of the expensive cases that run (test/case-share.ts). */
const shareAt = words.indexOf("--share");
const share = shareAt === -1 ? undefined : words.splice(shareAt, 2)[1];
const OWN_FLAGS = ["--checks", "--rest", "--record"] as const;
const has = (flag: (typeof OWN_FLAGS)[number]) => words.includes(flag);
/** All other arguments, such as a path, are passed to the test runner, which then runs only those tests. */
const args = words.filter((word) => !(OWN_FLAGS as readonly string[]).includes(word));

/**
 * Checks that need no running service: name and command. Parallel checkers of the compiler and threads of the linter each read
 * the same types again, and a small heap is collected repeatedly. With one thread and a large heap they need half of the CPU
 * time, and other jobs use the other core.
 */
const CHECKS: [string, string[]][] = [
  ["types", [bin("tsc"), "-p", ".", "--checkers", "1"]],
  ["types of the web pages", [bin("tsc"), "-p", "web", "--checkers", "1"]],
  ["format and lint", [bin("biome"), "check", "."]],
  [
    "floating promises",
    [bin("oxlint"), "--type-aware", "-c", ".oxlintrc.json", "src", "actors", "catalogue", "test", "scripts", "web"],
  ],
  ["dead code", [process.execPath, "--bun", bin("knip")]],
];
const CHECK_S = 8;
/** Environment of the two checks that are written in Go. */
const CHECK_ENV = { GOGC: "400", GOMAXPROCS: "1" };

/**
 * Most test processes end before the engine's last compiler tier pays off; without it they take 7 % less CPU time. Other jobs use
 * the other core, so one thread marks the heap.
 */
const TEST_ENV = { BUN_JSC_useFTLJIT: "0", BUN_JSC_numberOfGCMarkers: "1" };
const BUN_TEST = [process.execPath, "test", "--randomize", "--timeout=60000"];

/** Durations of slow files, s, for their order; `--record` updates them. */
const TIMES = join(root, "test", "times.json");
const KEPT_FROM_S = 2;
const readTimes = (): Record<string, number> =>
  existsSync(TIMES) ? (JSON.parse(readFileSync(TIMES, "utf8")) as Record<string, number>) : {};

let passed = 0;
let failed = 0;
const say = (line: string) => process.stdout.write(`${line}\n`);

/** Adds the counts of a test run. A run that failed without a failed test (a crash, no tests) counts as one failure. */
const count = (out: string, code: number): void => {
  const figure = (word: string) => Number(new RegExp(`^ (\\d+) ${word}$`, "m").exec(out)?.[1] ?? 0);
  passed += figure("pass");
  failed += figure("fail");
  if (code !== 0 && figure("fail") === 0) failed += 1;
};

const checkJobs = (): Job[] => CHECKS.map(([name, command]) => ({ name, command, env: CHECK_ENV, expectedS: CHECK_S }));
/**
 * Number of fast files that share a process with their neighbouring files, because common modules are then loaded once. The
 * groups are always the same, so that interactions between files are reproducible.
 */
const FILES_A_PROCESS = 12;
const SLOW_S = 10;
const groupsOf = (files: readonly string[], size: number): string[][] =>
  Array.from({ length: Math.ceil(files.length / size) }, (_, n) => files.slice(n * size, (n + 1) * size));

/** Runs scenarios of the API, which the other set tests on one node, on three nodes. */
const isRepeated = (file: string): boolean => readFileSync(join(root, file), "utf8").includes("onThreeNodes(");
/** Takes long, and needs no other program. */
const isLong = (file: string): boolean => LONG_FILES.includes(file) && needsOf(file).length === 0;
/** All files of a set; with `--share`, a part of those that repeat scenarios and of the long ones. */
const filesOf = (set: TestSet): readonly string[] => {
  const all = testFiles().filter((file) => setOf(file) === set);
  const part = (what: string, files: readonly string[]) => casesOfShare(what, files, (file) => file, share);
  return [
    ...all.filter((file) => !isRepeated(file) && !isLong(file)),
    ...part("files of scenarios on three nodes", all.filter(isRepeated)),
    ...part("long files", all.filter(isLong)),
  ];
};

const testJobs = (set: TestSet): Job[] => {
  const times = readTimes();
  const files = filesOf(set);
  const isSlow = (file: string) => (times[file] ?? 0) >= SLOW_S;
  const fast = files.filter((file) => !isSlow(file));
  // With --record each file runs separately, so that its duration is measured. The number of nodes is the same for a whole process.
  const quick = [fast.filter((file) => !isRepeated(file)), fast.filter(isRepeated)].flatMap((some) =>
    groupsOf(some, has("--record") ? 1 : FILES_A_PROCESS),
  );
  return [...files.filter(isSlow).map((file) => [file]), ...quick].map((group) => ({
    name: group.length === 1 ? String(group[0]) : `${group[0]} and the ${group.length - 1} behind it`,
    command: [...BUN_TEST, ...group.map((file) => `./${file}`)],
    env: { [SET_VARIABLE]: set, ...TEST_ENV, ...(share === undefined ? {} : { [SHARE_VARIABLE]: share }) },
    expectedS: group.reduce((sum, file) => sum + (times[file] ?? 0), 0),
  }));
};

const seconds = (ms: number) => (ms / 1000).toFixed(1).padStart(6);
/** Lines of a passed file that are printed nevertheless. */
const SKIPPED = /^(skipped:|shortened:|\(skip\))/;
/** Longest stall of a file, measured by the stall meter (test/stall). */
const stallOf = ({ out }: Ended): number | undefined => {
  const [, ms] = /^stall: (\d+) ms/m.exec(out) ?? [];
  return ms === undefined ? undefined : Number(ms);
};
const reportStalls = (ended: readonly Ended[]): void => {
  const stalls = ended.flatMap((each) => ({ ms: stallOf(each) ?? -1, file: each.job.name })).filter(({ ms }) => ms >= 0);
  const [worst] = stalls.sort((a, b) => b.ms - a.ms);
  if (worst)
    say(
      `longest pause of a service's event loop: ${worst.ms} ms in ${worst.file} (${stalls.length} files, bound ${BOUND_MS} ms)`,
    );
};
const show = ({ job, code, out, wallMs, cpuMs }: Ended): void => {
  const isCheck = CHECKS.some(([name]) => name === job.name);
  if (!isCheck) count(out, code);
  else if (code === 0) passed += 1;
  else failed += 1;
  // Failed tests have their own marked lines; a check has none.
  const mark = code === 0 ? "(pass)" : isCheck ? "(fail)" : "FAILED";
  say(`${mark} ${seconds(wallMs)} s ${seconds(cpuMs)} s cpu  ${job.name}`);
  const reported = code === 0 ? out.split("\n").filter((line) => SKIPPED.test(line)) : [out];
  for (const line of reported) say(line);
};

const runAll = async (jobs: Job[]): Promise<void> => {
  const beganMono = performance.now();
  const ended = await runJobs(jobs, show);
  const cpuMs = ended.reduce((sum, each) => sum + each.cpuMs, 0);
  const slowest = ended.sort((a, b) => b.wallMs - a.wallMs).slice(0, 10);
  say(`\n${seconds(performance.now() - beganMono)} s, ${seconds(cpuMs)} s of processor time; the longest:`);
  for (const { job, wallMs, cpuMs: cpu } of slowest) say(`${seconds(wallMs)} s ${seconds(cpu)} s cpu  ${job.name}`);
  reportStalls(ended);
  if (has("--record")) record(ended);
};

const record = (ended: readonly Ended[]): void => {
  const files = new Set(testFiles());
  const times = { ...readTimes() };
  for (const { job, wallMs } of ended) times[job.name] = Math.round(wallMs / 1000);
  const kept = Object.entries(times).filter(([name, s]) => files.has(name) && s >= KEPT_FROM_S);
  writeFileSync(TIMES, `${JSON.stringify(Object.fromEntries(kept.sort(([a], [b]) => (a < b ? -1 : 1))), null, 2)}\n`);
};

/** Runs the named tests: each file in a separate process, with complete output. */
const runNamed = async (): Promise<void> => {
  const run = Bun.spawn([...BUN_TEST, `--parallel=${availableParallelism()}`, ...args], {
    cwd: root,
    ...{ stdout: "inherit", stderr: "pipe" },
    env: { ...process.env, NODE_ENV: "test" },
  });
  const decoder = new TextDecoder();
  let tail = "";
  for await (const chunk of run.stderr) {
    process.stderr.write(chunk);
    tail = (tail + decoder.decode(chunk, { stream: true })).slice(-4000);
  }
  count(tail, await run.exited);
};

if (args.length > 0) await runNamed();
else if (has("--checks")) await runAll(checkJobs());
else if (has("--rest")) await runAll(testJobs("rest"));
else await runAll([...checkJobs(), ...testJobs("quick")]);
say(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
