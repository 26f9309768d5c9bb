// Runs the soak: `npm run soak -- [--minutes N]` keeps thousands of generations in flight and judges memory and times.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fetchStats } from "../../src/cli/control-client.ts";
import { builtBinary } from "../built.ts";
import { aboveZeroOf, readFlags, refuse, wholeOf } from "../flags.ts";
import { keepScratch, makeScratch } from "../scratch.ts";
import { chartOf } from "./chart.ts";
import { endsOf, faultsIn, invariantsOf, submittedTwice } from "./evidence.ts";
import { FROM_SOURCES, openPlace } from "./fixture.ts";
import { openLoad } from "./load.ts";
import { HEAD, lineOf, openSampler, type Sample } from "./sample.ts";
import { openRunTimes } from "./times.ts";
import { type Facts, type Row, verdictOf, WARM_S } from "./verdict.ts";

const HELP = `Usage: npm run soak -- [--minutes N] [--rate N] [--in-flight N] [--clients N] [--seed N] [--out DIR] [--sources] [--strict]

Runs the service and the simulator in separate processes under a steady load, kills the service (SIGKILL) after a third of the time,
and starts it again. Prints one line of figures every 10 s, and the results of the checks at the end. In the first minutes after
each start it also stops the service for some seconds (SIGSTOP), so that the memory for a backlog is in use before memory is
checked. Exit code 0: no check failed.

  --minutes N     duration of the load (default 30, at least 1)
  --rate N        submissions per second (default 20; 10 below 5 minutes)
  --in-flight N   generations in flight, from the first minute on (default 2000; 200 below 5 minutes)
  --clients N     callers, each of which polls every 2 s (default 500; 50 below 5 minutes)
  --kill-at N     minute of the kill (default a third of the time, at the latest half a minute before the end)
  --seed N        seed of run times and orders (default random, printed)
  --out DIR       writes the samples, the logs and a chart of the memory to this directory
  --sources       runs the service from its sources; default: dist/genrouter, built first if it is missing or older
  --strict        checks the times, too

The soak fails when an invariant is violated, a job is submitted twice, an acknowledged generation is lost, fails or has not ended a
minute after its job, the service logs an error, memory or the number of open files grows, statecharts are in memory without a
generation in flight, or the write-ahead log exceeds 64 MB. Memory is read after full collections, and its trend is computed by
least squares from the tenth minute after each start.
Readiness after the kill, lag of the event loop and latency of POST and GET also depend on other programs of the machine. They are
printed, and checked only with --strict.

Examples:
  npm run soak -- --minutes 1
  npm run soak -- --minutes 60 --out soak-out --seed 7
`;

const SMALL_MINUTES = 5;
const LOOK_EVERY_MS = 10_000;
/** When the service is paused, in seconds after each start, and for how long: all well before its memory is judged. */
const PAUSES_AT_S = [120, 210, 300, 390, 480];
const PAUSE_MS = 5_000;

const values = readFlags({
  minutes: { type: "string", default: "30" },
  rate: { type: "string" },
  "in-flight": { type: "string" },
  clients: { type: "string" },
  "kill-at": { type: "string" },
  seed: { type: "string", default: String(Date.now() % 1_000_000) },
  out: { type: "string" },
  sources: { type: "boolean", default: false },
  strict: { type: "boolean", default: false },
  help: { type: "boolean", default: false, short: "h" },
});
const say = (line: string) => process.stdout.write(`${line}\n`);
if (values.help) {
  say(HELP);
  process.exit(0);
}

/** Six samples: fewer are too few to judge times, memory and the process after the kill. */
const LEAST_MINUTES = 1;
const minutes = aboveZeroOf("minutes", values.minutes);
if (minutes < LEAST_MINUTES) refuse(`--minutes: ${minutes} is too short to measure anything; the least is ${LEAST_MINUTES}`);
const isSmall = minutes < SMALL_MINUTES;
const rate = aboveZeroOf("rate", values.rate ?? (isSmall ? "10" : "20"));
const inFlight = wholeOf("in-flight", values["in-flight"] ?? (isSmall ? "200" : "2000"));
const clients = wholeOf("clients", values.clients ?? (isSmall ? "50" : "500"));
const latestKill = minutes - 0.5;
const killAt = aboveZeroOf("kill-at", values["kill-at"] ?? String(minutes / 3));
if (killAt > latestKill) refuse(`--kill-at: nothing would be measured after it; the latest is ${latestKill}`);
const killAtS = killAt * 60;
const seed = wholeOf("seed", values.seed, 0);

