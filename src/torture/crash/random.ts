// Random crash run: rounds of load and kills, each with quiescing and audit.
//
// It starts from an empty directory.

import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { auditAll, type Check, type Evidence } from "./audit.ts";
import { writeCatalogue } from "./catalogue.ts";
import type { ClientPlan } from "./client.ts";
import type { ClientLine } from "./client-log.ts";
import { endow, type ServicePlace, type SimulatorPlace, startService, type Tenant, topUp } from "./crash-fixture.ts";
import { createCycles } from "./cycles.ts";
import { LITTLE, startClient, startTroubled, TENANTS } from "./load.ts";
import { type End, figuresOf, figuresOfLog, mergeChecks } from "./merge-reports.ts";
import { freePort, type Genrouter } from "./processes.ts";
import { checkDeletedFiles, type QuiescePlan, quiesce } from "./quiesce.ts";
import { startWebhooks, type WebhookRun } from "./webhook-run.ts";
import { WEBHOOK_SETTINGS } from "./webhook-targets.ts";

/** The progress of a run; `submissions`: those that reached a provider. */
export type Far = { kills: number; submissions: number };

export type RandomPlan = {
  dir: string;
  cycles: number;
  seed: number;
  workers: number;
  genrouter: Genrouter;
  report: (line: string) => void;
  /** Ends the kills early; quiescing and audit still follow. */
  isOver?: () => boolean;
  /** Shortens the wait for generations that do not end; they are then not judged. */
  isHurried?: () => boolean;
  /** Called after each cycle. */
  onCycle?: (far: Far) => void;
};
/** `evidence`: the data of the last audit. */
export type RandomEnd = End & { evidence: Evidence };

/** Cycles between two audits. */
const ROUND = 50;
/**
 * Speed of the simulator under the kills. A lookup proves an absence after 40 min of simulated time at fal and 2 min at
 * Replicate: 24 s and 1.2 s. The simulator's slowest response must be faster, or the absence would not be proof.
 */
const SPEED = 100;
/** A run with fewer kills may not hit `sending`. */
const ENOUGH_KILLS = 20;

/** Ended generations as they were shown, for comparison in the next audit. */
const seenAt = ({ stored, shown }: Pick<Evidence, "stored" | "shown">): ClientLine[] =>
  stored.flatMap(({ id, account, completedAtMs }) => {
    const resource = shown.get(id);
    return resource && completedAtMs !== null ? [{ type: "seen" as const, account, id, resource }] : [];
  });

/** A world that cannot continue, with its figures so far. */
export class WorldBroken extends Error {
  readonly figures: Record<string, number>;

  constructor(cause: unknown, figures: Record<string, number>) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.figures = figures;
  }
}

/** Creates the endpoints of the accounts in a service that no fault troubles, and starts the receiver of their events. */
const subscribe = async (plan: RandomPlan, place: ServicePlace, tenants: readonly Tenant[]): Promise<WebhookRun> => {
  const { genrouter, dir, seed } = plan;
  const { child, url } = await startService(genrouter, place);
  const webhooks = await startWebhooks({ genrouter, dir, database: place.dir, tenants, seed, url });
  child.kill("SIGTERM");
  await child.ended;
  return webhooks;
};

/** The world of a run before its first fault. */
const openWorld = async (plan: RandomPlan) => {
  const { genrouter, seed, workers } = plan;
  const dir = join(plan.dir, "service");
  mkdirSync(dir, { recursive: true });
  const tenants = await endow(dir, TENANTS);
  const simulatorPlace: SimulatorPlace = { port: await freePort(), speed: SPEED, log: join(plan.dir, "simulator.log"), seed };
  const env = {
    ...{ GENROUTER_LOG__LEVEL: "error", GENROUTER_CATALOGUE__DIR: writeCatalogue(join(plan.dir, "catalogue"), true) },
    ...WEBHOOK_SETTINGS,
  };
  const simulatorUrl = `http://127.0.0.1:${simulatorPlace.port}`;
  const place: ServicePlace = { dir, simulatorUrl, speed: SPEED, port: await freePort(), env };
  const url = `http://127.0.0.1:${place.port}`;
  const keys = tenants.map(({ key }) => key);
  const webhooks = await subscribe(plan, place, tenants);
  const client: ClientPlan = {
    ...{ urls: [url], log: join(plan.dir, "client.log"), seed, workers, keys, round: 0 },
    ...{ receiverUrl: webhooks.receiverUrl, isEnding: true },
  };
  const look: QuiescePlan["look"] = async (_, stored) => [
    ...(await webhooks.settle(url, stored)),
    await checkDeletedFiles(url, keys, stored),
  ];
  const cycles = createCycles({ seed, genrouter, place, simulatorPlace, tenants });
  return { dir, tenants, simulatorPlace, place, webhooks, client, look, cycles };
};

