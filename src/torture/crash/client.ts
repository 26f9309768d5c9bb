// Crash client process: workers that submit, repeat, change and poll until SIGTERM.
import { readFileSync } from "node:fs";
import type { JsonObject } from "../../domain/types.ts";
import { chance } from "../../simulator/fault-script.ts";
import { type ClientLog, openClientLog, withoutLinks } from "./client-log.ts";
import { createNodeSelection, type NodeSelection } from "./node-selection.ts";
import { type Order, orderOf } from "./workload.ts";

export type ClientPlan = {
  /** The URLs of the nodes, which receive requests in turn. */
  urls: string[];
  /** How long a response is awaited before the next node is tried, ms; default ten seconds. */
  patienceMs?: number;
  log: string;
  seed: number;
  workers: number;
  keys: string[];
  /** The number of earlier rounds; each has its own order numbers. */
  round: number;
};

/** Shares of the requests. A repeat takes one of the latest orders of any worker, which may be in progress. */
const REPEATED = 0.3;
const CHANGED = 0.05;
const POLLED = 0.5;
const LAST_ORDERS = 4;
/** Share of the repeats that take an early order of any earlier round, and the number of such orders. */
const LONG_AGO = 0.1;
const EARLY_ORDERS = 20;
const ORDERS_OF_ROUND = 100_000;
/**
 * Share of the orders without a response that are repeated once the service is available again; the others remain for the end.
 */
const SENT_AGAIN = 0.75;
const POLL_MS = 40;
const PAUSE_MS = [50, 250] as const;

const acknowledge = (log: ClientLog, order: Order, answer: { status: number; body: JsonObject }): string | null => {
  const { key, account, hash } = order;
  const id = answer.status === 200 || answer.status === 202 ? String(answer.body.id) : null;
  const code = id === null ? String((answer.body.error as JsonObject | undefined)?.code) : null;
  log.write({ type: "ack", key, account, hash, status: answer.status, id, code });
  return id;
};

export type Sender = { keys: readonly string[]; nodes: NodeSelection; log: ClientLog };

/** Sends an order once and logs intent and response. Undefined if no response arrived. */
export const sendOrder = async ({ keys, nodes, log }: Sender, order: Order): Promise<string | null | undefined> => {
  const { key, account, hash, body } = order;
  log.write({ type: "intent", key, account, hash, body });
  const about = { path: "/v1/generations", body: JSON.stringify(body), idempotencyKey: key };
  const answer = await nodes.ask(keys[account] ?? "", about);
  return answer && acknowledge(log, order, answer);
};

/** Polls a generation; if it has ended, its resource is logged. */
const poll = async ({ keys, nodes, log }: Sender, { id, account }: { id: string; account: number }): Promise<void> => {
  const shown = await nodes.ask(keys[account] ?? "", { path: `/v1/generations/${id}` });
  if (shown?.status === 200 && shown.body.completed_at !== null)
    log.write({ type: "seen", account, id, resource: withoutLinks(shown.body) });
};

/** Waits until the service, or any of its nodes, listens again. */
const untilBack = async (nodes: NodeSelection, isStopping: () => boolean): Promise<void> => {
  while (!isStopping() && !(await nodes.ask("", { path: "/healthz" }))) await Bun.sleep(POLL_MS);
};

const runWorker = async (plan: ClientPlan, sender: Sender, worker: number, isStopping: () => boolean): Promise<void> => {
  const roll = chance(plan.seed * 131 + plan.round * 10_007 + worker);
  const known: { id: string; account: number }[] = [];
  const first = plan.round * ORDERS_OF_ROUND;
  for (let n = first; !isStopping(); ) {
    const chosen = roll();
    const isRepeated = chosen < REPEATED;
    const back = Math.floor(roll() * LAST_ORDERS);
    const longAgo = Math.floor(roll() * (plan.round + 1)) * ORDERS_OF_ROUND + Math.floor(roll() * EARLY_ORDERS);
    const repeated = roll() < LONG_AGO ? longAgo : Math.max(first, n - back);
    const whose = isRepeated ? Math.floor(roll() * plan.workers) : worker;
    const order = orderOf(plan.seed, plan.keys.length, whose, isRepeated ? repeated : n, chosen < CHANGED);
    if (!isRepeated) n += 1;
    let id = await sendOrder(sender, order);
    while (id === undefined && !isStopping()) {
      await untilBack(sender.nodes, isStopping);
      if (roll() >= SENT_AGAIN) break;
      id = await sendOrder(sender, order);
    }
    if (id) known.push({ id, account: order.account });
    const one = known[Math.floor(roll() * known.length)];
    if (one && roll() < POLLED) await poll(sender, one);
    await Bun.sleep(PAUSE_MS[0] + roll() * (PAUSE_MS[1] - PAUSE_MS[0]));
  }
};

/** The client process: runs until SIGTERM, or until its parent has ended. */
export const runClient = async (planPath: string): Promise<void> => {
  const plan = JSON.parse(readFileSync(planPath, "utf8")) as ClientPlan;
  const log = openClientLog(plan.log);
  const parent = process.ppid;
  let isStopRequested = false;
  process.once("SIGTERM", () => {
    isStopRequested = true;
  });
  const isStopping = () => isStopRequested || process.ppid !== parent;
  process.stdout.write(`client of ${plan.workers} workers\n`);
  const sender: Sender = { keys: plan.keys, nodes: createNodeSelection(plan.urls, plan.patienceMs), log };
  await Promise.all(Array.from({ length: plan.workers }, (_, worker) => runWorker(plan, sender, worker, isStopping)));
  log.close();
};
