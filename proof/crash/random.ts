// A run of random crashes from an empty directory to the audit: load and kills, then peace, then both sides compared.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../src/terms.ts";
import { auditAll, type Check, type Evidence } from "./audit.ts";
import type { ClientPlan } from "./client.ts";
import { sendOrder } from "./client.ts";
import { type ClientLine, openClientLog, readClientLog, withoutLinks } from "./client-log.ts";
import { type Figures, runCycles, submissionsIn } from "./cycles.ts";
import { MISCHIEF, writeCatalogue } from "./mischief.ts";
import type { Order } from "./orders.ts";
import { entry, freePort, type Genrouter, run, start, until } from "./processes.ts";
import { readStored, type Stored } from "./stored.ts";
import { ask, endow, reading, type ServicePlace, startService, startSimulator } from "./world.ts";

export type RandomPlan = {
  dir: string;
  cycles: number;
  seed: number;
  workers: number;
  genrouter: Genrouter;
  say: (line: string) => void;
};
export type RandomEnd = { checks: Check[]; evidence: Evidence; figures: Record<string, number> };

/** Credits of the accounts: most have plenty, two run dry. */
const CREDITS = [...Array<number>(12).fill(1_000_000), 2000, 500];
/**
 * Times faster than life under the kills, and once peace is made. A look-up proves an absence after 40 min of life at fal
 * and 2 min at Replicate: 24 s and 1.2 s, then 4 s and 0.2 s. The simulator's slowest job (mischief.ts) and its slowest
 * moment have to stay below that, or the proof proves nothing.
 */
const SPEED = 100;
const PEACE_SPEED = 600;
const SETTLE_MS = 60_000;

/** Keys that no answer ever came for, each with the bodies it was sent with. */
const unanswered = (log: string): Order[] => {
  const lines = readClientLog(log);
  const answered = new Set(lines.flatMap((line) => (line.type === "ack" ? [line.key] : [])));
  const orders = new Map<string, Order>();
  for (const line of lines)
    if (line.type === "intent" && !answered.has(line.key)) orders.set(`${line.key} ${line.hash}`, line as unknown as Order);
  return [...orders.values()];
};

/** Sends every unanswered key again, twice: all answers that carry an id carry the same one. */
const retry = async (plan: ClientPlan): Promise<Check & { retried: number }> => {
  const faults: string[] = [];
  const ids = new Map<string, string>();
  const log = openClientLog(plan.log);
  const orders = unanswered(plan.log);
  const again = [...orders, ...orders];
  const worker = async () => {
    for (let order = again.shift(); order; order = again.shift()) {
      const id = await sendOrder(plan, log, order);
      if (id === undefined) faults.push(`${order.key}: no answer in peace`);
      if (!id) continue;
      if ((ids.get(order.key) ?? id) !== id) faults.push(`${order.key}: ${ids.get(order.key)} and ${id}`);
      ids.set(order.key, id);
    }
  };
  await Promise.all(Array.from({ length: plan.workers }, worker));
  log.close();
  return {
    name: "a key without an answer, sent again, has exactly one generation",
    faults,
    retried: new Set(orders.map(({ key }) => key)).size,
  };
};

/** Waits for the end of every generation; one that never comes is the audit's to tell, with all the rest. */
const settle = (dir: string): Promise<unknown> =>
  until(
    "the end of every generation",
    () => reading(dir, async (reads) => (await reads.unfinished(0, 1)).length === 0),
    SETTLE_MS,
  ).catch(() => undefined);

const showAll = async (url: string, plan: ClientPlan, stored: readonly Stored[]): Promise<Map<string, JsonObject>> => {
  const shown = new Map<string, JsonObject>();
  for (const { id, account } of stored) {
    const answer = await ask(url, plan.keys[account] ?? "", { path: `/v1/generations/${id}` });
    if (answer?.status === 200) shown.set(id, withoutLinks(answer.body));
  }
  return shown;
};

/** `genrouter verify`, as an operator runs it. */
const verify = async (genrouter: Genrouter, dir: string): Promise<Check> => {
  const { code, said } = await run([...genrouter, "verify", "--data", dir, "--json"]);
  return {
    name: "genrouter verify says that the twelve invariants hold",
    faults: code === 0 ? [] : [`exit ${code}: ${said.slice(0, 3000)}`],
  };
};

/** Answers that took nothing, by their codes. */
const turnedAway = (client: readonly ClientLine[]): Record<string, number> => {
  const codes: Record<string, number> = {};
  for (const line of client) if (line.type === "ack" && line.code !== null) codes[line.code] = (codes[line.code] ?? 0) + 1;
  return codes;
};