const killsByState = (figures: Record<string, number>): string =>
  Object.entries(figures)
    .filter(([name]) => name.startsWith("killsAt."))
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([name, kills]) => `${name.slice("killsAt.".length)} ${kills}`)
    .join(", ");

/** What the kills themselves have shown. */
const checksOf = ({ faults, figures }: ReturnType<typeof createCycles>): Check[] => [
  { name: "every submission was stored as sending before the provider received it", faults: faults.unwritten },
  {
    name: "a service that drains under load exits with 0 and leaves no submission without a stored response",
    faults: faults.drains,
  },
  {
    name: "kills fell into sending",
    faults: figures.kills < ENOUGH_KILLS || figures.killsInSending > 0 ? [] : ["none did"],
  },
];

/** @param report receives the live figures of the run. */
const runRounds = async (plan: RandomPlan, report: (figures: Record<string, number>) => void): Promise<RandomEnd> => {
  const { genrouter, report: say, isOver = () => false, isHurried = () => false } = plan;
  const { dir, tenants, simulatorPlace, place, webhooks, client, look, cycles } = await openWorld(plan);
  const { figures } = cycles;
  report(figures);
  const beganMono = performance.now();
  const totals = { audits: 0, retried: 0, settleMs: 0, unended: 0 };
  let checks: Check[] = [];
  let earlier: ClientLine[] = [];
  let evidence: Evidence;

  do {
    if (totals.audits > 0) await topUp(dir, tenants.slice(-LITTLE.length), LITTLE[1]);
    const clientPlan = { ...client, round: totals.audits };
    let simulator = await startTroubled(genrouter, simulatorPlace);
    const load = await startClient(genrouter, join(plan.dir, "client.json"), clientPlan);
    const last = Math.min(plan.cycles, figures.cycles + ROUND);
    while (figures.cycles < last && (figures.cycles === 0 || !isOver())) {
      simulator = await cycles.play(simulator);
      plan.onCycle?.({ kills: figures.kills, submissions: cycles.submissions.count() });
      if (figures.cycles % 10 === 0)
        say(`cycle ${figures.cycles}: ${figures.kills} kills, ${figures.killsInSending} of them into sending`);
    }
    await cycles.drain();
    await load.stop();
    simulator.child.kill("SIGKILL");
    await simulator.child.ended;
    say("peace: no faults, nothing is killed, then an audit");
    const peace = await quiesce({ genrouter, places: [place], simulatorPlace, tenants, client: clientPlan, look, isHurried });
    totals.audits += 1;
    totals.retried += peace.retried;
    totals.settleMs = Math.max(totals.settleMs, peace.settleMs);
    const isCutShort = isHurried() && peace.unended > 0;
    totals.unended += isCutShort ? peace.unended : 0;
    const { stored, shown, balances } = peace;
    const lines = [...peace.client, ...earlier];
    const logs = { client: lines, submissions: cycles.submissions.all(), webhooks: webhooks.evidence() };
    evidence = { tenants, ...logs, stored, shown, balances };
    earlier = seenAt(evidence);
    checks = mergeChecks([...checks, ...auditAll(evidence, isCutShort), ...peace.checks]);
  } while (figures.cycles < plan.cycles && !isOver() && checks.every(({ faults }) => faults.length === 0));

  await webhooks.stop();
  say(`kills by the state of an open generation: ${killsByState(figures)}`);
  checks.push(...checksOf(cycles));
  if (checks.every(({ faults }) => faults.length === 0)) rmSync(plan.dir, { recursive: true, force: true });
  else say(`kept for a look: ${plan.dir}`);
  const tookMs = Math.round(performance.now() - beganMono);
  return { checks, evidence, figures: figuresOf({ ...figures, ...totals, tookMs }, evidence) };
};

/** @throws WorldBroken if the run cannot continue. */
export const runRandom = async (plan: RandomPlan): Promise<RandomEnd> => {
  let counted: Record<string, number> = {};
  try {
    return await runRounds(plan, (figures) => {
      counted = figures;
    });
  } catch (fault) {
    throw new WorldBroken(fault, { ...counted, ...figuresOfLog(join(plan.dir, "client.log")) });
  }
};
