// One round of a cluster from an empty database: three nodes under load and faults, then quiescence and an audit.
import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { chance } from "../../src/simulator/fault-script.ts";
import { auditAll, type Check, type Evidence, matched } from "../../src/torture/crash/audit.ts";
import { CONFIRM_S, writeCatalogue } from "../../src/torture/crash/catalogue.ts";
import type { ClientPlan } from "../../src/torture/crash/client.ts";
import { endow, type ServicePlace, type SimulatorPlace } from "../../src/torture/crash/crash-fixture.ts";
import { startClient, startTroubled, TENANTS } from "../../src/torture/crash/load.ts";
import { type End, figuresOf } from "../../src/torture/crash/merge-reports.ts";
import { freePort, type Genrouter } from "../../src/torture/crash/processes.ts";
import { createProviderLog } from "../../src/torture/crash/provider-log.ts";
import { checkDeletedFiles, quiesce, showAll } from "../../src/torture/crash/quiesce.ts";
import type { Stored } from "../../src/torture/crash/read-store.ts";
import { startWebhooks } from "../../src/torture/crash/webhook-run.ts";
import { WEBHOOK_SETTINGS } from "../../src/torture/crash/webhook-targets.ts";
import { openProxy } from "../postgres/proxy.ts";
import { judgeAtOnce } from "./at-once.ts";
import { type BucketServer, checkFiles } from "./bucket.ts";
import type { ClusterServer } from "./database.ts";
import { noHarms, openHarms, type Scene } from "./faults.ts";
import { openMachineLoad } from "./machine-load.ts";
import { type ClusterNode, type OwnEnd, openNode, untilWell } from "./node.ts";
import { judgeTakeOvers, type Span } from "./take-over.ts";
import { openWatch, type Sent, type Watch } from "./watch.ts";

export type RoundPlan = {
  name: string;
  dir: string;
  genrouter: Genrouter;
  server: ClusterServer;
  bucket: BucketServer;
  seed: number;
  cycles: number;
  workers: number;
  say: (line: string) => void;
};

const NODES = 3;
export const LEASE_S = 2;
const LEASE_MS = LEASE_S * 1000;
/**
 * Clock speed under faults. At Replicate a job lookup proves absence after 2 minutes, which are 6 s here. A node that is paused
 * past its lease may have a request in flight, which must arrive before that. In production a lease is a quarter of that time.
 */
const SPEED = 20;
const PATIENCE_MS = 1500;
/** The pause between two faults. Before some of them all nodes have to be healthy, so that one can take over. */
const LOAD_MS = [50, 700] as const;
const ALL_WELL = 0.4;
const BOOT_KILLED = 0.1;
const BOOT_MS = [10, 600] as const;
const REPORT_EVERY = 10;
/** How long a start may fail after an outage of the database or its proxy. */
const GRACE_MS = 3000;
/** The settings that all nodes of a round share. */
const settingsOf = ({ bucket, name, dir }: RoundPlan): Record<string, string> => ({
  GENROUTER_LOG__LEVEL: "warn",
  GENROUTER_CATALOGUE__DIR: writeCatalogue(join(dir, "catalogue"), true),
  GENROUTER_STORE__LEASE_S: String(LEASE_S),
  GENROUTER_STORE__READ_CONNECTIONS: "3",
  GENROUTER_LIMITS__IN_PROGRESS: "200",
  ...WEBHOOK_SETTINGS,
  ...bucket.settings(`${name}/`),
});

/**
 * Checks an exit that no fault caused. After SIGTERM a node exits with 0; if another node had ended it, with 70. After a
 * SIGTERM without a database, or with a lost response of it, a node cannot record that it left.
 */
const faultOfEnd = (
  { code, signal, pid, wasSignalled, wasCut, atMs, said }: OwnEnd,
  isFenced: boolean,
  unavailable: readonly Span[],
): string[] => {
  const wasUnavailable = unavailable.some(({ fromMs, toMs }) => fromMs < atMs && toMs + GRACE_MS > atMs);
  if (wasSignalled && code === 0) return [];
  if (code === 70 && (isFenced || (wasSignalled && (wasUnavailable || wasCut)))) return [];
  return [`process ${pid} exited with ${signal ?? code}${wasSignalled ? " after SIGTERM" : ""}: ${said}`];
};

