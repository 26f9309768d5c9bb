// A world of uploads: clients that upload to one service, and kills of both at random moments until enough uploads were interrupted.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chance } from "../../src/simulator/fault-script.ts";
import type { Check } from "../../src/torture/crash/audit.ts";
import { endow, type ServicePlace, spawnService, startService, type Tenant } from "../../src/torture/crash/crash-fixture.ts";
import { type Child, entry, freePort, type Genrouter, run, start, until } from "../../src/torture/crash/processes.ts";
import { type BucketServer, startBucket } from "../cluster/bucket.ts";
import { openServer, type Server } from "../postgres/server.ts";
import type { ClientPlan } from "./client.ts";
import { judgeUploads } from "./judge.ts";
import { interruptedOf, readUploadLog, uploadsOf } from "./upload-log.ts";

/**
 * `disk`: SQLite, files on local disk. `bucket`: SQLite, files in an S3 bucket. `shared`: PostgreSQL, and files in an S3 bucket.
 */
export const WORLDS = ["disk", "bucket", "shared"] as const;
export type WorldName = (typeof WORLDS)[number];

export type UploadWorldPlan = {
  name: WorldName;
  dir: string;
  /** Number of uploads to interrupt. */
  uploads: number;
  seed: number;
  /** The service. */
  genrouter: Genrouter;
  say: (line: string) => void;
};
export type UploadEnd = { checks: Check[]; figures: Record<string, number> };

/** The store of a world, where its files are, and how they are reached. */
export type UploadWorld = {
  name: WorldName;
  dir: string;
  database: string;
  tenants: Tenant[];
  settings: Record<string, string>;
  /** The directory of the bucket; null without one. */
  bucketDir: string | null;
  /** Moves the clock of the bucket ahead, which refuses requests of another time. */
  setAhead: (aheadMs: number) => Promise<void>;
};

const ACCOUNTS = 16;
const WORKERS_PER_ACCOUNT = 3;
const CREDITS = 100_000;
const LEASE_S = 2;
const PREFIX = "kept/";
/** From the start of a process to its kill. */
const SERVICE_MS = [150, 2200] as const;
const CLIENT_MS = [1500, 6000] as const;
const BOOT_MS = [10, 300] as const;
const BOOT_KILLED = 0.1;
const DRAINED = 0.1;
const DRAIN_MS = [0, 200] as const;
const LOOK_EVERY = 5;

const openStores = async ({ name, dir }: UploadWorldPlan) => {
  const bucketDir = join(dir, "bucket");
  let bucket: BucketServer | null = name === "disk" ? null : await startBucket(bucketDir);
  const server: Server | null = name === "shared" ? await openServer() : null;
  const data = join(dir, "data");
  mkdirSync(data, { recursive: true });
  const database = server?.url("postgres") ?? data;
  const settings = {
    GENROUTER_LOG__LEVEL: "error",
    ...bucket?.settings(PREFIX),
    ...(server ? { GENROUTER_STORE__URL: database, GENROUTER_STORE__LEASE_S: String(LEASE_S) } : {}),
  };
  const tenants = await endow(database, Array<number>(ACCOUNTS).fill(CREDITS));
  const stopBucket = async (): Promise<void> => {
    bucket?.child.kill("SIGKILL");
    await bucket?.child.ended;
  };
  const setAhead = async (aheadMs: number): Promise<void> => {
    if (bucket === null) return;
    await stopBucket();
    bucket = await startBucket(bucketDir, bucket.port, aheadMs);
  };
  const world: UploadWorld = {
    ...{ name, dir: data, database, tenants, settings, setAhead },
    bucketDir: bucket ? join(bucketDir, "results", PREFIX) : null,
  };
  const close = async (): Promise<void> => {
    await stopBucket();
    await server?.stop();
  };
  return { world, close };
};

const startClient = async (dir: string, plan: ClientPlan): Promise<Child> => {
  const path = join(dir, "client.json");
  writeFileSync(path, JSON.stringify(plan));
  const child = start([...entry(join(import.meta.dir, "client.ts")), path]);
  await child.hears(/client of/);
  return child;
};

