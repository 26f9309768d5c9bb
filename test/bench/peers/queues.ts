// The three queues as libraries: how each takes an order durably, and how its worker takes it up; each set as its manual says for throughput.
import type { Accept, Order } from "./front.ts";
import { peerPackage } from "./packages.ts";
import { POSTGRES_DATABASE, POSTGRES_USER } from "./postgres.ts";

/** What is done with an order by a worker; once it resolves, the queue writes down that the job is finished. */
export type Work = (order: Order) => Promise<void>;
export type Queue = {
  accept: Accept;
  /** Takes up orders, at least so many at a time. @param finished called once a job is written down as finished, as far as the queue tells. */
  work(work: Work, atATime: number, finished: () => void): Promise<void>;
  /** Jobs that are on disk. */
  stored(): Promise<number>;
};

const NAME = "generations";
const postgresAt = (port: number) => `postgres://${POSTGRES_USER}@127.0.0.1:${port}/${POSTGRES_DATABASE}`;
type Pg = { default: { Client: new (url: string) => PgClient } };
type PgClient = {
  connect(): Promise<unknown>;
  query(sql: string): Promise<{ rows: { count: string }[] }>;
  end(): Promise<unknown>;
};
const countIn = async (port: number, table: string): Promise<number> => {
  const { Client } = (await peerPackage<Pg>("pg")).default;
  const client = new Client(postgresAt(port));
  await client.connect();
  const { rows } = await client.query(`SELECT count(*) AS count FROM ${table}`);
  await client.end();
  return Number(rows[0]?.count ?? 0);
};

/** Connections to PostgreSQL: enough that a commit is shared by many, few enough for one core. */
const CONNECTIONS = 32;

type BullMq = {
  Queue: new (
    name: string,
    options: object,
  ) => {
    add(name: string, order: Order, options: object): Promise<unknown>;
    getJobCountByTypes(...types: string[]): Promise<number>;
  };
  Worker: new (
    name: string,
    work: (job: { data: Order }) => Promise<void>,
    options: object,
  ) => { on(event: "completed", told: () => void): unknown; waitUntilReady(): Promise<unknown> };
};

const openBullMq = async (port: number): Promise<Queue> => {
  const { Queue, Worker } = await peerPackage<BullMq>("bullmq");
  const connection = { host: "127.0.0.1", port };
  const queue = new Queue(NAME, { connection });
  return {
    accept: (order) => queue.add("generation", order, { jobId: order.id, attempts: 1 }),
    stored: () => queue.getJobCountByTypes("waiting", "active", "completed"),
    work: async (work, concurrency, finished) => {
      const worker = new Worker(NAME, ({ data }) => work(data), {
        connection: { ...connection, maxRetriesPerRequest: null },
        concurrency,
      });
      worker.on("completed", finished);
      await worker.waitUntilReady();
    },
  };
};

type Boss = {
  on(event: "error", told: (fault: unknown) => void): unknown;
  start(): Promise<unknown>;
  createQueue(name: string, options: object): Promise<void>;
  send(name: string, order: Order, options: object): Promise<string | null>;
  work(name: string, options: object, work: (jobs: readonly { data: Order }[]) => Promise<unknown>): Promise<string>;
};
type PgBoss = { PgBoss: new (options: object) => Boss };

/** Jobs that one of its loops fetches at once and finishes together. */
const BATCH = 16;
/** An idle loop looks twice a second: so many that one looks every 8 ms. */
const LOOPS = 64;

const openPgBoss = async (port: number): Promise<Queue> => {
  const { PgBoss } = await peerPackage<PgBoss>("pg-boss");
  const boss = new PgBoss({ connectionString: postgresAt(port), max: CONNECTIONS, schedule: false });
  boss.on("error", (fault) => {
    process.stderr.write(`pg-boss: ${fault}\n`);
  });
  await boss.start();
  await boss.createQueue(NAME, { retryLimit: 0 });
  return {
    accept: (order) => boss.send(NAME, order, { id: order.id }),
    stored: () => countIn(port, "pgboss.job"),
    work: async (work, _, finished) => {
      const options = {
        ...{ batchSize: BATCH, localConcurrency: LOOPS },
        // A loop asks for more at once while there is more, and looks at its pace otherwise, the fastest that it allows.
        ...{ pollingIntervalSeconds: 0.5, burstWhenBatchFull: true },
      };
      await boss.work(NAME, options, async (jobs) => {
        await Promise.all(jobs.map(({ data }) => work(data)));
        for (const _ of jobs) finished();
      });
    },
  };
};

type Graphile = {
  makeWorkerUtils(options: object): Promise<{
    migrate(): Promise<void>;
    addJob(task: string, order: Order, options: object): Promise<unknown>;
  }>;
  run(options: object): Promise<unknown>;
};

const openGraphile = async (port: number): Promise<Queue> => {
  const { makeWorkerUtils, run } = await peerPackage<Graphile>("graphile-worker");
  const connectionString = postgresAt(port);
  const utils = await makeWorkerUtils({ connectionString, maxPoolSize: CONNECTIONS });
  await utils.migrate();
  return {
    accept: (order) => utils.addJob(NAME, order, { jobKey: order.id, maxAttempts: 1 }),
    stored: () => countIn(port, "graphile_worker._private_jobs"),
    work: async (work, concurrentJobs, finished) => {
      const task = async (order: Order) => {
        await work(order);
        finished();
      };
      await run({
        connectionString,
        maxPoolSize: CONNECTIONS,
        concurrentJobs,
        noHandleSignals: true,
        taskList: { [NAME]: task },
      });
    },
  };
};

export type QueueName = "bullmq" | "pg-boss" | "graphile";
const QUEUES: Readonly<Record<QueueName, (port: number) => Promise<Queue>>> = {
  bullmq: openBullMq,
  "pg-boss": openPgBoss,
  graphile: openGraphile,
};

/** @param port of the server that keeps its jobs. */
export const openQueue = (name: QueueName, port: number): Promise<Queue> => QUEUES[name](port);
