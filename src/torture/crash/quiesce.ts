// Peace after the crashes: no faults, nothing is killed, everything comes to its end; then both sides are laid open.

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
 * How many times faster than life peace is. A look-up proves an absence after 40 min of life at fal and 2 min at
 * Replicate: 2 s and 0.1 s. Nothing is in doubt any more that a slow moment could prove absent too early: what was sent
 * before arrived before, or never, and what is sent in peace is answered.
 */
const PEACE_SPEED = 1200;
/** A wait is given up when nothing has ended for so long (five hours of life), or after this in all. */
const STUCK_MS = 15_000;
const SETTLE_MS = 60_000;
/** The same once somebody wants it over: still long enough for a service that works. */
const HURRIED = { stuckMs: 5000, settleMs: 15_000 } as const;
const LOOK_MS = 25;
/** Between two counts of what is left; the looks in between only ask whether anything is. */
const COUNT_MS = 500;
const MOST_COUNTED = 10_000;
const AT_A_TIME = 16;
/** Of an invariant that does not hold: rows, and how much of each; and how much of what verify said without a verdict. */
const ROWS_SHOWN = 3;
const ROW_SHOWN = 160;
const SAID_SHOWN = 500;

export type QuiescePlan = {
  genrouter: Genrouter;
  /** Of the service, or of its nodes, each with its directory. */
  places: readonly [ServicePlace, ...ServicePlace[]];
  /** Where the books are, if not in the directory of the one place. */
  books?: DatabaseLocation;
  simulatorPlace: SimulatorPlace;
  tenants: readonly Tenant[];
  client: ClientPlan;
  /** More to look at, while all is calm and has ended. */
  look?: (urls: readonly string[], stored: readonly Stored[]) => Promise<Check[]>;
  /** Somebody waits for the end of it all. */
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
  /** Generations that had not ended when the wait for them did. */
  unended: number;
};

export const inParallel = async <T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> => {
  const left = [...items].reverse();
  const worker = async () => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) await work(item);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
};

/** Keys that no answer ever came for, each with the bodies it was sent with. */
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

/** Sends every unanswered key again, twice: all answers that carry an id carry the same one. */
const retry = async (plan: ClientPlan): Promise<Check & { retried: number }> => {
  const faults: string[] = [];
  const ids = new Map<string, string>();
  const orders = unanswered(readClientLog(plan.log));
  const log = openClientLog(plan.log);
  const sender: Sender = { keys: plan.keys, doors: createNodeSelection(plan.urls), log };
  await inParallel([...orders, ...orders], async (order) => {
    const id = await sendOrder(sender, order);
    if (id === undefined) faults.push(`${order.key}: no answer in peace`);
    if (!id) return;
    if ((ids.get(order.key) ?? id) !== id) faults.push(`${order.key}: ${ids.get(order.key)} and ${id}`);
    ids.set(order.key, id);
  });
  log.close();
  const retried = new Set(orders.map(({ key }) => key)).size;
  return { name: "a key without an answer, sent again, has exactly one generation", faults, retried };
};

/**
 * Waits for the end of every generation; one that never comes is the audit's to tell, with all the rest.
 * @param stuck so many are known to be stuck, and not waited for again. @returns how many have not ended.
 */
const settle = (books: DatabaseLocation, isHurried: () => boolean, stuck = 0): Promise<number> =>
  reading(books, async (reads) => {
    const beganMono = performance.now();
    let fewest = Number.POSITIVE_INFINITY;
    let [movedMono, countedMono] = [beganMono, Number.NEGATIVE_INFINITY];
    for (;;) {
      const nowMono = performance.now();
      const isCounting = nowMono - countedMono >= COUNT_MS;
      const left = (await reads.unfinished(0, isCounting ? MOST_COUNTED : stuck + 1)).length;
      if (left <= stuck) return left;
      if (isCounting) {
        if (left < fewest) movedMono = nowMono;
        fewest = Math.min(fewest, left);
        countedMono = nowMono;
        const { stuckMs, settleMs } = isHurried() ? HURRIED : { stuckMs: STUCK_MS, settleMs: SETTLE_MS };
        if (nowMono - movedMono > stuckMs || nowMono - beganMono > settleMs) return left;
      }
      await Bun.sleep(LOOK_MS);
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

/** What each account has, as the books say. */
export const balancesOf = (books: DatabaseLocation, tenants: readonly Tenant[]): Promise<Evidence["balances"]> =>
  reading(books, (reads) =>
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

/** The invariants that do not hold, each with the first rows that offend it, out of what `verify --json` said. */
export const offendingOf = (code: number | null, said: string): string[] => {
  const verdict = said.split("\n").find((line) => line.startsWith('{"ok":'));
  if (code !== 1 || verdict === undefined) return code === 0 ? [] : [`exit ${code}: ${said.slice(-SAID_SHOWN)}`];
  const { checks } = JSON.parse(verdict) as { checks: CheckResult[] };
  return checks.flatMap(({ ok, invariant, name, offending }) => {
    if (ok) return [];
    const rows = offending.slice(0, ROWS_SHOWN).map((row) => JSON.stringify(row).slice(0, ROW_SHOWN));
    const more = offending.length > rows.length ? ` and ${offending.length - rows.length} more` : "";
    return [`invariant ${invariant} (${name}): ${rows.join(" ")}${more}`];
  });
};

/** `genrouter verify`, as an operator runs it. */
const verify = async (genrouter: Genrouter, { dir, env }: ServicePlace): Promise<Check> => {
  const { code, said } = await run([...genrouter, "verify", "--json"], { ...env, GENROUTER_DATA__DIR: dir });
  return { name: "genrouter verify says that the thirteen invariants hold", faults: offendingOf(code, said) };
};

/** Tells the service, or all of its nodes at once, to stop, and waits for them. */
const stopAll = async (services: readonly ServiceProcess[]): Promise<Check> => {
  for (const { child } of services) child.kill("SIGTERM");
  const faults: string[] = [];
  for (const { child } of services) {
    const { code } = await child.ended;
    if (code !== 0) faults.push(`exit ${code}: ${child.said()}`);
  }
  return { name: "the service stops in peace", faults };
};

/** From the last kill to the two sides of the audit. Nothing of the world runs before it, nor after it. */
export const quiesce = async (plan: QuiescePlan): Promise<Quiesced> => {
  const { genrouter, places, simulatorPlace, tenants, client, isHurried = () => false } = plan;
  const [first] = places;
  const books = plan.books ?? first.dir;
  const calm = await startSimulator(genrouter, { ...simulatorPlace, speed: PEACE_SPEED });
  const services = await Promise.all(places.map((place) => startService(genrouter, { ...place, speed: PEACE_SPEED })));
  const urls = services.map(({ url }) => url);
  const beganMono = performance.now();
  const stuck = await settle(books, isHurried);
  const settleMs = Math.round(performance.now() - beganMono);
  const { retried, ...retries } = await retry(client);
  const unended = await settle(books, isHurried, stuck);
  const stored = await reading(books, (reads) => readStored(reads, tenants));
  const shown = await showAll(urls[0] ?? "", client.keys, stored);
  const looked = (await plan.look?.(urls, stored)) ?? [];
  const stopped = await stopAll(services);
  calm.child.kill("SIGTERM");
  await calm.child.ended;
  return {
    stored,
    shown,
    balances: await balancesOf(books, tenants),
    client: readClientLog(client.log),
    checks: [retries, ...looked, stopped, await verify(genrouter, first)],
    retried,
    settleMs,
    unended,
  };
};
