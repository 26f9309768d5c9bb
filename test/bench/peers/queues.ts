// The three queues as libraries: durable accept and worker, each configured for throughput as its manual says.
import { addressAt } from "../postgres.ts";
import type { Accept, Order } from "./front.ts";
import { peerPackage } from "./packages.ts";

/** The work of a worker on an order; after it resolves, the queue records that the job is finished. */
export type Work = (order: Order) => Promise<void>;
export type Queue = {
  accept: Accept;
  /** Accepts a batch, each order stored as if it had arrived alone. */
  fill(orders: readonly Order[]): Promise<unknown>;
  /** Works on orders, at least `n` at a time. @param finished is called when the queue reports a job as recorded. */
  work(work: Work, atATime: number, finished: () => void): Promise<void>;
  /** The number of jobs on disk. */
  stored(): Promise<number>;
};

/** A server on this machine, and its database if it has several. */
export type Place = { port: number; database: string };

const NAME = "generations";
type Pg = { default: { Client: new (url: string) => PgClient } };
type PgClient = {
  connect(): Promise<unknown>;
  query(sql: string): Promise<{ rows: { count: string }[] }>;
  end(): Promise<unknown>;
};
const countIn = async (address: string, table: string): Promise<number> => {
  const { Client } = (await peerPackage<Pg>("pg")).default;
  const client = new Client(address);
  await client.connect();
  const { rows } = await client.query(`SELECT count(*) AS count FROM ${table}`);
  await client.end();
  return Number(rows[0]?.count ?? 0);
};

/** Connections to PostgreSQL: enough for group commit, few enough for one core. */
const CONNECTIONS = 32;

type BullMq = {
  Queue: new (
    name: string,
    options: object,
  ) => {
    add(name: string, order: Order, options: object): Promise<unknown>;
    addBulk(jobs: readonly { name: string; data: Order; opts: object }[]): Promise<unknown>;
    getJobCountByTypes(...types: string[]): Promise<number>;
  };
  Worker: new (
    name: string,
    work: (job: { data: Order }) => Promise<void>,
    options: object,
  ) => { on(event: "completed", reported: () => void): unknown; waitUntilReady(): Promise<unknown> };
};

const openBullMq = async ({ port }: Place): Promise<Queue> => {
  const { Queue, Worker } = await peerPackage<BullMq>("bullmq");
  const connection = { host: "127.0.0.1", port };
  const queue = new Queue(NAME, { connection });
  const optionsOf = ({ id }: Order) => ({ jobId: id, attempts: 1 });
  return {
    accept: (order) => queue.add("generation", order, optionsOf(order)),
    fill: (orders) => queue.addBulk(orders.map((data) => ({ name: "generation", data, opts: optionsOf(data) }))),
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
  on(event: "error", reported: (fault: { message: string }) => void): unknown;
  start(): Promise<unknown>;
  createQueue(name: string, options: object): Promise<void>;
  send(name: string, order: Order, options: object): Promise<string | null>;
  insert(name: string, jobs: readonly { id: string; data: Order }[]): Promise<unknown>;
  work(name: string, options: object, work: (jobs: readonly { data: Order }[]) => Promise<unknown>): Promise<string>;
};
type PgBoss = { PgBoss: new (options: object) => Boss };

/** The number of jobs that one loop fetches and finishes together. */
const BATCH = 16;
/**
 * The poll interval of an idle loop, s: from the shortest allowed to one and a half times that, different for each loop, because
 * loops with the same start and interval would always poll together. On average one polls every 8 ms. LISTEN/NOTIFY wakes all
 * idle loops for each single job: it ended fewer jobs in the same time, with 24 loops and with 64.
 */
const LOOK_S = [0.5, 0.75] as const;
const LOOPS = 80;

const openPgBoss = async ({ port, database }: Place): Promise<Queue> => {
  const address = addressAt(port, database);
  const { PgBoss } = await peerPackage<PgBoss>("pg-boss");
  const boss = new PgBoss({ connectionString: address, max: CONNECTIONS, schedule: false });
  boss.on("error", ({ message }) => {
    process.stderr.write(`pg-boss: ${message}\n`);
  });
  await boss.start();
  await boss.createQueue(NAME, { retryLimit: 0 });
  return {
    accept: (order) => boss.send(NAME, order, { id: order.id }),
    fill: (orders) =>
      boss.insert(
        NAME,
        orders.map((data) => ({ id: data.id, data })),
      ),
    stored: () => countIn(address, "pgboss.job"),
    work: async (work, _, finished) => {
      const [least, most] = LOOK_S;
      for (let loop = 0; loop < LOOPS; loop += 1) {
        const pollingIntervalSeconds = least + ((most - least) * loop) / LOOPS;
        // It fetches again at once while there are more jobs.
        await boss.work(NAME, { batchSize: BATCH, pollingIntervalSeconds, burstWhenBatchFull: true }, async (jobs) => {
          await Promise.all(jobs.map(({ data }) => work(data)));
          for (const _ of jobs) finished();
        });
      }
    },
  };
};

type Graphile = {
  makeWorkerUtils(options: object): Promise<{
    migrate(): Promise<void>;
    addJob(task: string, order: Order, options: object): Promise<unknown>;
    addJobs(jobs: readonly ({ identifier: string; payload: Order } & object)[]): Promise<unknown>;
  }>;
  run(options: object): Promise<unknown>;
};

/** The initial value that its documentation recommends. */
const COMPLETE_MS = 250;

const openGraphile = async ({ port, database }: Place): Promise<Queue> => {
  const { makeWorkerUtils, run } = await peerPackage<Graphile>("graphile-worker");
  const address = addressAt(port, database);
  const utils = await makeWorkerUtils({ connectionString: address, maxPoolSize: CONNECTIONS });
  await utils.migrate();
  const optionsOf = ({ id }: Order) => ({ jobKey: id, maxAttempts: 1 });
  return {
    accept: (order) => utils.addJob(NAME, order, optionsOf(order)),
    fill: (orders) => utils.addJobs(orders.map((order) => ({ identifier: NAME, payload: order, ...optionsOf(order) }))),
    stored: () => countIn(address, "graphile_worker._private_jobs"),
    work: async (work, concurrentJobs, finished) => {
      const task = async (order: Order) => {
        await work(order);
        finished();
      };
      await run({
        connectionString: address,
        maxPoolSize: CONNECTIONS,
        concurrentJobs,
        noHandleSignals: true,
        // As its performance page recommends: jobs are fetched and completed in batches.
        preset: {
          worker: {
            localQueue: { size: concurrentJobs + 1 },
            completeJobBatchDelay: COMPLETE_MS,
            failJobBatchDelay: COMPLETE_MS,
          },
        },
        taskList: { [NAME]: task },
      });
    },
  };
};

export type QueueName = "bullmq" | "pg-boss" | "graphile";
const QUEUES: Readonly<Record<QueueName, (place: Place) => Promise<Queue>>> = {
  bullmq: openBullMq,
  "pg-boss": openPgBoss,
  graphile: openGraphile,
};

/** @param place the server that stores its jobs. */
export const openQueue = (name: QueueName, place: Place): Promise<Queue> => QUEUES[name](place);
