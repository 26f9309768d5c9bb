// The file-system faults: `npm run faults -- [--only NAME] [--sweep N]`; ends with `N passed, N failed`.
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startSimulator } from "../../src/torture/crash/crash-fixture.ts";
import { freePort, killAll } from "../../src/torture/crash/processes.ts";
import { builtBinary } from "../built.ts";
import { dropScratch, makeScratch } from "../scratch.ts";
import { SPEED } from "./fixture.ts";
import { SPACE } from "./space.ts";
import { STARTS } from "./starts.ts";
import { playSweep, type SweepKind } from "./sweep.ts";
import { SYNCS } from "./syncs.ts";
import type { Row } from "./table.ts";

const HELP = `Usage: npm run faults -- [--only NAME] [--sweep N]

Runs the binary on disks that are full, slow, damaged, read-only or fail at the n-th call. Checks after each: no acknowledgement
is lost, no job is purchased twice, credits are conserved, the next start is clean and every generation ends.
  --only NAME   run one row: NAMES
  --sweep N     number of failing writes and of failing syncs, spread over a lifetime (default 40); 500: each of 1 to 500

Examples:
  $ npm run faults
  $ npm run faults -- --only full-disk
  $ npm run faults -- --only sweep --sweep 500
`;

const say = (line: string) => process.stdout.write(`${line}\n`);
let figures: Record<string, number> = {};
const sweepRow = (kind: SweepKind): Row => ({
  name: "sweep",
  says: `the n-th ${kind.toLowerCase()} fails: the service exits with 70 or continues, and the next start is clean`,
  play: async (world) => {
    const { faults, counts } = await playSweep(world, kind, flags.sweep);
    const prefix = kind.toLowerCase();
    figures = { ...figures, ...Object.fromEntries(Object.entries(counts).map(([name, count]) => [`${prefix}.${name}`, count])) };
    if (faults.length > 0) throw new Error(faults.slice(0, 5).join("\n       "));
    return `${counts.struck} of ${counts.lives} lives hit; ${counts.failedStarts} starts failed, ${counts.ended} exited with 70, ${counts.survived} continued`;
  },
});
const ROWS: readonly Row[] = [...SPACE, ...SYNCS, ...STARTS, sweepRow("WRITE"), sweepRow("SYNC")];
const NAMES = [...new Set(ROWS.map(({ name }) => name))];
const help = HELP.replace("NAMES", NAMES.join(", "));

const readFlags = () => {
  try {
    const { values } = parseArgs({
      options: {
        only: { type: "string" },
        sweep: { type: "string", default: "40" },
        help: { type: "boolean", default: false, short: "h" },
      },
    });
    if (values.only !== undefined && !NAMES.includes(values.only))
      throw new Error(`--only: there is no row ${JSON.stringify(values.only)}`);
    if (!/^[1-9]\d{0,4}$/.test(values.sweep))
      throw new Error(`--sweep: ${JSON.stringify(values.sweep)} is not a whole number above 0`);
    return { ...values, sweep: Number(values.sweep) };
  } catch (fault) {
    say(`${fault instanceof Error ? fault.message : fault}\n\n${help}`);
    return process.exit(2);
  }
};
const flags = readFlags();
if (flags.help) {
  say(help);
  process.exit(0);
}

/** Rows that run concurrently: each waits most of the time. */
const AT_A_TIME = 3;

const beganMono = performance.now();
const genrouter = await builtBinary(say);
const dir = makeScratch("faults-log-");
const simulator = await startSimulator(genrouter, { port: await freePort(), speed: SPEED, log: join(dir, "simulator.log") });
let passed = 0;
let failed = 0;
const play = async (row: Row): Promise<void> => {
  try {
    const note: unknown = await row.play({ simulator, say });
    passed += 1;
    say(`(pass) ${row.name}: ${row.says}${typeof note === "string" ? ` (${note})` : ""}`);
  } catch (fault) {
    failed += 1;
    say(`(fail) ${row.name}: ${row.says}\n       ${fault instanceof Error ? fault.message : fault}`);
  }
};
const rows = ROWS.filter(({ name }) => flags.only === undefined || name === flags.only);
// The sweeps run after the other rows, because they have their own concurrency.
const [sweeps, others] = [rows.filter(({ name }) => name === "sweep"), rows.filter(({ name }) => name !== "sweep")];
const lane = async () => {
  for (let row = others.shift(); row; row = others.shift()) await play(row);
};
await Promise.all(Array.from({ length: AT_A_TIME }, lane));
for (const row of sweeps) await play(row);
killAll();
dropScratch(dir);
say(`figures ${JSON.stringify({ ...figures, tookMs: Math.round(performance.now() - beganMono) })}`);
say(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