/** Runs a node until the leases of the killed ones have ended, and ends it without a kill, so that no node is alive. */
const endKilledNodes = async (genrouter: Genrouter, place: ServicePlace): Promise<void> => {
  const { child } = await startService(genrouter, place);
  const alive = async () => {
    const { output } = await run([...genrouter, "nodes", "--json"], { ...place.env, GENROUTER_DATA__DIR: place.dir });
    return output.match(/"ended_at":null/g)?.length ?? 0;
  };
  await until("the end of the killed nodes", async () => (await alive()) === 1);
  child.kill("SIGTERM");
  await child.ended;
};

/** Kills service and clients until enough uploads were interrupted. The service is killed at the end as well. */
const killAtRandom = async (plan: UploadWorldPlan, world: UploadWorld) => {
  const { dir, seed, say, genrouter, uploads } = plan;
  const roll = chance(seed);
  const between = ([least, most]: readonly [number, number]) => least + roll() * (most - least);
  const port = await freePort();
  const place: ServicePlace = { dir: world.dir, simulatorUrl: "http://127.0.0.1:9", speed: 1, port, env: world.settings };
  const log = join(dir, "uploads.log");
  const keys = world.tenants.map(({ key }) => key);
  const client = { url: `http://127.0.0.1:${port}`, log, seed, keys, workersPerAccount: WORKERS_PER_ACCOUNT };
  const figures = { serviceKills: 0, bootKills: 0, drainKills: 0, clientKills: 0 };
  const interrupted = () => {
    const { byClient, byService, withClient } = interruptedOf(uploadsOf(readUploadLog(log)));
    return byClient + byService + withClient;
  };
  let clients = await startClient(dir, { ...client, life: 0 });
  let clientEndsMono = performance.now() + between(CLIENT_MS);
  const kill = async (child: Child) => {
    child.kill("SIGKILL");
    const { code, signal } = await child.ended;
    // A drain may have ended before the kill.
    if (signal !== "SIGKILL" && code !== 0) throw new Error(`the service exited with ${signal ?? code}:\n${child.output()}`);
    figures.serviceKills += 1;
  };
  // An upload that was cut a moment ago is counted here, and may be completed later.
  while (interrupted() < uploads + ACCOUNTS * WORKERS_PER_ACCOUNT) {
    if (roll() < BOOT_KILLED) {
      const booting = spawnService(genrouter, place);
      await Bun.sleep(between(BOOT_MS));
      await kill(booting);
      figures.bootKills += 1;
    }
    const { child } = await startService(genrouter, place);
    await Bun.sleep(between(SERVICE_MS));
    if (performance.now() > clientEndsMono) {
      clients.kill("SIGKILL");
      await clients.ended;
      figures.clientKills += 1;
      clients = await startClient(dir, { ...client, life: figures.clientKills });
      clientEndsMono = performance.now() + between(CLIENT_MS);
      await Bun.sleep(between(SERVICE_MS));
    }
    if (roll() < DRAINED) {
      child.kill("SIGTERM");
      figures.drainKills += 1;
      await Bun.sleep(between(DRAIN_MS));
    }
    await kill(child);
    if (figures.serviceKills % LOOK_EVERY === 0) say(`${figures.serviceKills} kills of the service, ${interrupted()} uploads`);
  }
  // The last service ends its uploads; a kill then leaves what the others left.
  const { child } = await startService(genrouter, place);
  clients.kill("SIGTERM");
  const { code } = await clients.ended;
  if (code !== 0) throw new Error(`the clients ended with ${code}:\n${clients.output()}`);
  await kill(child);
  if (world.name === "shared") await endKilledNodes(genrouter, place);
  return { figures, log };
};

/** Plays a world and judges it. @throws if it cannot continue */
export const playUploads = async (plan: UploadWorldPlan): Promise<UploadEnd> => {
  const beganMono = performance.now();
  const { world, close } = await openStores(plan);
  try {
    const { figures, log } = await killAtRandom(plan, world);
    const lines = readUploadLog(log);
    const uploads = uploadsOf(lines);
    const { byClient, byService, withClient } = interruptedOf(uploads);
    const judged = await judgeUploads(world, { lines, uploads, seed: plan.seed });
    return {
      checks: judged.checks,
      figures: {
        uploads: byClient + byService + withClient,
        ...{ cutByClient: byClient, killedWithService: byService, killedWithClient: withClient },
        begun: uploads.length,
        ...figures,
        ...judged.figures,
        tookMs: Math.round(performance.now() - beganMono),
      },
    };
  } finally {
    await close();
  }
};
