// Quiescing after the crashes: no faults and no kills until all generations end.
//
// Afterwards it reads client log, provider log and store.

import type { JsonObject } from "../../domain/types.ts";
import type { CheckResult } from "../../store/store.ts";
import type { Check, Evidence } from "./audit.ts";
import { type ClientPlan, type Sender, sendOrder } from "./client.ts";
import { type ClientLine, openClientLog, readClientLog, withoutLinks } from "./client-log.ts";
import {
  ask,
  type DatabaseLocation,
  reading,
  type ServicePlace,
  type ServiceProcess,
  type SimulatorPlace,
  startService,
  startSimulator,
  type Tenant,
} from "./crash-fixture.ts";
import { createNodeSelection } from "./node-selection.ts";
import { type Genrouter, run } from "./processes.ts";
import { readStored, type Stored } from "./read-store.ts";
import type { Order } from "./workload.ts";

/**
 * Speed of the simulator during quiescing. A lookup proves an absence after 40 min of simulated time at fal and 2 min at
 * Replicate: 2 s and 0.1 s. A slow moment can no longer prove a job absent too early. Earlier submissions have arrived or are
 * lost, and submissions during quiescing receive a response.
 */
const PEACE_SPEED = 1200;
/** A wait ends if no generation has ended for this time (five hours of simulated time), or after this time in total. */
const STUCK_MS = 15_000;
const SETTLE_MS = 60_000;
/** The same limits for an urgent end, still sufficient for a working service. */
const HURRIED = { stuckMs: 5000, settleMs: 15_000 } as const;
const POLL_MS = 25;
/** Interval between two counts of open generations; the checks in between only test for any. */
const COUNT_MS = 500;
const MAX_COUNTED = 10_000;
const AT_A_TIME = 16;
/** For a violated invariant: rows, and characters of each. Characters of a verify output without a verdict. */
const ROWS_SHOWN = 3;
const ROW_SHOWN = 160;
const SHOWN_CHARS = 500;

export type QuiescePlan = {
  genrouter: Genrouter;
  /** The service, or its nodes, each with its directory. */
  places: readonly [ServicePlace, ...ServicePlace[]];
  /** The database, if it is not in the directory of a single place. */
  database?: DatabaseLocation;
  simulatorPlace: SimulatorPlace;
  tenants: readonly Tenant[];
  client: ClientPlan;
  /** Additional checks after all generations have ended. */
  look?: (urls: readonly string[], stored: readonly Stored[]) => Promise<Check[]>;
  /** Whether the end is urgent. */
  isHurried?: () => boolean;
};
export type Quiesced = {
  stored: Stored[];
  shown: Map<string, JsonObject>;
  balances: Evidence["balances"];
  client: ClientLine[];
  checks: Check[];
  retried: number;
  settleMs: number;
  /** Generations that had not ended at the end of the wait. */
  unended: number;
};

export const inParallel = async <T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> => {
  const left = [...items].reverse();
  const worker = async () => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) await work(item);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
};

/** Keys that never received a response, each with its sent bodies. */
const unanswered = (lines: readonly ClientLine[]): Order[] => {
  const answered = new Set(lines.flatMap((line) => (line.type === "ack" ? [line.key] : [])));
  const orders = new Map<string, Order>();
  for (const line of lines)
    if (line.type === "intent" && !answered.has(line.key)) {
      const { key, account, body, hash } = line;
      orders.set(`${key} ${hash}`, { key, account, body: body as Order["body"], hash });
    }
  return [...orders.values()];
};

/** Sends every unanswered key again, twice. All responses with an id must carry the same one. */
const retry = async (plan: ClientPlan): Promise<Check & { retried: number }> => {
  const faults: string[] = [];
  const ids = new Map<string, string>();
  const orders = unanswered(readClientLog(plan.log));
  const log = openClientLog(plan.log);
  const sender: Sender = { keys: plan.keys, nodes: createNodeSelection(plan.urls), log, receiverUrl: plan.receiverUrl };
  await inParallel([...orders, ...orders], async (order) => {
    const id = await sendOrder(sender, order);
    if (id === undefined) faults.push(`${order.key}: no response after the faults ended`);
    if (!id) return;
    if ((ids.get(order.key) ?? id) !== id) faults.push(`${order.key}: ${ids.get(order.key)} and ${id}`);
    ids.set(order.key, id);
  });
  log.close();
  const retried = new Set(orders.map(({ key }) => key)).size;
  return { name: "an idempotency key whose response was lost has exactly one generation after a retry", faults, retried };
};

/**
 * Waits for the end of every generation; the audit reports one that does not end.
 * @param stuck number of generations that are known to be stuck and are not awaited. @returns the number of open generations
 */
const settle = (database: DatabaseLocation, isHurried: () => boolean, stuck = 0): Promise<number> =>
  reading(database, async (reads) => {
    const beganMono = performance.now();
    let fewest = Number.POSITIVE_INFINITY;
    let [movedMono, countedMono] = [beganMono, Number.NEGATIVE_INFINITY];
    for (;;) {
      const nowMono = performance.now();
      const isCounting = nowMono - countedMono >= COUNT_MS;
      const left = (await reads.unfinished(0, isCounting ? MAX_COUNTED : stuck + 1)).length;
      if (left <= stuck) return left;
      if (isCounting) {
        if (left < fewest) movedMono = nowMono;
        fewest = Math.min(fewest, left);
        countedMono = nowMono;
        const { stuckMs, settleMs } = isHurried() ? HURRIED : { stuckMs: STUCK_MS, settleMs: SETTLE_MS };
        if (nowMono - movedMono > stuckMs || nowMono - beganMono > settleMs) return left;
      }
      await Bun.sleep(POLL_MS);
    }
  });

