// The outage trials: the unavailable dependency, the duration and the alerts that must fire.
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../src/torture/crash/processes.ts";
import type { Alert } from "./alerts.ts";
import { ASKABLE, AT_ONCE, type RouteTimes } from "./catalogue.ts";
import type { World } from "./fixture.ts";
import { poolerReason } from "./pooler.ts";

export type Trial = {
  name: string;
  /** The description of the trial. */
  says: string;
  nodes: number;
  /** The approximate duration, in s. The longest trial starts first. */
  takesS: number;
  /** The divisor of the durations of the alert rules. */
  hastened: number;
  /** The alerts that must fire: on each node, on the first one, or on any. */
  alerts: { names: readonly Alert[]; at: "each" | "first" | "any" };
  /** The database is unavailable: no node is ready, and a node may exit after an unknown commit outcome. */
  isOfDatabase: boolean;
  /** The bucket is unavailable: no node is ready, and no node exits. */
  isOfBucket?: true;
  routes: RouteTimes;
  isPooled?: true;
  smallDisk?: string;
  /** Why the trial cannot run on this machine. */
  cannot?: string | undefined;
  play(world: World): Promise<Record<string, number>>;
};

export type Length = "short" | "usual" | "long";

const HASTENED = 30;
const ROUTES: RouteTimes = { timeout_s: 240, confirm_s: 120 };
const READY_MS = 60_000;
/** The load continues for this time after the end of an outage. */
const AFTER_MS = 2000;
const SMALL_DISK = "24m";
/** The outage durations, in s, from which a rule with a `for` time of one or two minutes must fire. */
const [STORE_OUTAGE_S, NOT_READY_S] = [120, 240] as const;
/** A node notices an unavailable bucket only at its next upload, from which on the rule waits. */
const BUCKET_NOT_READY_S = 25;

const begin = async (world: World, count = world.nodes.length): Promise<void> => {
  for (const node of world.nodes.slice(0, count)) node.begin();
  await world.allReady(READY_MS);
  await world.inFlow();
};
const sleep = (seconds: number) => Bun.sleep(seconds * 1000);
const comesBack = async (world: World) => {
  const readyAgainMs = await world.allReady(READY_MS);
  await Bun.sleep(AFTER_MS);
  return { readyAgainMs };
};
const alertsOfOutage = (seconds: number, hastened: number): Trial["alerts"] => ({
  names: [
    ...(seconds * hastened >= STORE_OUTAGE_S ? (["DatabaseUnavailable"] as const) : []),
    ...(seconds * hastened >= NOT_READY_S ? (["NotReady"] as const) : []),
  ],
  at: "each",
});

const databaseOutage = (seconds: number, more: Partial<Trial> = {}): Trial => {
  const hastened = more.hastened ?? HASTENED;
  return {
    ...{ name: `database-${seconds}`, says: `PostgreSQL stopped for ${seconds} s`, nodes: 2, takesS: seconds + 25, hastened },
    ...{ alerts: alertsOfOutage(seconds, hastened), isOfDatabase: true, routes: ROUTES },
    play: async (world) => {
      await begin(world);
      await world.midAnswers();
      await world.withoutDatabase(() => sleep(seconds));
      return await comesBack(world);
    },
    ...more,
  };
};

const coldStart = (seconds: number): Trial => ({
  ...databaseOutage(seconds),
  ...{ name: "cold-start", says: `a cold start: the database starts ${seconds} s after the nodes`, takesS: seconds + 20 },
  play: async (world) => {
    await world.withoutDatabase(async () => {
      for (const node of world.nodes) node.begin();
      await sleep(seconds);
    });
    const ready = await comesBack(world);
    await world.inFlow();
    return ready;
  },
});

const bucketOutage = (seconds: number): Trial => ({
  ...{
    name: "bucket",
    says: `the bucket unavailable for ${seconds} s, and a node that starts meanwhile`,
    nodes: 3,
    takesS: seconds + 25,
  },
  ...{ hastened: HASTENED, isOfDatabase: false, isOfBucket: true, routes: ROUTES },
  alerts: { names: ["ObjectStorageUnavailable", ...(seconds >= BUCKET_NOT_READY_S ? (["NotReady"] as const) : [])], at: "each" },
  play: async (world) => {
    await begin(world, 2);
    let startedMs = 0;
    await world.withoutBucket(async () => {
      const fromMs = Date.now();
      await sleep(2);
      const late = world.nodes[2];
      late?.begin();
      await until("a response of the node that starts meanwhile", () => late?.probe.health.some(({ status }) => status === 200));
      startedMs = Date.now() - fromMs - 2000;
      await Bun.sleep(Math.max(0, seconds * 1000 - (Date.now() - fromMs)));
    });
    return { startedWithoutBucketMs: startedMs, ...(await comesBack(world)) };
  },
});