const tell = (figures: Figures, evidence: Evidence, more: Record<string, number>): Record<string, number> => {
  const tries = evidence.stored.flatMap((one) => one.tries);
  const told = (type: string) => evidence.stored.flatMap((one) => one.journal).filter(({ event }) => event.type === type).length;
  const inState = (state: string) => tries.filter((attempt) => attempt.state === state).length;
  return {
    ...more,
    ...figures,
    acknowledged: evidence.client.filter((line) => line.type === "ack" && line.status === 202).length,
    replayed: evidence.client.filter((line) => line.type === "ack" && line.status === 200).length,
    ...turnedAway(evidence.client),
    generations: evidence.stored.length,
    succeeded: evidence.stored.filter(({ status }) => status === "succeeded").length,
    submissions: evidence.submissions.length,
    jobs: evidence.submissions.filter(({ accepted }) => accepted).length,
    interrupted: told("interrupted"),
    confirmations: told("interrupted") + told("answerLost"),
    provedAbsent: inState("absent"),
    lost: inState("lost"),
    capped: inState("capped"),
    superseded: inState("superseded"),
    late: inState("late"),
    fallbacks: evidence.stored.filter(({ attempts }) => attempts > 1).length,
  };
};

export const runRandom = async (plan: RandomPlan): Promise<RandomEnd> => {
  const { genrouter, seed, say } = plan;
  const dir = join(plan.dir, "service");
  mkdirSync(dir, { recursive: true });
  const tenants = await endow(dir, CREDITS);
  const simulatorPlace = { port: await freePort(), speed: SPEED, log: join(plan.dir, "simulator.log"), seed };
  const quiet = { GENROUTER_LOG__LEVEL: "error", GENROUTER_CATALOGUE__DIR: writeCatalogue(join(plan.dir, "catalogue")) };
  const first = await startSimulator(genrouter, simulatorPlace);
  await first.rule(...MISCHIEF);
  const place: ServicePlace = { dir, simulatorUrl: first.url, speed: SPEED, port: await freePort(), env: quiet };
  const client: ClientPlan = {
    url: `http://127.0.0.1:${place.port}`,
    log: join(plan.dir, "client.log"),
    seed,
    workers: plan.workers,
    keys: tenants.map(({ key }) => key),
  };
  const clientFile = join(plan.dir, "client.json");
  writeFileSync(clientFile, JSON.stringify(client));
  const clientProcess = start([...entry(join(import.meta.dir, "client.ts")), clientFile]);
  await clientProcess.hears(/client of/);

  const { figures, unwritten, simulator } = await runCycles({ ...plan, place, simulatorPlace, tenants }, first);
  clientProcess.kill("SIGTERM");
  const clientEnd = await clientProcess.ended;
  if (clientEnd.code !== 0) throw new Error(`the client ended with ${clientEnd.code}:\n${clientProcess.said()}`);

  say("peace: no faults, nothing is killed any more");
  simulator.child.kill("SIGKILL");
  await simulator.child.ended;
  const calm = await startSimulator(genrouter, { ...simulatorPlace, speed: PEACE_SPEED });
  const service = await startService(genrouter, { ...place, speed: PEACE_SPEED });
  const beganMono = performance.now();
  await settle(dir);
  const settleMs = Math.round(performance.now() - beganMono);
  const { retried, ...retries } = await retry(client);
  await settle(dir);

  const stored = await reading(dir, (reads) => readStored(reads, tenants));
  const shown = await showAll(service.url, client, stored);
  service.child.kill("SIGTERM");
  const { code } = await service.child.ended;
  calm.child.kill("SIGTERM");
  await calm.child.ended;
  const balances = await reading(dir, async (reads) =>
    Promise.all(
      tenants.map(async ({ accountId }) => {
        const account = await reads.account(accountId);
        return {
          available: account?.availableCredits ?? 0,
          held: account?.heldCredits ?? 0,
          charged: account?.chargedCredits ?? 0,
        };
      }),
    ),
  );
  const evidence = {
    tenants,
    client: readClientLog(client.log),
    submissions: submissionsIn(simulatorPlace.log),
    stored,
    shown,
    balances,
  };
  const sent = { name: "a submission was on disk, as sending, before the provider had it", faults: unwritten };
  const stopped = { name: "the service stops in peace", faults: code === 0 ? [] : [`exit ${code}: ${service.child.said()}`] };
  const fell = { name: "kills fell into sending", faults: figures.killsInSending > 0 ? [] : ["none did"] };
  const checks = [...auditAll(evidence), sent, retries, stopped, await verify(genrouter, dir), fell];
  if (checks.every(({ faults }) => faults.length === 0)) rmSync(plan.dir, { recursive: true, force: true });
  else say(`kept for a look: ${plan.dir}`);
  return { checks, evidence, figures: tell(figures, evidence, { cycles: plan.cycles, retried, settleMs }) };
};