export const showAll = async (
  url: string,
  keys: readonly string[],
  stored: readonly Stored[],
): Promise<Map<string, JsonObject>> => {
  const shown = new Map<string, JsonObject>();
  await inParallel(stored, async ({ id, account }) => {
    const answer = await ask(url, keys[account] ?? "", { path: `/v1/generations/${id}` });
    if (answer?.status === 200) shown.set(id, withoutLinks(answer.body));
  });
  return shown;
};

/** The files of a deleted generation cannot be read any more. */
export const checkDeletedFiles = async (url: string, keys: readonly string[], stored: readonly Stored[]): Promise<Check> => {
  const faults: string[] = [];
  const deleted = stored.filter(({ erasedAtMs, status }) => erasedAtMs !== null && status === "succeeded");
  await inParallel(deleted, async ({ id, account }) => {
    const answer = await ask(url, keys[account] ?? "", { path: `/v1/generations/${id}/content` });
    if (answer?.status !== 404) faults.push(`${id}: its file was answered with ${answer?.status}`);
  });
  return { name: "the files of a deleted generation answer 404", faults };
};

/** The balance of each account, from the store. */
export const balancesOf = (database: DatabaseLocation, tenants: readonly Tenant[]): Promise<Evidence["balances"]> =>
  reading(database, (reads) =>
    Promise.all(
      tenants.map(async ({ accountId }) => {
        const account = await reads.account(accountId);
        return {
          available: account?.availableCredits ?? 0,
          held: account?.heldCredits ?? 0,
          charged: account?.chargedCredits ?? 0,
        };
      }),
    ),
  );

/** The violated invariants with their first offending rows, from the output of `verify --json`. */
export const offendingOf = (code: number | null, text: string): string[] => {
  const verdict = text.split("\n").find((line) => line.startsWith('{"ok":'));
  if (code !== 1 || verdict === undefined) return code === 0 ? [] : [`exit ${code}: ${text.slice(-SHOWN_CHARS)}`];
  const { checks } = JSON.parse(verdict) as { checks: CheckResult[] };
  return checks.flatMap(({ ok, invariant, name, offending }) => {
    if (ok) return [];
    const rows = offending.slice(0, ROWS_SHOWN).map((row) => JSON.stringify(row).slice(0, ROW_SHOWN));
    const more = offending.length > rows.length ? ` and ${offending.length - rows.length} more` : "";
    return [`invariant ${invariant} (${name}): ${rows.join(" ")}${more}`];
  });
};

/** Runs `genrouter verify` as an operator does. */
const verify = async (genrouter: Genrouter, { dir, env }: ServicePlace): Promise<Check> => {
  const { code, output } = await run([...genrouter, "verify", "--json"], { ...env, GENROUTER_DATA__DIR: dir });
  return { name: "genrouter verify reports that the thirteen invariants hold", faults: offendingOf(code, output) };
};

/** Sends SIGTERM to the service, or to all of its nodes at once, and waits for their exit. */
const stopAll = async (services: readonly ServiceProcess[]): Promise<Check> => {
  for (const { child } of services) child.kill("SIGTERM");
  const faults: string[] = [];
  for (const { child } of services) {
    const { code } = await child.ended;
    if (code !== 0) faults.push(`exit ${code}: ${child.output()}`);
  }
  return { name: "the service exits with 0 after SIGTERM", faults };
};

/**
 * Quiesces the world after the last kill, and collects the evidence of the audit. No process of the world runs before or after
 * it.
 */
export const quiesce = async (plan: QuiescePlan): Promise<Quiesced> => {
  const { genrouter, places, simulatorPlace, tenants, client, isHurried = () => false } = plan;
  const [first] = places;
  const database = plan.database ?? first.dir;
  const calm = await startSimulator(genrouter, { ...simulatorPlace, speed: PEACE_SPEED });
  const services = await Promise.all(places.map((place) => startService(genrouter, { ...place, speed: PEACE_SPEED })));
  const urls = services.map(({ url }) => url);
  const beganMono = performance.now();
  const stuck = await settle(database, isHurried);
  const settleMs = Math.round(performance.now() - beganMono);
  const { retried, ...retries } = await retry(client);
  const unended = await settle(database, isHurried, stuck);
  const stored = await reading(database, (reads) => readStored(reads, tenants));
  const shown = await showAll(urls[0] ?? "", client.keys, stored);
  const looked = (await plan.look?.(urls, stored)) ?? [];
  const stopped = await stopAll(services);
  calm.child.kill("SIGTERM");
  await calm.child.ended;
  return {
    stored,
    shown,
    balances: await balancesOf(database, tenants),
    client: readClientLog(client.log),
    checks: [retries, ...looked, stopped, await verify(genrouter, first)],
    retried,
    settleMs,
    unended,
  };
};