const soak = async (genrouter: readonly string[], home: string): Promise<{ samples: Sample[]; rows: Row[]; extra: object }> => {
  const place = await openPlace(genrouter, home, seed);
  const times = openRunTimes(inFlight / rate, seed);
  say(
    `run times: log-normal, median ${times.medianS.toFixed(1)} s, sigma ${times.sigma.toFixed(2)}, mean ${times.meanS.toFixed(1)} s`,
  );
  let running = await place.startService();
  say(`ready after ${running.readyMs.toFixed(0)} ms with nothing in flight`);
  const { url, tenants, dir } = place;
  const load = openLoad({ url, tenants, rate, inFlight, clients, seed, times });
  const fillMono = performance.now();
  await load.fill();
  say(`${load.tally.submitted} submitted in ${((performance.now() - fillMono) / 1000).toFixed(1)} s; the load begins`);
  load.takeTimes();
  const sampler = openSampler(dir, load);
  const samples: Sample[] = [];
  let life = 1;
  let bornS = 0;
  let pauses = 0;
  let facts: Pick<Facts, "readyMs" | "inFlightAtKill"> = { readyMs: null, inFlightAtKill: 0 };
  const fromMono = performance.now();
  const elapsedS = () => (performance.now() - fromMono) / 1000;
  const crash = async () => {
    const before = samples.at(-1)?.inFlight ?? 0;
    await running.kill();
    running = await place.startService();
    life += 1;
    bornS = elapsedS();
    pauses = 0;
    facts = { readyMs: running.readyMs, inFlightAtKill: before };
    say(`killed with ${before} in flight; ready again after ${running.readyMs.toFixed(0)} ms`);
    load.takeTimes();
  };
  /** Pauses the service as a busy machine sometimes does, but reliably and early. */
  const pause = async () => {
    pauses += 1;
    process.kill(running.pid, "SIGSTOP");
    await Bun.sleep(PAUSE_MS);
    process.kill(running.pid, "SIGCONT");
    say(`stopped for ${PAUSE_MS / 1000} s`);
  };

  await fetchStats(dir, { collect: false });
  load.begin();
  say(HEAD);
  for (let look = 1; look * LOOK_EVERY_MS <= minutes * 60_000; look += 1) {
    await Bun.sleep(Math.max(0, look * LOOK_EVERY_MS - (performance.now() - fromMono)));
    const atS = elapsedS();
    const sample = await sampler.look(running.pid, life, atS, atS - bornS >= WARM_S).catch((fault: unknown) => {
      say(`${Math.round(elapsedS())} s: no sample (${fault instanceof Error ? fault.message : fault})`);
      return undefined;
    });
    if (!sample) continue;
    samples.push(sample);
    say(lineOf(sample));
    if (life === 1 && elapsedS() >= killAtS) {
      await crash();
      await fetchStats(dir, { collect: false });
    } else if (elapsedS() - bornS >= (PAUSES_AT_S[pauses] ?? Number.POSITIVE_INFINITY)) await pause();
  }
  const stoppedAtMs = Date.now();
  await load.stop();
  sampler.close();
  const exit = await running.stop();
  await place.close();
  const { submissions, twice } = submittedTwice(place.providerLog);
  const faults = [...faultsIn(place.serviceLogs()), ...(exit === 0 ? [] : [`the service ended with ${exit}`])];
  const reported: Facts = {
    ...facts,
    invariants: await invariantsOf(genrouter, dir),
    twice,
    ...endsOf(dir, load.acknowledged, stoppedAtMs),
    strange: load.tally.strange,
    faults,
  };
  const { strange: _, ...tally } = load.tally;
  return { samples, rows: verdictOf(samples, reported), extra: { ...tally, submissions } };
};

const home = values.out ?? makeScratch("soak-");
mkdirSync(home, { recursive: true });
say(
  `seed ${seed}; ${minutes} min, ${rate} submissions/s, ${inFlight} in flight, ${clients} clients, ${values.sources ? "from the sources" : "dist/genrouter"}`,
);
const { samples, rows, extra } = await soak(values.sources ? FROM_SOURCES : await builtBinary(say), home);
writeFileSync(join(home, "samples.json"), JSON.stringify({ samples, rows, extra }));
writeFileSync(join(home, "memory.svg"), chartOf(samples));

let passed = 0;
let failed = 0;
for (const { name, measured, bound, isMet, kind } of rows) {
  const counts = kind === "hard" || (kind === "timing" && values.strict);
  if (isMet) passed += 1;
  else if (counts) failed += 1;
  const mark = isMet ? "(pass)" : counts ? "(fail)" : "(over)";
  say(`${mark} ${name}: ${measured} (bound ${bound}${!isMet && !counts ? ", measured only" : ""})`);
}
const figures = Object.fromEntries(rows.map(({ name, measured }) => [name, measured]));
say(`figures ${JSON.stringify({ seed, minutes, rate, inFlight, clients, ...figures, ...extra })}`);
if (failed > 0 && values.out === undefined) keepScratch(home, say);
say(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
