// Starts nodes of the service over one PostgreSQL and one bucket; each side has a separate, equally filled database.
import { join } from "node:path";
import { SQL } from "bun";
import { BINARY, run } from "../../src/torture/crash/processes.ts";
import { dropScratch, makeScratch } from "../scratch.ts";
import { spawnHeard } from "./child.ts";
import { onBothCores, onLoadCore, onServerCore, spreadOut } from "./machine.ts";
import { type Postgres, startPostgres } from "./postgres.ts";
import type { Side } from "./rounds.ts";
import type { Kept } from "./rungs/bucket.ts";
import type { NodeSubmitterPlan } from "./rungs/node-submitter.ts";
import { STORED } from "./rungs/parts.ts";
import { startService, verifyShared } from "./service.ts";
import { homeWithStored, submissions } from "./sides.ts";
import type { LifeSide } from "./turns.ts";
import { type BenchModel, bodyOf, IN_FLIGHT, type Player, type Provider, startPlayer } from "./upstream.ts";

export type Bucket = {
  pid: number;
  endpoint: string;
  settings: Readonly<Record<string, string>>;
  kept(prefix: string): Promise<Kept>;
};
export const BUCKET_NAME = "results";
/** Both keys of the bucket's account, which it does not check. */
export const BUCKET_KEY = "bench-of-the-service";

/** Nodes that share a database. */
export type Nodes = {
  name: string;
  side: Side;
  /** Process ids without those of the database. */
  pids(): readonly number[];
  /** Keeps generations of a model in flight, on the nodes in turn. */
  play(model: BenchModel, provider: Provider): Promise<LifeSide & { player: Player }>;
  /** @throws unless the database has a row for each 202. */
  requireRows(accepted: number): Promise<void>;
  /** @throws unless each paid job was delivered and is in the bucket. */
  requireDelivery(model: BenchModel, provider: Provider): Promise<void>;
  /** Stops the nodes as an operator would, and verifies their database. */
  stop(): Promise<void>;
};

export type Shared = {
  postgres: Postgres;
  bucket: Bucket;
  open(name: string, count: number, env: Readonly<Record<string, string>>): Promise<Nodes>;
};

const RUNGS = join(import.meta.dir, "rungs");
const TEMPLATE = "stocked";
/** Servers that share cores are slow at times, so long timeouts avoid rejections that would distort the measurement. */
const PATIENT = { GENROUTER_LIMITS__SLOW_COMMIT_MS: "60000", GENROUTER_STORE__LEASE_S: "300" };

const startBucket = async (): Promise<Bucket & { stop(): void }> => {
  const { pid, hear, stop } = spawnHeard(onLoadCore([process.execPath, join(RUNGS, "bucket.ts")]));
  const endpoint = `http://127.0.0.1:${(await hear()).split(" ")[1]}`;
  return {
    ...{ pid, stop, endpoint },
    settings: {
      GENROUTER_FILES__STORE: "s3",
      GENROUTER_S3__ENDPOINT: endpoint,
      GENROUTER_S3__BUCKET: BUCKET_NAME,
      GENROUTER_S3__ACCESS_KEY: BUCKET_KEY,
      GENROUTER_S3__SECRET_KEY: BUCKET_KEY,
    },
    kept: async (prefix) =>
      (await (await fetch(`${endpoint}/kept/${BUCKET_NAME}/${prefix}`, { headers: { connection: "close" } })).json()) as Kept,
  };
};

/** Rows of a query over a separate connection. */
const rowsIn = async <Row>(address: string, sql: string, values: readonly unknown[] = []): Promise<Row[]> => {
  const asking = new SQL(address, { max: 1 });
  try {
    return (await asking.unsafe(sql, [...values])) as Row[];
  } finally {
    await asking.close();
  }
};

/** Migrates a copy of a shared directory into a database with the product's command. @returns its keys. */
const stock = async (postgres: Postgres): Promise<string[]> => {
  const address = await postgres.make(TEMPLATE);
  const { dir, tenants, drop } = await homeWithStored();
  const { code, output: said } = await run(onBothCores([...BINARY, "migrate-store", "--data", dir, "--to", address]));
  drop();
  if (code !== 0) throw new Error(`the stocked directory was not moved: ${said.slice(-800)}`);
  return tenants.map(({ key }) => key);
};

