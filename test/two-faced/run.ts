// Plays orders with two-faced links, and compares the bill with what the provider reports as received.

import type { Place } from "../bombs/fixture.ts";
import { post } from "../bombs/load.ts";
import { drawFace, type Faces, KINDS_OF_FACES } from "./faces.ts";
import { FRAME_MS, LENGTHS_MS, ORDERS, type Order, rollOf } from "./orders.ts";

type Shown = { id: string; status: string; cost_usd: number | null; reserved_usd: number | null; error: { code: string } | null };
/** A job of the simulator's `/jobs`. */
type Job = { id: string; received: { kind: string; ms: number }[] | null };
type LogLine = { type: string; job_id: string | null; input: unknown; ref: string | null };

export type Plan = { cases: number; seed: number; lanes: number };
export type Outcome = {
  /** Counts of the ends of two-faced orders. */
  ends: { succeeded: number; failed: number; refused: number };
  right: number;
  byKind: Record<string, { right: number; of: number }>;
  /** Orders that were billed differently than received, at most MAX_REPORTED. */
  reported: string[];
  /** The cost of all orders, USD. */
  costUsd: number;
};

const PATIENCE_MS = 120_000;
const LOOK_MS = 100;
const MAX_REPORTED = 20;

const untilEnd = async ({ nodes, orderer }: Place, id: string): Promise<Shown> => {
  const endMono = performance.now() + PATIENCE_MS;
  for (;;) {
    const answer = await fetch(`${nodes[0]?.url}/v1/generations/${id}`, { headers: { authorization: `Bearer ${orderer.key}` } });
    const shown = (await answer.json()) as Shown;
    if (["succeeded", "failed"].includes(shown.status)) return shown;
    if (performance.now() > endMono) throw new Error(`${id} is ${shown.status} after ${PATIENCE_MS / 1000} s`);
    await Bun.sleep(LOOK_MS);
  }
};

/** The billed duration that the job with one of these words received; null if it has received nothing. */
const receivedMs = async ({ simulator }: Place, words: readonly string[], { kind, besidesMs }: Order): Promise<number | null> => {
  const asked = async (path: string) => (await fetch(`${simulator}${path}`)).text();
  const log = (await asked("/log")).split("\n").filter((line) => line !== "");
  const lines = log.map((line) => JSON.parse(line) as LogLine);
  const has = (line: LogLine) => words.some((word) => JSON.stringify([line.input, line.ref]).includes(word));
  const ids = lines.flatMap((line) => (line.type === "submission" && line.job_id !== null && has(line) ? [line.job_id] : []));
  const { jobs } = JSON.parse(await asked("/jobs")) as { jobs: Job[] };
  const received = jobs.find(({ id }) => id === ids.at(-1))?.received;
  if (!received) return null;
  return received.reduce((sum, one) => sum + (one.kind === kind ? one.ms : 0), 0) - besidesMs;
};

