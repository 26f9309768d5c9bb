// Bench of added latency: the time from the end of a job at its provider to the response that a waiting client receives.

import { join } from "node:path";
import { settingsLeadingTo } from "../../src/simulator/dialect-registry.ts";
import { chance } from "../../src/simulator/fault-script.ts";
import { startSimulator } from "../../src/torture/crash/crash-fixture.ts";
import { BINARY, freePort } from "../../src/torture/crash/processes.ts";
import { makeScratch } from "../scratch.ts";
import { type Bench, type Env, hold, type Result } from "./bench.ts";
import { type Stage, withService } from "./sides.ts";

type Kind = {
  name: string;
  model: string;
  input: Record<string, unknown>;
  /** Jobs end evenly between these ages, s. */
  takesS: readonly [number, number];
  /** The simulator and the pauses between polls run this much faster. Delays are multiplied by it. */
  speed: number;
  hasCallbacks: boolean;
  /** Jobs each second, on average. */
  rate: number;
  mostMs: number;
};

const PICTURE = { model: "sim-image-1", input: { resolution: "1K" }, takesS: [2, 6], speed: 1, rate: 5 } as const;
const CLIP = {
  model: "vidmodel-2.0-fast",
  input: { resolution: "480p", duration: 4 },
  takesS: [60, 120],
  speed: 10,
  rate: 1.5,
} as const;
const KINDS: readonly Kind[] = [
  { ...PICTURE, name: "pictures of 2 to 6 s", hasCallbacks: false, mostMs: 300 },
  { ...PICTURE, name: "pictures of 2 to 6 s, with callbacks", hasCallbacks: true, mostMs: 50 },
  { ...CLIP, name: "clips of 60 to 120 s", hasCallbacks: false, mostMs: 2_000 },
];
/** Jobs that are counted, and those before them, from which the service learns how long the route takes. */
const COUNTED = { short: 100, long: 400 };
const LEARNT_FROM = 50;
const SEED = 5;
const WAIT_S = 60;

type Job = { tag: string; knownAtMs: number };

/** Submits one generation and waits for its end as a client does. @throws unless it succeeds */
const live = async ({ service, keys }: Stage, kind: Kind, n: number, lateMs: number): Promise<Job> => {
  const tag = `job ${n} of ${kind.name}`;
  const headers = { authorization: `Bearer ${keys[n % keys.length]}`, prefer: `wait=${WAIT_S}` };
  const body = JSON.stringify({ model: kind.model, input: { ...kind.input, prompt: `${tag}. [sim:late-ms=${lateMs}]` } });
  let response = await fetch(`${service.url}/v1/generations`, { method: "POST", headers, body });
  for (;;) {
    const shown = (await response.json()) as { id: string; status: string };
    if (shown.status === "succeeded") return { tag, knownAtMs: Date.now() };
    if (shown.status !== "queued" && shown.status !== "running") throw new Error(`${tag}: ${JSON.stringify(shown)}`);
    response = await fetch(`${service.url}/v1/generations/${shown.id}`, { headers });
  }
};

/** Submits at random times, whether earlier jobs have ended or not. */
const liveAll = async (stage: Stage, kind: Kind, count: number): Promise<Job[]> => {
  const roll = chance(SEED);
  const [fromS, toS] = kind.takesS;
  const jobs: Promise<Job>[] = [];
  for (let n = 0; n < count; n += 1) {
    const lateMs = Math.round(((fromS + roll() * (toS - fromS)) * 1000) / kind.speed);
    jobs.push(live(stage, kind, n, lateMs));
    await Bun.sleep((-Math.log(1 - roll()) * 1000) / kind.rate);
  }
  return await Promise.all(jobs);
};

const percentile = (sorted: readonly number[], share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;

const measure = async (kind: Kind, env: Env): Promise<Result[]> => {
  const { name, speed, hasCallbacks, mostMs } = kind;
  const log = join(makeScratch("bench-latency-"), "simulator.log");
  const simulator = await startSimulator(BINARY, { port: await freePort(), speed, log });
  const port = await freePort();
  const settings = {
    ...settingsLeadingTo(simulator.url),
    GENROUTER_SIMULATOR__SPEED: String(speed),
    ...(hasCallbacks ? { GENROUTER_SERVER__PUBLIC_URL: `http://127.0.0.1:${port}` } : {}),
  };
  const count = LEARNT_FROM + (env.isShort ? COUNTED.short : COUNTED.long);
  try {
    return await withService({ env: settings, port }, async (stage) => {
      const jobs = (await liveAll(stage, kind, count)).slice(LEARNT_FROM);
      const submissions = await simulator.submissions(name);
      const polls = (await simulator.jobs()).reduce((sum, job) => sum + job.polls, 0);
      const delays = jobs.map(({ tag, knownAtMs }) => {
        const sent = submissions.filter(({ input }) => String(input?.prompt).startsWith(`${tag}.`));
        const [only] = sent;
        if (sent.length !== 1 || !only?.plan?.total_ms) throw new Error(`${tag}: it was submitted ${sent.length} times`);
        return (knownAtMs - Date.parse(only.at) - only.plan.total_ms) * speed;
      });
      const sorted = delays.toSorted((a, b) => a - b);
      env.report(`${name}: ${(polls / count).toFixed(1)} polls for each job, p99 ${Math.round(percentile(sorted, 0.99))} ms`);
      const reported = { unit: "ms", sides: `the service / ${mostMs} ms`, target: 1, wants: "at most" } as const;
      return [
        hold({ ...reported, name: `added latency p50, ${name}` }, percentile(sorted, 0.5), mostMs),
        hold({ ...reported, name: `added latency p95, ${name}`, isNote: true }, percentile(sorted, 0.95), mostMs),
      ];
    });
  } finally {
    simulator.child.kill("SIGKILL");
    await simulator.child.ended;
  }
};

/**
 * Jobs arrive at random times and end at random ages. A client learns of the end by a waiting request. The end is the time at which
 * the simulated provider shows the result.
 */
export const addedLatency: Bench = {
  name: "added-latency",
  compares: "from the end of a job at its provider to the response of a waiting client, p50 / its bound",
  run: async (env) => {
    const results: Result[] = [];
    for (const kind of KINDS) results.push(...(await measure(kind, env)));
    return results;
  },
};