type Opening = { postgres: Postgres; bucket: Bucket; keys: readonly string[]; usesAll: boolean };

const openNodes = async (
  { postgres, bucket, keys, usesAll }: Opening,
  name: string,
  count: number,
  env: Readonly<Record<string, string>>,
): Promise<Nodes> => {
  const address = await postgres.make(name.replaceAll(/\W+/g, "_"), TEMPLATE);
  const home = makeScratch("bench-nodes-");
  const set = { ...bucket.settings, ...PATIENT, ...env, GENROUTER_STORE__URL: address };
  const dirs = Array.from({ length: count }, (_, at) => join(home, `node-${at + 1}`));
  const services = await Promise.all(dirs.map((dir) => startService({ dir, env: set })));
  const pids = services.map(({ pid }) => pid);
  if (usesAll) spreadOut(pids, true);
  const side: Side = {
    ...{ name, port: services.map(({ port }) => port), streams: [submissions(keys)] },
    get pids(): readonly number[] {
      return [...pids, ...postgres.pids()];
    },
    databasePids: postgres.pids,
  };
  return {
    ...{ name, side },
    pids: () => pids,
    play: async (model, provider) => {
      const plan: NodeSubmitterPlan = {
        ...{ urls: services.map(({ url }) => url), keys, body: bodyOf(model), model: model.id, inFlight: IN_FLIGHT },
        database: address,
      };
      const player = await startPlayer(join(RUNGS, "node-submitter.ts"), plan);
      return {
        ...{ name, dir: home, model, player, usesAll, pid: () => side.pids, databasePids: postgres.pids },
        helpers: [provider.pid, player.pid, bucket.pid],
        count: async (fromMs, toMs) => {
          const [row] = await rowsIn<{ count: string }>(
            address,
            "SELECT count(*) AS count FROM generation WHERE model = $1 AND status = 'succeeded' AND completed_at_ms >= $2 AND completed_at_ms < $3",
            [model.id, fromMs, toMs],
          );
          return Number(row?.count);
        },
      };
    },
    requireRows: async (accepted) => {
      const [row] = await rowsIn<{ count: string }>(address, "SELECT count(*) AS count FROM generation");
      const rows = Number(row?.count) - STORED;
      if (rows < accepted) throw new Error(`${name} said of ${accepted} that they are stored, and has ${rows} rows`);
    },
    requireDelivery: async (model, provider) => {
      const { endpoints, files } = await provider.counts();
      const { picture } = files;
      const { submitted, delivered } = endpoints[model.endpoint] ?? { submitted: 0, delivered: 0 };
      const rows = await rowsIn<{ status: string; output: string }>(
        address,
        "SELECT status, output FROM generation WHERE model = $1",
        [model.id],
      );
      const isRight = ({ status, output }: (typeof rows)[number]) => status === "succeeded" && output.includes(picture.sha256);
      const wrong = rows.filter((row) => !isRight(row)).length;
      const { bytes, sha256, objects } = await bucket.kept("gen_");
      if (wrong > 0 || rows.length !== submitted || delivered !== submitted)
        throw new Error(
          `${name}: ${submitted} jobs were paid for, ${delivered} fetched, ${rows.length} rows written, ${wrong} of them wrong`,
        );
      if (objects < submitted || bytes !== picture.bytes || sha256 !== picture.sha256)
        throw new Error(`${name}: ${submitted} pictures were delivered, and the bucket has ${objects} that are right`);
    },
    stop: async () => {
      // Stops all at once, so that no node takes over from another.
      await Promise.all(services.map(({ stop }) => stop()));
      // Without the bucket: stocked generations name files that do not exist.
      await verifyShared({ ...env, GENROUTER_STORE__URL: address });
      dropScratch(home);
    },
  };
};

/** @param usesAll servers and load share both cores; otherwise the servers have one core alone. */
export const withShared = async <T>(usesAll: boolean, work: (shared: Shared) => Promise<T>): Promise<T> => {
  const postgres = await startPostgres(usesAll ? onBothCores : onServerCore);
  try {
    const bucket = await startBucket();
    const keys = await stock(postgres);
    return await work({
      ...{ postgres, bucket },
      open: (name, count, env) => openNodes({ postgres, bucket, keys, usesAll }, name, count, env),
    });
  } finally {
    await postgres.stop();
  }
};
