// The crash programme: `npm run crash -- [--cycles N] [--seed N] [--only points|random] [--binary]`; ends with `N passed, N failed`.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { BINARY, FROM_SOURCES, freePort } from "../../proof/crash/processes.ts";
import { runRandom } from "../../proof/crash/random.ts";
import { startSimulator } from "../../proof/crash/world.ts";
import { type PointWorld, playBirth, playInsideSettlement, playPoint, playUpgrade } from "./point-run.ts";
import { POINTS } from "./points.ts";

const { values } = parseArgs({
  options: {
    cycles: { type: "string", default: "100" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    only: { type: "string" },
    workers: { type: "string", default: "16" },
    binary: { type: "boolean", default: false },
  },
});
const say = (line: string) => process.stdout.write(`${line}\n`);
const genrouter = values.binary ? BINARY : FROM_SOURCES;
if (values.binary && !existsSync(BINARY[0] ?? "")) {
  say("dist/genrouter is not there; make it with: npm run build");
  process.exit(2);
}

// An exit takes the processes of the tests with it; a signal alone would not.
process.on("SIGINT", () => process.exit(130));
process.on("SIGTERM", () => process.exit(143));

let passed = 0;
let failed = 0;
const judge = (name: string, faults: readonly string[]) => {
  if (faults.length === 0) passed += 1;
  else failed += 1;
  say(`${faults.length === 0 ? "(pass)" : "(fail)"} ${name}`);
  for (const fault of faults.slice(0, 10)) say(`       ${fault}`);
  if (faults.length > 10) say(`       and ${faults.length - 10} more`);
};
const attempt = async (name: string, play: () => Promise<unknown>) => {
  const seen = await play().then(
    (note) => ({ note: typeof note === "string" ? `: ${note} of it was there` : "", faults: [] }),
    (fault: unknown) => ({ note: "", faults: [fault instanceof Error ? (fault.stack ?? fault.message) : String(fault)] }),
  );
  judge(`${name}${seen.note}`, seen.faults);
};

/** What waits for minutes in life waits for half a second here. */
const POINTS_SPEED = 5000;
const INSIDE_TIMES = 6;

const playPoints = async () => {
  const dir = mkdtempSync(join(tmpdir(), "crash-points-"));
  const simulator = await startSimulator(genrouter, { port: await freePort(), speed: POINTS_SPEED, log: join(dir, "log") });
  const world: PointWorld = { simulator, speed: POINTS_SPEED, genrouter };
  for (const point of POINTS) await attempt(point.name, () => playPoint(world, point));
  for (let n = 1; n <= INSIDE_TIMES; n += 1)
    await attempt(`inside E, ${n}: all of it or nothing`, () => playInsideSettlement(world));
  await attempt("during the migration of a new directory: the next start makes it whole", () => playBirth(world));
  await attempt("during the migration of a directory in use: old schema, old release goes on", () => playUpgrade(world));
  simulator.child.kill("SIGTERM");
  await simulator.child.ended;
  rmSync(dir, { recursive: true, force: true });
};

const playRandom = async () => {
  const dir = mkdtempSync(join(tmpdir(), "crash-random-"));
  const plan = { dir, cycles: Number(values.cycles), seed: Number(values.seed), workers: Number(values.workers), genrouter, say };
  const { checks, figures } = await runRandom(plan);
  for (const { name, faults } of checks) judge(name, faults);
  for (const [name, figure] of Object.entries(figures)) say(`  ${name.padEnd(20)} ${figure}`);
};

say(`seed ${values.seed}`);
if (values.only !== "random") await playPoints();
if (values.only !== "points")
  await playRandom().catch((fault: unknown) =>
    judge("the random crashes", [fault instanceof Error ? (fault.stack ?? "") : String(fault)]),
  );
say(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
