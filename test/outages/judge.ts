// Checks at the end of a trial: responses, purchases at providers, nodes and the ledger.

import type { Submission } from "../../src/simulator/log.ts";
import { auditAll, type Check, type Evidence } from "../../src/torture/crash/audit.ts";
import { reading } from "../../src/torture/crash/crash-fixture.ts";
import { run } from "../../src/torture/crash/processes.ts";
import { balancesOf, offendingOf, showAll } from "../../src/torture/crash/quiesce.ts";
import { readStored, type Stored } from "../../src/torture/crash/read-store.ts";
import { checkFiles } from "../cluster/bucket.ts";
import type { Span, World } from "./fixture.ts";
import type { SupervisedNode } from "./node.ts";
import { spansWithout } from "./probe.ts";
import { answeredMs, boughtTwice, droppedOf, isClear, type Purchases } from "./purchases.ts";
import type { Trial } from "./trials.ts";

/** The time from the start of a process to its first response. */
const BOOT_MS = 8000;
/** The gap while a process that waited for the database hands its port over to the service. */
const HAND_OVER_MS = 1000;

const silencesOf = ({ probe, lives }: SupervisedNode, toMs: number): Span[] =>
  spansWithout(probe.health, 200, lives[0]?.fromMs ?? 0, toMs).filter(
    (span) =>
      !lives.some((life, index) => span.fromMs >= (lives[index - 1]?.toMs ?? 0) - 500 && span.toMs <= life.fromMs + BOOT_MS),
  );

const judgeNodes = (trial: Trial, world: World, toMs: number): { checks: Check[]; figures: Record<string, number> } => {
  const silences = world.nodes.map((node) => silencesOf(node, toMs));
  const ends = world.nodes.flatMap(({ lives }) => lives.filter(({ end, wasSignalled }) => end !== null && !wasSignalled));
  const [from] = world.outages;
  const was503 = ({ probe }: SupervisedNode) =>
    probe.readiness.some(
      ({ status, atMs }) => status === 503 && world.outages.some((span) => atMs >= span.fromMs && atMs <= span.toMs + 5000),
    );
  const left = trial.isOfDatabase || trial.isOfBucket ? world.nodes : world.nodes.slice(0, trial.smallDisk === undefined ? 0 : 1);
  // A node may not notice a short outage.
  const isLong = from !== undefined && from.toMs - from.fromMs > 5000;
  const kept = world.nodes.filter((node) => !left.includes(node));
  const unready = kept.flatMap(({ url, probe, lives }) =>
    spansWithout(
      probe.readiness,
      200,
      probe.readiness.find(({ status }) => status === 200)?.atMs ?? lives[0]?.fromMs ?? 0,
      toMs,
    ).map((span) => `${url}: not ready for ${span.toMs - span.fromMs} ms`),
  );
  return {
    checks: [
      {
        name: "/healthz responds throughout the trial",
        faults: silences.flatMap((spans, index) =>
          spans
            .filter((span) => span.toMs - span.fromMs > HAND_OVER_MS)
            .map((span) => `node ${index + 1}: silent for ${span.toMs - span.fromMs} ms`),
        ),
      },
      {
        name: trial.isOfDatabase
          ? "a node stays alive, or exits with 70 and is restarted by the rules of the shipped unit"
          : "no node exits",
        faults: [
          ...ends.flatMap(({ end, said }) =>
            trial.isOfDatabase && end?.code === 70 ? [] : [`ended with ${end?.signal ?? end?.code}: ${said().slice(-600)}`],
          ),
          ...world.nodes.flatMap((node) => node.givenUp() ?? []),
        ],
      },
      {
        name: "/readyz returns 503 where work would wait, 200 elsewhere, and 200 again without intervention",
        faults: [
          ...(isLong ? left.filter((node) => !was503(node)).map(({ url }) => `${url}: never returned 503`) : []),
          ...unready,
          ...world.nodes.filter(({ probe }) => !probe.isReady()).map(({ url }) => `${url}: is not ready`),
        ],
      },
    ],
    figures: {
      restarts: ends.length,
      healthSlowestMs: Math.max(...world.nodes.map(({ probe }) => probe.slowestMs())),
      healthSilentMs: Math.max(0, ...silences.flat().map((span) => span.toMs - span.fromMs)),
    },
  };
};

