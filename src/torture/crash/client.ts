// Crash client process: workers that submit, repeat, change and poll until SIGTERM.
import { readFileSync } from "node:fs";
import type { JsonObject } from "../../domain/types.ts";
import { chance } from "../../simulator/fault-script.ts";
import { type ClientLog, openClientLog, withoutLinks } from "./client-log.ts";
import type { Answer } from "./crash-fixture.ts";
import { createNodeSelection, type NodeSelection } from "./node-selection.ts";
import { ownPathOf } from "./webhook-targets.ts";
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
  /** Origin of the webhook receiver, which some submissions name; absent: none. */
  receiverUrl?: string;
  /** Whether it also cancels and deletes generations. */
  isEnding?: true;
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
/** Shares of the orders that are cancelled after their submission, and of those after which an earlier generation is deleted. */
const CANCELLED = 0.07;
const DELETED = 0.07;
const POLL_MS = 40;
const PAUSE_MS = [50, 250] as const;

/** The code of an error; null for a response without one. */
const codeOf = ({ body }: Answer): string | null => (body.error as JsonObject | undefined)?.code?.toString() ?? null;

const acknowledge = (log: ClientLog, order: Order, answer: Answer): string | null => {
  const { key, account, hash } = order;
  const id = answer.status === 200 || answer.status === 202 ? String(answer.body.id) : null;
  const code = id === null ? codeOf(answer) : null;
  log.write({ type: "ack", key, account, hash, status: answer.status, id, code });
  return id;
};

export type Sender = { keys: readonly string[]; nodes: NodeSelection; log: ClientLog; receiverUrl?: string | undefined };
type Known = { id: string; account: number };

/** Sends an order once and logs intent and response. Undefined if no response arrived. */
export const sendOrder = async ({ keys, nodes, log, receiverUrl }: Sender, order: Order): Promise<string | null | undefined> => {
  const { key, account, hash, body } = order;
  log.write({ type: "intent", key, account, hash, body });
  const own = ownPathOf(account, key);
  const headers = receiverUrl === undefined || own === undefined ? {} : { "genrouter-webhook": `${receiverUrl}${own}` };
  const about = { path: "/v1/generations", body: JSON.stringify(body), idempotencyKey: key, headers };
  const answer = await nodes.ask(keys[account] ?? "", about);
  return answer && acknowledge(log, order, answer);
};

/** Polls a generation; if it has ended, its resource is logged. */
const poll = async ({ keys, nodes, log }: Sender, { id, account }: Known): Promise<void> => {
  const shown = await nodes.ask(keys[account] ?? "", { path: `/v1/generations/${id}` });
  if (shown?.status === 200 && shown.body.completed_at !== null)
    log.write({ type: "seen", account, id, resource: withoutLinks(shown.body) });
};

/** Cancels or deletes a generation, and logs the request and its response. */
const end = async ({ keys, nodes, log }: Sender, type: "cancel" | "delete", { id, account }: Known): Promise<void> => {
  const path = `/v1/generations/${id}`;
  const write = (status: number | null, code: string | null) => log.write({ type, account, id, status, code, atMs: Date.now() });
  write(null, null);
  const answer = await nodes.ask(keys[account] ?? "", {
    ...(type === "cancel" ? { path: `${path}/cancel`, method: "POST" } : { path, method: "DELETE" }),
  });
  if (answer) write(answer.status, codeOf(answer));
};

/** Waits until the service, or any of its nodes, listens again. */
const untilBack = async (nodes: NodeSelection, isStopping: () => boolean): Promise<void> => {
  while (!isStopping() && !(await nodes.ask("", { path: "/healthz" }))) await Bun.sleep(POLL_MS);
};

const runWorker = async (plan: ClientPlan, sender: Sender, worker: number, isStopping: () => boolean): Promise<void> => {
  const roll = chance(plan.seed * 131 + plan.round * 10_007 + worker);
  const known: Known[] = [];
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
    const ending = plan.isEnding ? roll() : 1;
    if (id && ending < CANCELLED) await end(sender, "cancel", { id, account: order.account });
    const former = known[Math.floor(roll() * known.length)];
    if (former && ending > 1 - DELETED && ending < 1) await end(sender, "delete", former);
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
  const sender: Sender = {
    keys: plan.keys,
    nodes: createNodeSelection(plan.urls, plan.patienceMs),
    log,
    receiverUrl: plan.receiverUrl,
  };
  await Promise.all(Array.from({ length: plan.workers }, (_, worker) => runWorker(plan, sender, worker, isStopping)));
  log.close();
};
