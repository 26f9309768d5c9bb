// Bench of waiting requests: the resident memory of 10,000 polls and submissions with `Prefer: wait`, above as many idle connections.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fetchStats } from "../../src/cli/control-client.ts";
import { until } from "../../src/torture/crash/processes.ts";
import { makeScratch } from "../scratch.ts";
import { type Bench, type Env, hold, type Result } from "./bench.ts";
import { spawnHeard } from "./child.ts";
import { onLoadCore } from "./machine.ts";
import { weigh } from "./memory.ts";
import type { ConnectionsPlan } from "./rungs/connections.ts";
import { BODY } from "./rungs/parts.ts";
import { headOf, IN_LINE, type Stage, submitSome, withService } from "./sides.ts";

const COUNT = 10_000;
const KB_EACH = 8;
/** The longest time that a request may wait: the figures are read meanwhile. */
const WAIT = "prefer: wait=60\r\n";
/** Idle connections are not closed while they are weighed, and a slow disk refuses no submission. */
const PATIENT = { ...IN_LINE, GENROUTER_SERVER__KEEP_ALIVE_S: "240", GENROUTER_LIMITS__SLOW_COMMIT_MS: "60000" };
const LOOK_MS = 100;
const CONNECTIONS = join(import.meta.dir, "rungs/connections.ts");

type Opened = { send(group: string): Promise<void>; answers(): Promise<number>; end(): Promise<void>; stop(): void };

/** Opens the connections, which stay idle until a group of requests is sent. */
const openConnections = async (plan: ConnectionsPlan): Promise<Opened> => {
  const path = join(makeScratch("bench-waiting-"), "plan.json");
  writeFileSync(path, JSON.stringify(plan));
  const { hear, report, stop } = spawnHeard(onLoadCore([process.execPath, CONNECTIONS, path]));
  await hear();
  const ask = async (command: string): Promise<string> => {
    report(command);
    return hear();
  };
  return {
    send: async (group) => void (await ask(group)),
    answers: async () => Number((await ask("answers")).split(" ")[1]),
    end: async () => void (await ask("end")),
    stop,
  };
};

const pollsOf = (seen: readonly { id: string; key: string }[], more: string): string[] =>
  seen.map(({ id, key }) => `${headOf(`GET /v1/generations/${id}`, key, more)}\r\n`);
const submissionsOf = (keys: readonly string[], tag: string, more: string): string[] =>
  Array.from({ length: COUNT }, (_, n) => {
    const headers = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(BODY)}\r\nidempotency-key: ${tag}-${n}\r\n${more}`;
    return `${headOf("POST /v1/generations", keys[n % keys.length] ?? "", headers)}\r\n${BODY}`;
  });

/** @throws if a request that should wait was answered */
const requireWaiting = async (opened: Opened): Promise<void> => {
  const answers = await opened.answers();
  if (answers > 0) throw new Error(`${answers} of ${COUNT} requests were answered at once`);
};

const heldKb = (name: string, kb: number): Result => {
  const reported = {
    unit: "kB",
    target: 1,
    wants: "at most",
    sides: `each of ${COUNT} above an idle connection / the bound`,
  } as const;
  return hold({ ...reported, name }, kb, KB_EACH);
};

/** The number of generations that the service has accepted. */
const generationsIn = async ({ dir }: Stage): Promise<number> => {
  await Bun.sleep(LOOK_MS);
  const { queued, running } = await fetchStats(dir, { collect: false });
  return queued + running;
};

/** The resident memory of the service, MB. */
const weighed = async ({ dir }: Stage, what: string, { report }: Env): Promise<number> => {
  const { rssBytes, heapBytes } = await weigh(dir);
  report(`${what}: ${(rssBytes / 1e6).toFixed(1)} MB, heap ${(heapBytes / 1e6).toFixed(1)} MB`);
  return rssBytes / 1e6;
};

/** Polls wait on connections that were idle before; each has answered a poll, so that both weights contain its buffers. */
const waitingPolls = (env: Env): Promise<Result> =>
  withService({ env: PATIENT }, async (stage) => {
    const seen = await submitSome(stage, COUNT);
    const groups = { idle: pollsOf(seen, ""), waiting: pollsOf(seen, WAIT) };
    const opened = await openConnections({ port: stage.service.port, groups, status: { idle: 200, waiting: 200 } });
    await opened.send("idle");
    await opened.end();
    const idle = await weighed(stage, `${COUNT} idle connections`, env);
    await opened.send("waiting");
    const waiting = await weighed(stage, `${COUNT} waiting polls`, env);
    await requireWaiting(opened);
    opened.stop();
    return heldKb("waiting, polls", ((waiting - idle) * 1000) / COUNT);
  });

/** Each submission makes a generation, so both weights are taken with as many queued, on two processes. */
const waitingSubmissions = async (env: Env): Promise<Result> => {
  const once = (more: string, what: string): Promise<number> =>
    withService({ env: PATIENT }, async (stage) => {
      const groups = { made: submissionsOf(stage.keys, "waiting", more) };
      const opened = await openConnections({ port: stage.service.port, groups, status: { made: 202 } });
      await opened.send("made");
      if (more === "") await opened.end();
      await until(`${COUNT} generations`, async () => (await generationsIn(stage)) === COUNT);
      const mb = await weighed(stage, what, env);
      if (more !== "") await requireWaiting(opened);
      opened.stop();
      return mb;
    });
  const idle = await once("", `${COUNT} idle connections that submitted`);
  const waiting = await once(WAIT, `${COUNT} waiting submissions`);
  return heldKb("waiting, submissions", ((waiting - idle) * 1000) / COUNT);
};

export const waiting: Bench = {
  name: "waiting",
  compares:
    "resident memory for each of 10,000 polls and submissions that wait for the end, above 10,000 idle connections / 8 kB",
  run: async (env) => [await waitingPolls(env), await waitingSubmissions(env)],
};