/** The checks that only the database can answer, and what follows from them. */
const judgeOwners = async (watch: Watch, nodes: readonly ClusterNode[], server: ClusterServer) => {
  const [deaths, taken, stale, unowned] = [
    await watch.deaths(),
    await watch.takenOver(),
    await watch.stale(),
    await watch.unowned(),
  ];
  const verdict = judgeTakeOvers(
    { deaths, taken, lives: nodes.flatMap(({ lives }) => lives), outages: server.outages },
    LEASE_MS,
  );
  const fenced = new Set(deaths.filter(({ isFenced }) => isFenced).map(({ pid }) => pid));
  const ends = nodes.flatMap((node) => node.ends);
  const checks: Check[] = [
    {
      name: "an ended node writes nothing",
      faults: stale.map(({ what, where, epoch, lateMs }) => `${what} ${where} of epoch ${epoch}, ${lateMs} ms after its end`),
    },
    {
      name: "every step is written by the node that owns the generation",
      faults: unowned.map(({ where, epoch }) => `${where}: written by epoch ${epoch}, which did not own it`),
    },
    {
      name: `generations of a dead node are taken over within two leases (${2 * LEASE_S} s) if another node can do it`,
      faults: verdict.faults,
    },
    {
      name: "a node exits only when another ended it, and with code 0 after SIGTERM",
      faults: ends.flatMap((end) => faultOfEnd(end, fenced.has(end.pid), server.outages)),
    },
  ];
  const figures = {
    ended: deaths.length,
    endedByAnother: fenced.size,
    endedBySelf: ends.filter(({ code }) => code === 70).length,
    takeOvers: verdict.owners,
    takenOver: verdict.generations,
    takeOversExcused: verdict.excused.length,
    longestTakeOverMs: verdict.longestMs,
  };
  return { checks, figures, excused: verdict.excused };
};

const worst = (nodes: readonly ClusterNode[], name: "longestBootMs" | "longestDrainMs") =>
  Math.max(...nodes.map(({ counts }) => counts[name]));

/**
 * Counts submissions that reached their provider after the end of the node that sent them: they were in flight. The audit of
 * the attempts checks that no other node sent them again.
 */
const sentAfterTheEnd = (sent: readonly Sent[], evidence: Evidence): number => {
  const ends = new Map(sent.map(({ id, n, endedMs }) => [`${id} ${n}`, endedMs]));
  return matched(evidence).filter(
    ({ line, one, attempt }) => Date.parse(line.at) > (ends.get(`${one.id} ${attempt.n}`) ?? Number.POSITIVE_INFINITY),
  ).length;
};

/** The world of a round, in which only the database proxies are running. */
export const openWorld = async (plan: RoundPlan) => {
  const { genrouter, server, seed, dir } = plan;
  mkdirSync(dir, { recursive: true });
  const books = await server.create(plan.name);
  const tenants = await endow(books, TENANTS);
  const watch = openWatch(books, LEASE_MS);
  const machineLoad = openMachineLoad();
  await watch.begin();
  const simulatorPlace: SimulatorPlace = { port: await freePort(), speed: SPEED, log: join(dir, "simulator.log"), seed };
  const settings = settingsOf(plan);
  const roll = chance(seed);
  const between = ([from, to]: readonly [number, number]) => from + roll() * (to - from);

  const running = new Set<Promise<unknown>>();
  let broken: unknown;
  const background = (work: Promise<unknown>): void => {
    const noted = work
      .catch((fault: unknown) => {
        broken ??= fault;
      })
      .finally(() => running.delete(noted));
    running.add(noted);
  };
  const places: ServicePlace[] = [];
  const nodes: ClusterNode[] = [];
  for (let n = 1; n <= NODES; n += 1) {
    const wire = await openProxy(server.port);
    const own = join(dir, `node-${n}`);
    mkdirSync(own, { recursive: true });
    const simulatorUrl = `http://127.0.0.1:${simulatorPlace.port}`;
    const place = { dir: own, simulatorUrl, speed: SPEED, port: await freePort(), env: settings };
    const through = books.replace(`:${server.port}/`, `:${wire.port}/`);
    places.push({ ...place, env: { ...settings, GENROUTER_STORE__URL: books } });
    nodes.push(
      openNode({
        ...{ genrouter, wire, background },
        place: { ...place, env: { ...settings, GENROUTER_STORE__URL: through } },
        bootKillMs: () => (nodes.length === NODES && roll() < BOOT_KILLED ? between(BOOT_MS) : undefined),
        mayHaveFailed: (fromMs, toMs) =>
          wire.times() > 0 || server.outages.some((span) => span.fromMs < toMs && span.toMs + GRACE_MS > fromMs),
      }),
    );
  }
  const client: ClientPlan = {
    urls: places.map(({ port }) => `http://127.0.0.1:${port}`),
    ...{ patienceMs: PATIENCE_MS, log: join(dir, "client.log"), seed, workers: plan.workers, round: 0 },
    keys: tenants.map(({ key }) => key),
  };
  return {
    ...{ books, tenants, watch, machineLoad, simulatorPlace, roll, between, places, nodes, client, background },
    broken: () => broken,
    /** Waits for background work. @throws its first error. */
    settled: async () => {
      while (running.size > 0) await Promise.all(running);
      if (broken !== undefined) throw broken;
    },
    close: async () => {
      for (const { wire } of nodes) wire.close();
      machineLoad.stop();
      await watch.close();
    },
  };
};