type OrphanLine = { generation_id: string; attempt: number };
/** Runs an operator command with the settings of the first node. */
const command = async ({ nodes, plan }: World, ...words: string[]) => {
  const place = nodes[0]?.place;
  return await run([...plan.genrouter, ...words], { ...place?.env, GENROUTER_DATA__DIR: place?.dir ?? "" });
};
const orphansOf = async (world: World): Promise<Set<string>> => {
  const { code, output: said } = await command(world, "orphans", "--json");
  const line = said.split("\n").find((text) => text.startsWith("{"));
  if (code !== 0 || line === undefined) throw new Error(`genrouter orphans ended with ${code}: ${said}`);
  const { orphans } = JSON.parse(line) as { orphans: OrphanLine[] };
  return new Set(orphans.map(({ generation_id, attempt }) => `${generation_id} ${attempt}`));
};

/** Runs all checks except the alerts, while the nodes still run. */
export const judge = async (trial: Trial, world: World): Promise<{ checks: Check[]; figures: Record<string, number> }> => {
  const { tenants, load, outages, nodes } = world;
  const toMs = Date.now();
  const stored: Stored[] = await reading(world.books, (reads) => readStored(reads, tenants));
  const keys = tenants.map(({ key }) => key);
  const url = nodes[0]?.url ?? "";
  const shown = await showAll(url, keys, stored);
  const balances = await balancesOf(world.books, tenants);
  const submissions = (await world.simulator.lines()).filter((line): line is Submission => line.type === "submission");
  const evidence: Evidence = { tenants, client: load.lines, submissions, stored, shown, balances };
  const deaths = nodes.flatMap(({ lives }) => lives.flatMap(({ toMs, wasSignalled }) => (wasSignalled ? [] : [toMs])));
  const orphans = await orphansOf(world);
  const purchases: Purchases = { evidence, deaths, confirmMs: world.plan.times.confirm_s * 1000, orphans };
  const twice = boughtTwice(purchases);
  const { files, ...filed } = await checkFiles(
    nodes.map((node) => node.url),
    keys,
    stored,
  );
  const verified = await command(world, "verify", "--json");
  const inNodes = judgeNodes(trial, world, toMs);
  const duringOutage = submissions.filter(
    (line) => isClear(line) && outages.some((span) => answeredMs(line) >= span.fromMs && answeredMs(line) <= span.toMs),
  );
  const isOfAnswers =
    trial.isOfDatabase && trial.name !== "cold-start" && (outages[0]?.toMs ?? 0) - (outages[0]?.fromMs ?? 0) > 5000;
  const failed = stored.filter(({ status }) => status === "failed");
  return {
    checks: [
      ...inNodes.checks,
      { name: "clients receive only specified responses", faults: [...load.faults] },
      {
        name: `no received provider response is dropped by a node that keeps its disk; ${duringOutage.length} arrived during the outage`,
        faults: [
          ...droppedOf(purchases),
          ...(isOfAnswers && duringOutage.length === 0 ? ["no response arrived during the outage, so the check is void"] : []),
        ],
      },
      {
        name: "a second job is purchased only without a job lookup, after confirm_s or a process end, and is listed as an orphan",
        faults: twice.faults,
      },
      {
        name: "every generation succeeds",
        faults: trial.name === "provider" ? [] : failed.map(({ id, error }) => `${id}: ${JSON.stringify(error)}`),
      },
      ...auditAll(evidence),
      filed,
      { name: "genrouter verify reports that the thirteen invariants hold", faults: offendingOf(verified.code, verified.output) },
    ],
    figures: {
      ...inNodes.figures,
      ...{
        generations: stored.length,
        failed: failed.length,
        jobs: submissions.filter(({ accepted }) => accepted).length,
        files,
      },
      ...{ answeredDuringOutage: duringOutage.length, boughtTwice: twice.allowed, orphans: orphans.size },
      sentAgain: Object.values(load.again).reduce((sum, n) => sum + n, 0),
    },
  };
};
