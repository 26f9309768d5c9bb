// The environment of one trial: PostgreSQL, optionally a pooler, a bucket, the simulator, supervised nodes, and clients.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { endow, type SimulatorProcess, startSimulator, type Tenant } from "../../src/torture/crash/crash-fixture.ts";
import type { Genrouter } from "../../src/torture/crash/processes.ts";
import { until } from "../../src/torture/crash/processes.ts";
import { type BucketServer, startBucket } from "../cluster/bucket.ts";
import { type ClusterServer, openClusterServer } from "../cluster/database.ts";
import { mountSmallDisk, type SmallDisk } from "../disk-faults/disks.ts";
import { AT_ONCE, type RouteTimes, writeModels } from "./catalogue.ts";
import { beginLoad, type Load } from "./load.ts";
import { type SupervisedNode, superviseNode } from "./node.ts";
import { openPooler, type Pooler } from "./pooler.ts";
import type { Restarts } from "./unit.ts";

export type WorldPlan = {
  dir: string;
  genrouter: Genrouter;
  restarts: Restarts;
  seed: number;
  callers: number;
  /** The ports of the nodes. */
  ports: readonly number[];
  simulatorPort: number;
  times: RouteTimes;
  isPooled: boolean;
  /** The size of a separate disk for the first node's data directory, if any. */
  smallDisk: string | undefined;
};
export type Span = { fromMs: number; toMs: number };
export type World = {
  plan: WorldPlan;
  /** The URL of the database, without the pooler. */
  books: string;
  tenants: readonly Tenant[];
  nodes: readonly SupervisedNode[];
  simulator: SimulatorProcess;
  load: Load;
  pooler: Pooler | undefined;
  disk: SmallDisk | undefined;
  beganMs: number;
  /** The spans in which the database, or another dependency of the trial, was unavailable. */
  outages: Span[];
  /** Stops the database and starts it again after `meanwhile`. */
  withoutDatabase(meanwhile: () => Promise<unknown>): Promise<void>;
  withoutBucket(meanwhile: () => Promise<unknown>): Promise<void>;
  /** Waits until all nodes are ready. @returns the time that the last one took, in ms */
  allReady(patienceMs: number): Promise<number>;
  /** Waits until some generations of the clients have ended. */
  inFlow(): Promise<void>;
  /** Waits until several inline results are in flight. */
  midAnswers(): Promise<void>;
  close(): Promise<void>;
};

/** The simulator runs in real time, because outages last for real time. */
const SPEED = 1;
const CREDITS = 1_000_000;
const ACCOUNTS = 4;
const SOME = 6;
const ANSWERS = 2;
const READY_MS = 60_000;

const settingsOf = (plan: WorldPlan, bucket: BucketServer, url: string): Record<string, string> => ({
  GENROUTER_CATALOGUE__DIR: writeModels(join(plan.dir, "catalogue"), plan.times),
  GENROUTER_STORE__URL: url,
  ...(plan.isPooled ? { GENROUTER_STORE__PREPARED: "false" } : {}),
  GENROUTER_STORE__READ_CONNECTIONS: "4",
  // No load balancer needs this time.
  GENROUTER_SERVER__DRAIN_NOTICE_S: "0",
  GENROUTER_LIMITS__IN_PROGRESS: "200",
  ...bucket.settings("outages/"),
});

/** @throws Error if this machine cannot mount a small disk. */
const mount = (size: string, at: string): SmallDisk => {
  const disk = mountSmallDisk(size, at);
  if (typeof disk === "string") throw new Error(disk);
  return disk;
};

export const openWorld = async (plan: WorldPlan): Promise<World> => {
  const { dir, genrouter, restarts, ports, seed } = plan;
  mkdirSync(dir, { recursive: true });
  const server: ClusterServer = await openClusterServer();
  const books = await server.create("outage");
  const tenants = await endow(books, Array<number>(ACCOUNTS).fill(CREDITS));
  const pooler = plan.isPooled ? await openPooler(join(dir, "pooler"), server.port) : undefined;
  let bucket = await startBucket(join(dir, "bucket"));
  const simulatorPlace = { port: plan.simulatorPort, speed: SPEED, log: join(dir, "simulator.log"), seed };
  const simulator = await startSimulator(genrouter, simulatorPlace);
  const url = books.replace(`:${server.port}/`, `:${pooler?.port ?? server.port}/`);
  const env = settingsOf(plan, bucket, url);
  const disk = plan.smallDisk === undefined ? undefined : mount(plan.smallDisk, join(dir, "node-1"));
  const nodes = ports.map((port, index) => {
    const own = join(dir, `node-${index + 1}`);
    mkdirSync(own, { recursive: true });
    return superviseNode(genrouter, { dir: own, simulatorUrl: simulator.url, speed: SPEED, port, env }, restarts);
  });
  const begun = () => nodes.filter(({ lives }) => lives.length > 0);
  const proxies = (): readonly string[] => {
    const ready = begun().filter(({ probe }) => probe.isReady());
    return (ready.length > 0 ? ready : nodes).map((node) => node.url);
  };
  const outages: Span[] = [];
  const during = async (take: () => Promise<unknown>, bring: () => Promise<unknown>, meanwhile: () => Promise<unknown>) => {
    const span = { fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
    outages.push(span);
    await take();
    await meanwhile();
    await bring();
    span.toMs = Date.now();
  };
  const load = beginLoad({ tenants, proxies, callers: plan.callers, seed });
  const ended = () => load.lines.filter(({ type }) => type === "seen").length;
  return {
    ...{ plan, books, tenants, nodes, simulator, load, pooler, disk, beganMs: Date.now(), outages },
    withoutDatabase: (meanwhile) => during(() => server.kill("fast"), server.start, meanwhile),
    withoutBucket: (meanwhile) =>
      during(
        async () => {
          bucket.child.kill("SIGKILL");
          await bucket.child.ended;
        },
        async () => {
          bucket = await startBucket(join(dir, "bucket"), bucket.port);
        },
        meanwhile,
      ),
    allReady: async (patienceMs) => {
      const beganMono = performance.now();
      await Promise.all(begun().map((node) => node.ready(patienceMs)));
      return Math.round(performance.now() - beganMono);
    },
    inFlow: async () => {
      await until("ended generations", () => ended() >= SOME, READY_MS).catch((fault: Error) => {
        const { accepted, again, faults } = load;
        const seen = { ended: ended(), open: load.open(), accepted: accepted.length, again, faults };
        throw new Error(`${fault.message}: ${JSON.stringify(seen)}`);
      });
    },
    midAnswers: async () => {
      const underWay = async () => {
        const jobs = await simulator.jobs();
        return jobs.filter(({ provider, state }) => provider === AT_ONCE && state !== "done").length >= ANSWERS;
      };
      await until("inline results in flight", underWay, READY_MS);
    },
    close: async () => {
      await Promise.all(begun().map((node) => node.stop()));
      for (const { place, lives } of begun()) writeFileSync(`${place.dir}.log`, lives.map(({ said }) => said()).join("\n"));
      writeFileSync(join(dir, "bucket.log"), bucket.child.output());
      simulator.child.kill("SIGKILL");
      bucket.child.kill("SIGKILL");
      await Promise.all([simulator.child.ended, bucket.child.ended, pooler?.stop()]);
      disk?.drop();
      await server.stop();
    },
  };
};
