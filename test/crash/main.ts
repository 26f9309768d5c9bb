// The crash program: `npm run crash -- [--cycles N] [--seed N] [--only points|random|control] [--sources]`; ends with `N passed, N failed`.
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startSimulator } from "../../src/torture/crash/crash-fixture.ts";
import { runLanes } from "../../src/torture/crash/parallel-worlds.ts";
import { FROM_SOURCES, freePort, type Genrouter } from "../../src/torture/crash/processes.ts";
import { builtBinary } from "../built.ts";
import { dropScratch, keepScratch, makeScratch } from "../scratch.ts";
import { type PointWorld, playBirth, playInsideSettlement, playPoint, playUpgrade } from "./point-run.ts";
import { POINTS, SETTLEMENTS } from "./points.ts";
import { playWebhookControl, WEBHOOK_CONTROLS } from "./webhook-control.ts";

const HELP = `Usage: npm run crash -- [--cycles N] [--seed N] [--only points|random|control] [--lanes N] [--workers N] [--sources]

Kills the service at every named point of a generation, then at random moments under load, and audits the store against the
logs of its clients, of the simulated providers and of a webhook receiver. Then the controls run services whose webhooks are
wrong, which the audit must find.
  --cycles N    starts that end with a random kill (default 100); an audit follows every 50 of a world, and its end
  --seed N      seed of loads, faults and kills (default: a new one each time, printed)
  --only PART   points, random or control
  --lanes N     concurrent worlds, which share the cycles (default: one for each core, at most 2)
  --workers N   concurrent callers of a world (default: 16 to 32, by the seed)
  --binary      run the random kills on dist/genrouter, which is built if it is older than the sources (default)
  --sources     run them on the sources

Examples:
  $ npm run crash
  $ npm run crash -- --cycles 2000 --only random
  $ npm run crash -- --cycles 50 --seed 7 --lanes 1
`;

const say = (line: string) => process.stdout.write(`${line}\n`);
const readWords = () =>
  parseArgs({
    options: {
      cycles: { type: "string", default: "100" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      only: { type: "string" },
      lanes: { type: "string", default: String(Math.min(2, availableParallelism())) },
      workers: { type: "string" },
      binary: { type: "boolean", default: true },
      sources: { type: "boolean", default: false },
      help: { type: "boolean", default: false, short: "h" },
    },
  }).values;
const readFlags = () => {
  try {
    return readWords();
  } catch (fault) {
    say(`${fault instanceof Error ? fault.message : fault}\n\n${HELP}`);
    return process.exit(2);
  }
};
const flags = readFlags();
if (flags.help) {
  say(HELP);
  process.exit(0);
}
const whole = (name: "cycles" | "seed" | "lanes" | "workers"): number => {
  const text = flags[name] ?? "";
  if (/^\d{1,9}$/.test(text) && (name === "seed" || Number(text) > 0)) return Number(text);
  say(`--${name}: ${JSON.stringify(text)} is not a whole number${name === "seed" ? "" : " above 0"}\n\n${HELP}`);
  return process.exit(2);
};
// All flags are checked before anything starts.
const wanted = {
  ...{ cycles: whole("cycles"), seed: whole("seed"), lanes: whole("lanes") },
  ...(flags.workers === undefined ? {} : { workers: whole("workers") }),
};
if (flags.only !== undefined && !["points", "random", "control"].includes(flags.only)) {
  say(`--only: ${JSON.stringify(flags.only)} is none of points, random and control\n\n${HELP}`);
  process.exit(2);
}

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
    (note) => ({ note: typeof note === "string" ? `: ${note} of it was stored` : "", faults: [] }),
    (fault: unknown) => ({ note: "", faults: [fault instanceof Error ? (fault.stack ?? fault.message) : String(fault)] }),
  );
  judge(`${name}${seen.note}`, seen.faults);
};

/** Minutes of service time take half a second here. */
const POINTS_SPEED = 5000;
const INSIDE_TIMES = 3;
/** Points that run concurrently: each waits most of the time. */
const POINTS_AT_A_TIME = 2;

const playPoints = async () => {
  const dir = makeScratch("crash-points-");
  const place = { port: await freePort(), speed: POINTS_SPEED, log: join(dir, "log") };
  const simulator = await startSimulator(FROM_SOURCES, place);
  const world: PointWorld = { simulator, speed: POINTS_SPEED, genrouter: FROM_SOURCES };
  const plays: [string, () => Promise<unknown>][] = [
    ...POINTS.map((point): [string, () => Promise<unknown>] => [point.name, () => playPoint(world, point)]),
    ...SETTLEMENTS.flatMap((settlement) =>
      Array.from({ length: INSIDE_TIMES }, (_, n): [string, () => Promise<unknown>] => [
        `${settlement.name} (${n + 1})`,
        () => playInsideSettlement(world, settlement),
      ]),
    ),
    ["during the migration of a new directory: the next start completes it", () => playBirth(world)],
    [
      "during the migration of a directory in use: the old schema remains and the old release continues",
      () => playUpgrade(world),
    ],
  ];
  const total = plays.length;
  const worker = async () => {
    for (let next = plays.shift(); next; next = plays.shift()) await attempt(...next);
  };
  await Promise.all(Array.from({ length: POINTS_AT_A_TIME }, worker));
  simulator.child.kill("SIGTERM");
  await simulator.child.ended;
  dropScratch(dir);
  return total;
};

const playRandom = async (genrouter: Genrouter) => {
  const beganMono = performance.now();
  const dir = makeScratch("crash-random-");
  const hear = (line: string) => {
    if (line.includes("kept for a look")) keepScratch(dir);
    say(line);
  };
  const { checks, figures } = await runLanes({ ...wanted, dir, genrouter, report: hear });
  for (const { name, faults } of checks) judge(name, faults);
  if (checks.every(({ faults }) => faults.length === 0)) dropScratch(dir);
  else keepScratch(dir);
  const minutes = (performance.now() - beganMono) / 60_000;
  return { ...figures, cyclesPerMin: Math.round(((figures.cycles ?? 0) / minutes) * 10) / 10 };
};

const playControls = async () => {
  const dir = makeScratch("crash-controls-");
  for (const [n, control] of WEBHOOK_CONTROLS.entries()) {
    const { name, faults } = await playWebhookControl(control, { dir: join(dir, String(n)), seed: wanted.seed, say: () => {} });
    judge(name, faults);
  }
  dropScratch(dir);
};

say(`seed ${wanted.seed}`);
const isWanted = (part: string) => flags.only === undefined || flags.only === part;
let figures: Record<string, number> = { points: 0 };
if (isWanted("points")) figures.points = await playPoints();
if (isWanted("random")) {
  const genrouter = flags.sources ? FROM_SOURCES : await builtBinary(say);
  say(`random kills on ${genrouter.join(" ")}`);
  figures = { ...figures, ...(await playRandom(genrouter)) };
}
// After a fault the controls are left out, so that their output does not hide it.
if (isWanted("control") && failed === 0) await playControls();
say(`figures ${JSON.stringify(figures)}`);
say(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