const diskFull = (seconds: number): Trial => ({
  ...{ name: "disk", says: `the disk of one node full for ${seconds} s`, nodes: 2, takesS: seconds + 25, smallDisk: SMALL_DISK },
  ...{ hastened: HASTENED, isOfDatabase: false, routes: ROUTES },
  alerts: { names: ["DiskFull", "DiskAlmostFull", "NotReady"], at: "first" },
  cannot: process.getuid?.() === 0 ? undefined : "mounting a small disk needs root",
  play: async (world) => {
    await begin(world);
    const [node, other] = world.nodes;
    if (!node || !other || !world.disk) throw new Error("the node or its disk is missing");
    const filler = join(world.disk.path, "filler");
    const span = { fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
    world.outages.push(span);
    const filled = spawnSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=4096"], { encoding: "utf8" });
    if (!filled.stderr.includes("No space left")) throw new Error(`the disk was not filled: ${filled.stderr}`);
    await until("a node that is not ready", () => !node.probe.isReady(), READY_MS);
    const outMs = Date.now();
    await sleep(seconds);
    const byOthers = world.load.accepted.filter(({ url, atMs }) => url === other.url && atMs > outMs).length;
    const byFull = world.load.accepted.filter(({ url, atMs }) => url === node.url && atMs > outMs + 1000).length;
    if (byOthers === 0) throw new Error("the other node accepted nothing while one was not ready");
    if (byFull > 0) throw new Error(`the node with the full disk accepted ${byFull} submissions`);
    rmSync(filler);
    span.toMs = Date.now();
    return { outAfterMs: outMs - span.fromMs, byOthers, ...(await comesBack(world)) };
  },
});

/** The provider returns a server error for every submission, but accepts half of them. */
const failing = (provider: string) => [
  { fault: "5xx-after", provider, probability: 0.5 } as const,
  { fault: "5xx", provider } as const,
];

/** One more than the rule of the alert, because Prometheus misses what precedes its first sample. */
const UNCLEAR_AT_LEAST = 4;
/** The most unclear submissions of one route on one node, which the alert counts. */
const mostUnclear = async (world: World): Promise<number> => {
  const pages = await Promise.all(
    world.nodes.map(({ url }) =>
      fetch(`${url}/metrics`).then(
        (response) => response.text(),
        () => "",
      ),
    ),
  );
  const counts = pages.flatMap((page) => {
    const byRoute = new Map<string, number>();
    for (const [, labels = "", value] of page.matchAll(/^genrouter_attempts_total\{([^}]*outcome="unclear"[^}]*)\} (\d+)/gm)) {
      const route = /route="([^"]*)"/.exec(labels)?.[1] ?? "";
      byRoute.set(route, (byRoute.get(route) ?? 0) + Number(value));
    }
    return [...byRoute.values()];
  });
  return Math.max(0, ...counts);
};

const providerFailing = (seconds: number, routes: RouteTimes, hastened: number): Trial => ({
  ...{ name: "provider", nodes: 2, takesS: 2 * seconds + 2 * routes.timeout_s, hastened, isOfDatabase: false, routes },
  says: `submissions answered with 5xx for ${seconds} s, by each provider in turn; confirm_s ${routes.confirm_s}, timeout_s ${routes.timeout_s}`,
  alerts: { names: ["UnclearSubmissions"], at: "any" },
  play: async (world) => {
    await begin(world);
    for (const provider of [AT_ONCE, ASKABLE]) {
      await world.simulator.rule(...failing(provider));
      await sleep(seconds);
      // How many submissions a node sends in this time depends on the machine.
      if (provider === ASKABLE)
        await until("enough unclear submissions", async () => (await mostUnclear(world)) >= UNCLEAR_AT_LEAST, 4000 * seconds);
      await world.simulator.clearRules();
    }
    return await comesBack(world);
  },
});

const pooled = (trial: Trial): Trial => ({
  ...trial,
  ...{ name: `pooler-${trial.name}`, says: `${trial.says}, behind pgbouncer in transaction mode`, takesS: trial.takesS + 15 },
  ...{ isPooled: true, cannot: poolerReason },
});

export const trialsOf = (length: Length): Trial[] => {
  const isShort = length === "short";
  const all = [
    ...(isShort ? [1, 12] : [1, 12, 60]).map((seconds) => databaseOutage(seconds)),
    // Longer than the commit timeout and than the time of a route.
    databaseOutage(33, { name: "database-route-time", routes: { timeout_s: 10, confirm_s: 10 } }),
    pooled(databaseOutage(12)),
    coldStart(isShort ? 10 : 25),
    bucketOutage(isShort ? 12 : 30),
    diskFull(isShort ? 24 : 40),
    length === "long"
      ? providerFailing(600, ROUTES, 1)
      : providerFailing(isShort ? 8 : 40, isShort ? { timeout_s: 12, confirm_s: 4 } : { timeout_s: 60, confirm_s: 20 }, HASTENED),
    ...(length === "long" ? [databaseOutage(600, { hastened: 1 })] : []),
  ];
  return all.toSorted((a, b) => b.takesS - a.takesS);
};
