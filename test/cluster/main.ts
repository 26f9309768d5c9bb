// The cluster program: `npm run cluster -- [--cycles N] [--seed N] [--record FILE] [--sources]`; ends with `N passed, N failed`.
import { join } from "node:path";
import type { Check } from "../../src/torture/crash/audit.ts";
import { type End, mergeEnds } from "../../src/torture/crash/merge-reports.ts";
import { FROM_SOURCES, type Genrouter, killAll } from "../../src/torture/crash/processes.ts";
import { builtBinary } from "../built.ts";
import { readFlags, refuse, wholeOf } from "../flags.ts";
import { postgresReason } from "../postgres/binaries.ts";
import { endScratch, killAtTheEnd, makeScratch } from "../scratch.ts";
import { startBucket } from "./bucket.ts";
import { playControl, playWebhookControl } from "./control.ts";
import { openClusterServer } from "./database.ts";
import { openRecord, seedOf } from "./record.ts";
import { playRound, type RoundPlan } from "./round.ts";

const HELP = `Usage: npm run cluster -- [--cycles N] [--seed N] [--record FILE] [--workers N] [--sources]

Runs three nodes on one PostgreSQL database and one bucket, with a lease of two seconds, under load: nodes are killed, paused
past their leases, disconnected and drained; the database crashes. An audit follows each round of at most 50 cycles: nothing
acknowledged is lost, nothing is submitted twice, and an ended node writes nothing. The log of a webhook receiver
is compared with the database. Then the controls run nodes without fencing, and nodes that do not take over webhook
deliveries, whose damage the audits must find.
  --cycles N     faults (default 20), in rounds of at most 50
  --seed N       seed of loads and faults (default: a new one each time, printed)
  --record FILE  file that gets a line for each finished round; a run with the same file continues the last run until
                 the file has N cycles, and prints the sum
  --workers N    concurrent callers (default 8)
  --only PART    rounds or control
  --binary       run the nodes from dist/genrouter, which is built if it is older than the sources (default)
  --sources      run the nodes from the sources

Examples:
  $ npm run cluster
  $ npm run cluster -- --cycles 50 --seed 7 --only rounds
  $ npm run cluster -- --cycles 1000 --record /tmp/cluster.jsonl
`;
const CYCLES_OF_ROUND = 50;
/** Counters that must not be zero in a round of that many cycles. */
const WORK = ["killsInSending", "wokenAfterTheirEnd", "takenOver", "files"] as const;

const say = (line: string) => process.stdout.write(`${line}\n`);
const said = readFlags({
  cycles: { type: "string", default: "20" },
  seed: { type: "string", default: String(Date.now() % 1_000_000) },
  record: { type: "string" },
  workers: { type: "string", default: "8" },
  only: { type: "string" },
  binary: { type: "boolean", default: true },
  sources: { type: "boolean", default: false },
  help: { type: "boolean", default: false, short: "h" },
});
if (said.help) {
  say(HELP);
  process.exit(0);
}
if (said.only !== undefined && said.only !== "rounds" && said.only !== "control")
  refuse(`--only: ${JSON.stringify(said.only)} is neither rounds nor control`);
const flags = {
  ...said,
  cycles: wholeOf("cycles", said.cycles),
  seed: wholeOf("seed", said.seed, 0),
  workers: wholeOf("workers", said.workers),
};
if (postgresReason !== undefined) {
  say(`skipped: ${postgresReason}`);
  say("0 passed, 0 failed");
  process.exit(0);
}

let passed = 0;
let failed = 0;
const judge = ({ name, faults }: Check) => {
  if (faults.length === 0) passed += 1;
  else failed += 1;
  say(`${faults.length === 0 ? "(pass)" : "(fail)"} ${name}`);
  for (const fault of faults.slice(0, 10)) say(`       ${fault}`);
  if (faults.length > 10) say(`       and ${faults.length - 10} more`);
};

const record = openRecord(flags.record, flags.seed);
say(`seed ${record.base}`);
const genrouter: Genrouter = flags.sources ? FROM_SOURCES : await builtBinary(say);
const dir = makeScratch("cluster-");
killAtTheEnd(killAll);
const server = await openClusterServer();
const beganMono = performance.now();

/** Plays with its own bucket. An error that stops the round is reported as a fault. */
const attempt = async (
  own: Pick<RoundPlan, "name" | "seed" | "cycles" | "say">,
  play: (plan: RoundPlan) => Promise<End>,
): Promise<End> => {
  const place = join(dir, own.name);
  const bucket = await startBucket(join(place, "bucket"));
  try {
    return await play({ ...own, genrouter, server, bucket, workers: flags.workers, dir: place });
  } catch (fault) {
    const why = fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);
    return { checks: [{ name: "the round completes without an error", faults: [why] }], figures: {} };
  } finally {
    killAll();
    await bucket.child.ended;
  }
};
const isWhole = ({ checks }: End) => checks.every(({ faults }) => faults.length === 0);

let played = 0;
while (flags.only !== "control" && record.cycles() < flags.cycles) {
  const n = record.rounds();
  const name = `round_${n + 1}`;
  const cycles = Math.min(CYCLES_OF_ROUND, flags.cycles - record.cycles());
  const seed = seedOf(record.base, n);
  const report = (line: string) => say(`round ${n + 1} (seed ${seed}), ${line}`);
  const end = await attempt({ name, cycles, seed, say: report }, playRound);
  record.add(end);
  played += end.figures.cycles ?? 0;
  if (isWhole(end)) continue;
  say(`again: npm run cluster -- --cycles ${cycles} --seed ${seed} --workers ${flags.workers} --only rounds`);
  break;
}
const cyclesPerMin = Math.round((played / ((performance.now() - beganMono) / 60_000)) * 10) / 10;
const { checks, figures } = record.sum();
for (const check of checks) judge(check);
if (record.cycles() >= CYCLES_OF_ROUND)
  judge({
    name: "the faults occur during work: submissions were in flight, nodes resumed after their leases, generations were taken over",
    faults: WORK.filter((name) => !figures[name]).map((name) => `no ${name}`),
  });
let control: End = { checks: [], figures: {} };
// The controls are skipped after a fault, so that their output does not hide the first finding.
if (flags.only !== "rounds" && failed === 0) {
  const quiet = { cycles: 0, seed: record.base, say: () => {} };
  control = mergeEnds([
    await attempt({ ...quiet, name: "control" }, playControl),
    await attempt({ ...quiet, name: "webhook_control" }, playWebhookControl),
  ]);
  for (const check of control.checks) judge(check);
}
killAll();
await server.stop();
endScratch(dir, failed > 0, say);
say(`figures ${JSON.stringify({ ...figures, ...control.figures, rounds: record.rounds(), cyclesPerMin })}`);
say(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
