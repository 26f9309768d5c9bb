// A peer as a process: `bun server.ts PLAN` with a plan as JSON; its door and, where it is told to, its worker. Prints its port when it listens.

import { ACCOUNTS, BODY } from "../rungs/parts.ts";
import { type ErrandPlan, openErrand } from "./errand.ts";
import { openFront, orderOf, type Told } from "./front.ts";
import { openQueue, type QueueName } from "./queues.ts";

export type PeerPlan = {
  queue: QueueName;
  /** Port of the server that keeps its jobs. */
  port: number;
  /** Absent: orders are taken and stay in line. */
  worker: { errand: ErrandPlan; atATime: number } | null;
  /** So many orders are there before it listens. */
  filled: number;
};
/** Of the orders that it begins with. */
const PER_WRITE = 1_000;

const { queue: name, port, worker, filled } = JSON.parse(process.argv[2] ?? "") as PeerPlan;
const told: Told = { open: 0, endedAtMs: [] };
const queue = await openQueue(name, port);
const body = JSON.parse(BODY) as { model: string; input: object };
for (let from = 0; from < filled; from += PER_WRITE)
  await queue.fill(
    Array.from({ length: Math.min(PER_WRITE, filled - from) }, (_, at) =>
      orderOf((from + at) % ACCOUNTS, body, crypto.randomUUID()),
    ),
  );
if (worker)
  await queue.work(await openErrand(worker.errand), worker.atATime, () => {
    told.open -= 1;
    told.endedAtMs.push(Date.now());
  });
openFront(queue.accept, queue.stored, told);
