// Runs a peer's HTTP front and optional worker as a process: `bun server.ts PLAN` with a plan as JSON; prints its port.

import { ACCOUNTS, BODY } from "../rungs/parts.ts";
import { type FrontReport, gathering, openFront, orderOf } from "./front.ts";
import { openQueue, type Place, type QueueName } from "./queues.ts";
import { openTask, type TaskPlan } from "./task.ts";

export type PeerPlan = {
  queue: QueueName;
  /** The location of its jobs. */
  place: Place;
  /** Absent: orders are accepted and stay queued. */
  worker: { task: TaskPlan; atATime: number } | null;
  /** The number of orders that it stores before it listens. */
  filled: number;
  /** Orders that arrive during a write are written together by the queue's batch call. */
  gathers: boolean;
};
/** The batch size of the initial orders. */
const PER_WRITE = 1_000;

const { queue: name, place, worker, filled, gathers } = JSON.parse(process.argv[2] ?? "") as PeerPlan;
const reported: FrontReport = { open: 0, endedAtMs: [] };
const queue = await openQueue(name, place);
const body = JSON.parse(BODY) as { model: string; input: object };
for (let from = 0; from < filled; from += PER_WRITE)
  await queue.fill(
    Array.from({ length: Math.min(PER_WRITE, filled - from) }, (_, at) =>
      orderOf((from + at) % ACCOUNTS, body, crypto.randomUUID()),
    ),
  );
if (worker)
  await queue.work(await openTask(worker.task), worker.atATime, () => {
    reported.open -= 1;
    reported.endedAtMs.push(Date.now());
  });
openFront(gathers ? gathering(queue.fill) : queue.accept, queue.stored, reported);