/** Plays the round, and drops the database if no fault was found. @throws if the round cannot continue. */
export const playRound = async (plan: RoundPlan): Promise<End> => {
  const { genrouter, server, say, dir } = plan;
  const beganMono = performance.now();
  const world = await openWorld(plan);
  const { nodes, watch, machineLoad, tenants, client, roll, between, simulatorPlace, books } = world;
  const harmed = noHarms();
  const submissions = createProviderLog(simulatorPlace.log);
  const scene: Scene = {
    ...{ genrouter, nodes, server, watch, simulatorPlace, roll, leaseMs: LEASE_MS, background: world.background },
    bucket: plan.bucket.child,
    simulator: await startTroubled(genrouter, simulatorPlace),
  };
  await Promise.all(nodes.map((node) => node.begin()));
  const [url = ""] = client.urls;
  const webhooks = await startWebhooks({ genrouter, dir, database: books, tenants, seed: plan.seed, url });
  const clientPlan: ClientPlan = { ...client, receiverUrl: webhooks.receiverUrl, isEnding: true };
  const load = await startClient(genrouter, join(dir, "client.json"), clientPlan);
  const harm = openHarms(scene, harmed);
  let cycles = 0;
  while (cycles < plan.cycles && world.broken() === undefined) {
    await untilWell(nodes, roll() < ALL_WELL ? NODES : 1, world.broken);
    await Bun.sleep(between(LOAD_MS));
    const atMs = Date.now();
    const done = await harm();
    cycles += 1;
    appendFileSync(join(dir, "harms.log"), `${new Date(atMs).toISOString()} ${cycles}: ${done}\n`);
    if (cycles % REPORT_EVERY === 0)
      say(`cycle ${cycles}: ${harmed.kills} kills, ${harmed.killsInSending} of them into sending, ${harmed.pauses} pauses`);
  }
  await world.settled();
  await Promise.all(nodes.map((node) => (node.isWell() ? node.drain(30_000) : undefined)));
  await load.stop();
  scene.simulator.child.kill("SIGKILL");
  await scene.simulator.child.ended;

  let files = 0;
  const look = async (urls: readonly string[], stored: readonly Stored[]): Promise<Check[]> => {
    const kept = await checkFiles(urls, client.keys, stored);
    files = kept.files;
    const [first, ...others] = await Promise.all(urls.map((url) => showAll(url, client.keys, stored)));
    const unlike = others.flatMap((shown) =>
      stored.filter(({ id }) => JSON.stringify(shown.get(id)) !== JSON.stringify(first?.get(id))).map(({ id }) => id),
    );
    const settled = await webhooks.settle(urls[0] ?? "", stored);
    const deleted = await checkDeletedFiles(urls[0] ?? "", client.keys, stored);
    return [kept, { name: "every node returns the same resources", faults: unlike }, ...settled, deleted];
  };
  const [one, ...more] = world.places;
  if (!one) throw new Error("a cluster has a node");
  const places: [ServicePlace, ...ServicePlace[]] = [one, ...more];
  const peace = await quiesce({ genrouter, places, database: books, simulatorPlace, tenants, client: clientPlan, look });
  await webhooks.stop();
  const { stored, shown, balances } = peace;
  const logs = { client: peace.client, submissions: submissions.all(), webhooks: webhooks.evidence() };
  const evidence: Evidence = { tenants, ...logs, stored, shown, balances, isShared: true };
  const owners = await judgeOwners(watch, nodes, server);
  for (const line of owners.excused) say(`excused: ${line}`);
  const failedStarts = nodes.flatMap((node) => node.failedStarts);
  for (const line of failedStarts) say(`a start failed: ${line}`);
  const sent = await watch.sentBy();
  const lives = nodes.flatMap((node) => node.lives);
  const atOnce = judgeAtOnce({
    evidence,
    sent,
    lives,
    announcedAtMs: submissions.announcedAtMs(),
    confirmMs: (CONFIRM_S * 1000) / SPEED,
    idleUntilMs: machineLoad.idleUntilMs,
  });
  const checks = [...owners.checks, ...atOnce.checks, ...auditAll(evidence), ...peace.checks];
  await world.close();
  if (checks.every(({ faults }) => faults.length === 0)) await server.drop(plan.name);
  const tookMs = Math.round(performance.now() - beganMono);
  const counted = {
    ...{
      cycles,
      ...harmed,
      ...owners.figures,
      sentAfterTheirEnd: sentAfterTheEnd(sent, evidence),
      ...{ answersAtOnce: atOnce.answers, answersJudged: atOnce.judged, boughtAgain: atOnce.boughtAgain },
      files,
      retried: peace.retried,
      settleMs: peace.settleMs,
    },
    bootKills: nodes.reduce((all, { counts }) => all + counts.bootKills, 0),
    failedStarts: failedStarts.length,
    ...{ longestBootMs: worst(nodes, "longestBootMs"), longestDrainMs: worst(nodes, "longestDrainMs"), tookMs },
  };
  return { checks, figures: figuresOf(counted, evidence) };
};
