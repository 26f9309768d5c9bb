// A peer as a process: `bun server.ts PLAN` with a plan as JSON; its door and, where it is told to, its worker. Prints its port when it listens.
import { type ErrandPlan, openErrand } from "./errand.ts";
import { openFront, type Told } from "./front.ts";
import { openQueue, type QueueName } from "./queues.ts";

export type PeerPlan = {
  queue: QueueName;
  /** Port of the server that keeps its jobs. */
  port: number;
  /** Absent: orders are taken and stay in line. */
  worker: { errand: ErrandPlan; atATime: number } | null;
};

const { queue: name, port, worker } = JSON.parse(process.argv[2] ?? "") as PeerPlan;
const told: Told = { open: 0, endedAtMs: [] };
const queue = await openQueue(name, port);
if (worker)
  await queue.work(await openErrand(worker.errand), worker.atATime, () => {
    told.open -= 1;
    told.endedAtMs.push(Date.now());
  });
openFront(queue.accept, queue.stored, told);
