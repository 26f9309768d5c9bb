// `npm test`: the checks (types, lint, dead code), then every test in random order; ends with `N passed, N failed`.
import { availableParallelism } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dir, "..");
const bin = (name: string) => join(root, "node_modules", ".bin", name);
/** `--checks`: the checks alone. Anything else is passed on to the test runner, which then runs without the checks. */
const onlyChecks = process.argv.includes("--checks");
const args = process.argv.slice(2).filter((word) => word !== "--checks");

/** Checks that need no running service: name and command. */
const CHECKS: [string, string[]][] = [
  ["types", [bin("tsc"), "-p", "."]],
  ["types of the web pages", [bin("tsc"), "-p", "web"]],
  ["format and lint", [bin("biome"), "check", "."]],
  [
    "floating promises",
    [bin("oxlint"), "--type-aware", "-c", ".oxlintrc.json", "src", "actors", "catalogue", "test", "proof", "scripts", "web"],
  ],
  ["dead code", [process.execPath, "--bun", bin("knip")]],
];

let passed = 0;
let failed = 0;
const say = (line: string) => process.stdout.write(`${line}\n`);

const check = async (name: string, command: string[]): Promise<void> => {
  const run = Bun.spawn(command, { cwd: root, stdout: "pipe", stderr: "pipe" });
  const [out, err, code] = await Promise.all([new Response(run.stdout).text(), new Response(run.stderr).text(), run.exited]);
  if (code === 0) {
    passed += 1;
    say(`(pass) ${name}`);
    return;
  }
  failed += 1;
  say(`(fail) ${name}\n${out}${err}`);
};

/** Runs the tests, each file in a world of its own, as many at a time as there are cores; shows what they print, and reads their figures from the closing lines. */
const runTests = async (): Promise<void> => {
  const run = Bun.spawn(
    [process.execPath, "test", "--randomize", "--timeout=60000", `--parallel=${availableParallelism()}`, ...args],
    {
      cwd: root,
      stdout: "inherit",
      stderr: "pipe",
      env: { ...process.env, NODE_ENV: "test" },
    },
  );
  const decoder = new TextDecoder();
  let tail = "";
  for await (const chunk of run.stderr) {
    process.stderr.write(chunk);
    tail = (tail + decoder.decode(chunk, { stream: true })).slice(-4000);
  }
  const code = await run.exited;
  const figure = (word: string) => Number(new RegExp(`^ (\\d+) ${word}$`, "m").exec(tail)?.[1] ?? 0);
  passed += figure("pass");
  failed += figure("fail");
  // A runner that ended badly without a failed test (a crash, no tests) is a failure all the same.
  if (code !== 0 && figure("fail") === 0) failed += 1;
};

if (args.length === 0) for (const [name, command] of CHECKS) await check(name, command);
if (!onlyChecks) await runTests();
say(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