/** The links of an order: at least one is passed to the provider unchanged, or the order has a prompt. */
const linksIn = (body: object): string[] => JSON.stringify(body).match(/http[^"]+/g) ?? [];

type Ended = { refused: string } | { shown: Shown; receivedMs: number | null };
const play = async (place: Place, faces: Faces, order: Order, link: string, word: string): Promise<Ended> => {
  const body = await order.body(link, word, faces);
  const { status, body: said } = await post(place.nodes[0]?.url ?? "", place.orderer, body);
  if (status === 422) return { refused: said };
  if (status !== 202) throw new Error(`it was answered ${status}: ${said.slice(0, 300)}`);
  const { id } = JSON.parse(said) as Shown;
  const shown = await untilEnd(place, id);
  return { shown, receivedMs: await receivedMs(place, [word, ...linksIn(body)], order) };
};

/** The price of each duration: the same orders with a server that has one face. */
const priceAll = async (place: Place, faces: Faces, seed: number) => {
  const prices = new Map<Order, Map<number, number>>(ORDERS.map((order) => [order, new Map()]));
  let costUsd = 0;
  const priceOne = async (order: Order, ms: number): Promise<void> => {
    const link = faces.at(await order.file(ms, rollOf(seed + ms)));
    const ended = await play(place, faces, order, link, `honest-${ORDERS.indexOf(order)}-${ms}-`);
    const isRight = "shown" in ended && ended.receivedMs !== null && Math.abs(ended.receivedMs - ms) <= FRAME_MS;
    const cost = isRight && ended.shown.status === "succeeded" ? ended.shown.cost_usd : null;
    if (cost === null) throw new Error(`an honest order, ${order.name} of ${ms} ms, ended otherwise: ${JSON.stringify(ended)}`);
    prices.get(order)?.set(ms, cost);
    costUsd += cost;
  };
  await Promise.all(ORDERS.flatMap((order) => LENGTHS_MS.map((ms) => priceOne(order, ms))));
  return { prices, costUsd };
};

/** @returns the fault of an end; undefined if it was billed as received */
const faultOf = (ended: Ended, prices: ReadonlyMap<number, number>): string | undefined => {
  if ("refused" in ended) return undefined;
  const { shown, receivedMs: ms } = ended;
  if (shown.reserved_usd) return `${shown.status} with a hold of ${shown.reserved_usd} USD`;
  if (shown.status === "failed") return shown.cost_usd ? `failed, and cost ${shown.cost_usd} USD` : undefined;
  if (ms === null) return `succeeded for ${shown.cost_usd} USD, and the provider received nothing`;
  const fair = [...prices].flatMap(([of, usd]) => (Math.abs(of - ms) <= FRAME_MS ? [usd] : []));
  if (shown.cost_usd !== null && fair.includes(shown.cost_usd)) return undefined;
  const billed = [...prices].find(([, usd]) => usd === shown.cost_usd)?.[0];
  return `billed ${shown.cost_usd} USD (${billed} ms), received ${ms} ms, which are ${fair.join(" or ")} USD`;
};

export const playTwoFaced = async (place: Place, faces: Faces, { cases, seed, lanes }: Plan): Promise<Outcome> => {
  const { prices, costUsd } = await priceAll(place, faces, seed);
  const outcome: Outcome = {
    ...{ ends: { succeeded: 0, failed: 0, refused: 0 }, right: 0, byKind: {}, reported: [], costUsd },
  };
  const roll = rollOf(seed);
  let next = 0;
  const playNext = async (at: number): Promise<void> => {
    const face = drawFace(at, roll);
    const order = ORDERS[Math.floor(at / KINDS_OF_FACES.length) % ORDERS.length] ?? roll.pick(ORDERS);
    const firstMs = roll.pick(LENGTHS_MS);
    const secondMs = roll.pick(LENGTHS_MS.filter((ms) => ms !== firstMs));
    const [first, second] = [await order.file(firstMs, roll), await order.file(secondMs, roll)];
    const hasRanges = face.kind === "range" || roll.whole(0, 3) > 0;
    const ended = await play(place, faces, order, faces.at(first, second, face, hasRanges), `faced-${at}-`);
    const fault = faultOf(ended, prices.get(order) ?? new Map());
    const { right, of } = outcome.byKind[face.kind] ?? { right: 0, of: 0 };
    outcome.byKind[face.kind] = { right: right + (fault === undefined ? 1 : 0), of: of + 1 };
    if (fault === undefined) {
      outcome.right += 1;
    } else if (outcome.reported.length < MAX_REPORTED)
      outcome.reported.push(`${at}: ${order.name}, ${firstMs} ms when asked ${face.says}, else ${secondMs} ms: ${fault}`);
    if ("refused" in ended) outcome.ends.refused += 1;
    else {
      outcome.ends[ended.shown.status === "failed" ? "failed" : "succeeded"] += 1;
      outcome.costUsd += ended.shown.cost_usd ?? 0;
    }
  };
  const lane = async (): Promise<void> => {
    while (next < cases) await playNext(next++);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return outcome;
};
