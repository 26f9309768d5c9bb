// Runs orders through the whole service and the simulator, and judges each charge by the ledger alone.

import type { JsonObject } from "../../src/domain/types.ts";
import { chance } from "../../src/simulator/fault-script.ts";
import { type Harness, openHarness } from "../harness.ts";
import { copyOf, deliveriesCatalogue } from "./catalogue.ts";
import { type Dice, drawOrder, type Order, RIGHT, WRONG } from "./orders.ts";

/** `endsEarly`: stops ordering after the first unexpected end. */
export type Plan = { wrong: number; right: number; seed: number; lanes: number; endsEarly?: boolean };
/** `reported`: the first unexpected ends, at most `MAX_REPORTED`. */
export type Outcome = {
  wrong: { planted: number; charged: number };
  right: { played: number; held: number };
  /** Descriptions of unexpected ends. */
  reported: string[];
  byKind: Record<string, number>;
};

const MAX_REPORTED = 20;

const openWorld = (): Promise<Harness> =>
  openHarness({
    catalogue: deliveriesCatalogue(),
    simulate: { speed: 20 },
  });

/** The input of an order; its fault applies to the first route, or to both routes. */
const inputOf = ({ word, input }: Order, isBoth: boolean, n: number): JsonObject => ({
  ...input,
  prompt: `order ${n}${word === null ? "" : ` [sim:${isBoth ? "" : "fal:"}${word}]`}`,
});

type Case = { kind: string; isWrong: boolean; isBoth: boolean; copy: number } & Order;
/** Places a right order of the same model after each wrong one while any are left. */
const mixed = (wrong: readonly Case[], right: readonly Case[]): Case[] => {
  const left = Map.groupBy(right, ({ model }) => model);
  const all = wrong.flatMap((one) => [
    one,
    ...(left.get(one.model)?.splice(0, 1) ?? []).map((other) => ({ ...other, copy: one.copy })),
  ]);
  return [...all, ...[...left.values()].flat()];
};

const pause = ({ clock }: Harness) => new Promise<void>((wake) => clock.after(10_000, wake));

type Judged = { routes: string[]; attempts: string[]; failures: (string | undefined)[]; costCredits: number; status: string };
const playOne = async (harness: Harness, { model, copy }: Case, input: JsonObject): Promise<Judged> => {
  const body = { model: copyOf(model, copy), input };
  let answered = await harness.request("POST", "/v1/generations", { body });
  // The circuit breakers of both routes are open.
  for (; answered.status === 503; answered = await harness.request("POST", "/v1/generations", { body })) await pause(harness);
  if (answered.status !== 202) throw new Error(`submission returned ${answered.status} ${answered.text}`);
  const id = String(answered.body.id);
  await harness.until(id);
  const record = await harness.store.findGeneration(id);
  const attempts = await harness.store.attemptsOf(record?.seq ?? 0);
  return {
    routes: attempts.map(({ route }) => route.provider),
    attempts: attempts.map(({ state }) => state),
    failures: attempts.map(({ failure }) => failure?.detail),
    costCredits: record?.costCredits ?? 0,
    status: record?.status ?? "",
  };
};

/** If the circuit breaker skips the route with the fault, the order is placed again, at most this often. */
const MOST_PLAYS = 10;
const playPlanted = async (harness: Harness, one: Case, n: number): Promise<Judged> => {
  for (let plays = 1; ; plays += 1) {
    const judged = await playOne(harness, one, inputOf(one, one.isBoth, n));
    const isPlanted =
      judged.routes[0] === "fal" && (!one.isBoth || judged.routes.length === 2 || judged.attempts[0] === "delivered");
    if (!one.isWrong || isPlanted || plays === MOST_PLAYS) return judged;
    await pause(harness);
  }
};

/** For a wrong order: the first route is not charged, and the second is charged if it delivers what was ordered. */
const faultOfWrong = ({ attempts, failures, status }: Judged, what: string | null, isBoth: boolean): string | undefined => {
  const wanted = isBoth ? "mismatched mismatched failed" : "mismatched delivered succeeded";
  const came = [...attempts, status].join(" ");
  if (came !== wanted) return `${came}, not ${wanted}`;
  return failures[0]?.startsWith(`${what}:`) || failures[0]?.includes(`: ${what}:`) || failures[0]?.startsWith("kind:")
    ? undefined
    : `reported as ${failures[0]}, not ${what}`;
};

export const playDeliveries = async (
  { wrong, right, seed, lanes, endsEarly }: Plan,
  report?: (done: number) => void,
): Promise<Outcome> => {
  const harness = await openWorld();
  const { accountSeq } = harness.tenant;
  const credit = { kind: "topup", credits: 100_000_000, note: "deliveries", reference: null } as const;
  await harness.components.post({ mutation: "credit", accountSeq, ...credit, atMs: harness.clock.nowMs() });
  const roll = chance(seed);
  const dice: Dice = (from, to) => from + Math.floor(roll() * (to - from + 1));
  const samples = `${harness.simulator.url}/samples`;
  const outcome: Outcome = { wrong: { planted: 0, charged: 0 }, right: { played: 0, held: 0 }, reported: [], byKind: {} };
  const say = (kind: string, n: number, fault: string) => {
    outcome.byKind[kind] = (outcome.byKind[kind] ?? 0) + 1;
    if (outcome.reported.length < MAX_REPORTED) outcome.reported.push(`${kind} (${n}): ${fault}`);
  };
  const draw = (kinds: Parameters<typeof drawOrder>[0], many: number) =>
    Array.from({ length: many }, (_, at) => drawOrder(kinds, at, dice, samples));
  const cases = mixed(
    draw(WRONG, wrong).map((one, at) => ({ ...one, isWrong: true, isBoth: at % 4 === 3, copy: Math.floor(at / 4) })),
    draw(RIGHT, right).map((one) => ({ ...one, isWrong: false, isBoth: true, copy: 0 })),
  );
  let done = 0;
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < cases.length && !(endsEarly && outcome.reported.length > 0)) {
      const n = next++;
      const one = cases[n];
      if (!one) return;
      const judged = await playPlanted(harness, one, n);
      if (one.isWrong) {
        outcome.wrong.planted += 1;
        const fault = faultOfWrong(judged, one.what, one.isBoth);
        const charged = judged.routes[judged.attempts.indexOf("delivered")];
        if (charged === "fal" || (one.isBoth && charged !== undefined)) outcome.wrong.charged += 1;
        if (fault) say(one.kind, n, fault);
      } else {
        outcome.right.played += 1;
        if (judged.attempts.join() !== "delivered") {
          outcome.right.held += 1;
          say(one.kind, n, `${judged.attempts.join(" ")}: ${judged.failures[0]}`);
        }
      }
      report?.(++done);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  await harness.close();
  return outcome;
};
