// The outage trials: `npm run outages -- [--short | --long] [--only NAMES] [--seed N]`; ends with `N passed, N failed`.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Check } from "../../src/torture/crash/audit.ts";
import type { End } from "../../src/torture/crash/merge-reports.ts";
import { freePort, type Genrouter, killAll, run } from "../../src/torture/crash/processes.ts";
import { builtBinary } from "../built.ts";
import { namesOf, readFlags, refuse, wholeOf } from "../flags.ts";
import { postgresReason } from "../postgres/binaries.ts";
import { endScratch, killAtTheEnd, makeScratch } from "../scratch.ts";
import { type Alerts, openAlerts } from "./alerts.ts";
import { playTrial } from "./play.ts";
import { type Length, type Trial, trialsOf } from "./trials.ts";
import { type Restarts, restartsOf } from "./unit.ts";

const HELP = `Usage: npm run outages -- [--short | --long] [--only NAME,…] [--seed N] [--callers N] [--jobs N]

Makes a dependency unavailable while clients submit and poll: PostgreSQL, PostgreSQL behind pgbouncer, the bucket, the space
on a disk, a provider; or starts it after the nodes. The nodes are dist/genrouter, restarted by the rules of the unit that
\`genrouter install systemd\` writes. PostgreSQL, pgbouncer, the bucket server and Prometheus are real. Afterwards it checks that
no received response was dropped, no job with a lookup was purchased twice, every generation ended, verify passes, the nodes
responded and recovered without help, and the shipped alerts fired and ended.

  (neither)      PostgreSQL unavailable for 1, 12 and 60 s, for 33 s with a route time of 10 s, and 12 s behind pgbouncer; bucket
                 30 s; disk 40 s; each provider 40 s with confirm_s 20; a cold start of 25 s; alert durations 30 times shorter
  --short        for CI: without the 60 s; bucket 12 s, disk 24 s, each provider 8 s with confirm_s 4, a cold start of 10 s
  --long         additionally PostgreSQL unavailable for 600 s, and each provider for 600 s, with unchanged times and alerts
  --only NAMES   a selection of: ${trialsOf("long")
    .map(({ name }) => name)
    .join(", ")}
  --seed N       seed of the providers' times (default: a new one each time, printed)
  --callers N    clients of each trial (default 8)
  --jobs N       concurrent trials, each in a separate environment (default 8)
`;

const say = (line: string) => process.stdout.write(`${line}\n`);
const said = readFlags({
  short: { type: "boolean", default: false },
  long: { type: "boolean", default: false },
  only: { type: "string" },
  seed: { type: "string", default: String(Date.now() % 1_000_000) },
  callers: { type: "string", default: "8" },
  jobs: { type: "string", default: "8" },
  help: { type: "boolean", default: false, short: "h" },
});
if (said.help) {
  say(HELP);
  process.exit(0);
}
if (said.short && said.long) refuse("--short and --long: only one is allowed");
const length: Length = said.short ? "short" : said.long ? "long" : "usual";
const [seed, callers, jobs] = [wholeOf("seed", said.seed, 0), wholeOf("callers", said.callers), wholeOf("jobs", said.jobs)];
const known = trialsOf(length);
const names = known.map(({ name }) => name);
const chosen = said.only === undefined ? names : namesOf("only", said.only, names);
if (postgresReason !== undefined) {
  say(`skipped: ${postgresReason}`);
  say("0 passed, 0 failed");
  process.exit(0);
}

let [passed, failed] = [0, 0];
const judged = (trial: Trial, { name, faults }: Check) => {
  if (faults.length === 0) passed += 1;
  else failed += 1;
  say(`${faults.length === 0 ? "(pass)" : "(fail)"} ${trial.name}: ${name}`);
  for (const fault of faults.slice(0, 10)) say(`       ${fault}`);
  if (faults.length > 10) say(`       and ${faults.length - 10} more`);
};

/** The restart rules of the unit that the installer writes. */
const shippedRestarts = async (genrouter: Genrouter, dir: string): Promise<Restarts> => {
  const { code, output: said } = await run([...genrouter, "install", "systemd", "--root", dir]);
  if (code !== 0) throw new Error(`genrouter install systemd ended with ${code}: ${said}`);
  return restartsOf(readFileSync(join(dir, "etc/systemd/system/genrouter.service"), "utf8"));
};

const dir = makeScratch("outages-");
killAtTheEnd(killAll);
say(`seed ${seed}`);
const genrouter = await builtBinary(say);
const restarts = await shippedRestarts(genrouter, join(dir, "installed"));
const trials = known.filter(({ name }) => chosen.includes(name));
const playable = trials.filter(({ name, cannot }) => {
  if (cannot !== undefined) say(`skipped: ${name}: ${cannot}`);
  return cannot === undefined;
});

/** The ports of all trials, because Prometheus is configured with every node before any of them runs. */
const places = new Map<Trial, { ports: number[]; simulatorPort: number }>();
for (const trial of playable) {
  const ports: number[] = [];
  while (ports.length < trial.nodes) ports.push(await freePort());
  places.set(trial, { ports, simulatorPort: await freePort() });
}
const alerts = new Map<number, Alerts>();
for (const [times, some] of Map.groupBy(playable, ({ hastened }) => hastened)) {
  const instances = some.flatMap((trial) => places.get(trial)?.ports ?? []).map((port) => `127.0.0.1:${port}`);
  const opened = await openAlerts(join(dir, `alerts-${times}`), instances, times);
  alerts.set(times, opened);
  say(`alerts of ${some.map(({ name }) => name).join(", ")}: ${opened.by}`);
}

/** Runs a trial. An exception counts as a failed check. */
const attempt = async (trial: Trial, index: number): Promise<End> => {
  const place = places.get(trial);
  const watching = alerts.get(trial.hastened);
  if (!place || !watching) throw new Error(`${trial.name} has no ports`);
  const own = join(dir, trial.name);
  mkdirSync(own);
  const plan = {
    ...{ dir: own, genrouter, restarts, seed: seed + index, callers, ...place, times: trial.routes },
    ...{ isPooled: trial.isPooled ?? false, smallDisk: trial.smallDisk },
  };
  try {
    return await playTrial(trial, plan, watching);
  } catch (fault) {
    const why = fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);
    return { checks: [{ name: "the trial runs to its end", faults: [why] }], figures: {} };
  }
};

const figures: Record<string, Record<string, number>> = {};
const waiting = [...playable.entries()];
const lane = async (): Promise<void> => {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const [index, trial] = next;
    const beganMono = performance.now();
    const end = await attempt(trial, index);
    say(`${trial.name}: ${trial.says}`);
    for (const check of end.checks) judged(trial, check);
    figures[trial.name] = { ...end.figures, tookS: Math.round((performance.now() - beganMono) / 1000) };
    say(`       ${JSON.stringify(figures[trial.name])}`);
  }
};
await Promise.all(Array.from({ length: jobs }, lane));
for (const one of alerts.values()) await one.stop();
killAll();
endScratch(dir, failed > 0, say);
const sum = (name: string) => Object.values(figures).reduce((total, some) => total + (some[name] ?? 0), 0);
say(
  `figures ${JSON.stringify({
    ...{ trials: playable.length, generations: sum("generations"), jobs: sum("jobs"), restarts: sum("restarts") },
    ...{ answeredDuringOutage: sum("answeredDuringOutage"), boughtTwice: sum("boughtTwice"), orphans: sum("orphans") },
  })}`,
);
say(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
