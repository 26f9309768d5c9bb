// Property of webhook queues: receivers that are slow, hang or fail do not delay the deliveries of other accounts.
import fc from "fast-check";
import { createWebhookLanes } from "../../actors/webhooks/lanes.ts";
import type { PendingDelivery } from "../../src/domain/webhooks.ts";
import { createPlaces } from "../../src/webhooks/places.ts";
import { type TestClock, testClock } from "../clock.ts";
import type { Property } from "./property.ts";

/** Time of one answer in milliseconds, and its status. */
type Answer = { ms: number; status: number };
/** Accounts whose receivers answer in this way, one answer for each burst of events. */
type World = { accounts: number; endpoints: number; events: number; bursts: Answer[] };

const answer = (leastMs: number) =>
  fc.record({
    ms: fc.constantFrom(...[5, 900, 2000, 9900, 10_000].filter((ms) => ms >= leastMs)),
    status: fc.constantFrom(200, 200, 500),
  });
const worlds = (leastMs: number): fc.Arbitrary<World> =>
  fc.record({
    accounts: fc.integer({ min: 5, max: 24 }),
    endpoints: fc.integer({ min: 2, max: 10 }),
    events: fc.integer({ min: 2, max: 8 }),
    bursts: fc.array(answer(leastMs), { minLength: 1, maxLength: 3 }),
  });

const STEP_MS = 100;
/** Time between two bursts: all tries have ended, and the queues are idle. */
const BURST_MS = 15_000;
const PROMPT_MS = 5;
/** Two steps: the receiver is tried when the event is added, and its answer is recorded. */
const AT_ONCE_MS = 2 * STEP_MS;
/** A place is free after a second at most. */
const SOON_MS = 1000 + AT_ONCE_MS;

const turn = () => new Promise((over) => setImmediate(over));

/** The queues over an outbox in memory, and receivers that answer after a time of the clock. */
const openQueues = (clock: TestClock, answerOf: (delivery: PendingDelivery) => Answer) => {
  /** Pending deliveries of each queue. */
  const outbox = new Map<number, Map<number, PendingDelivery>>();
  const laneOfSeq = new Map<number, number>();
  const begunAtMs = new Map<number, number>();
  const faults: unknown[] = [];
  let seq = 0;
  const lanes = createWebhookLanes({
    clock,
    lanes: async () => [],
    next: async (lane, limit) =>
      [...(outbox.get(lane)?.values() ?? [])]
        .sort((one, other) => one.dueAtMs - other.dueAtMs || one.seq - other.seq)
        .slice(0, limit),
    conditionOf: async () => ({ failingSinceMs: null, lastFailureAtMs: null }),
    send: (delivery) => {
      const atMs = clock.nowMs();
      begunAtMs.set(delivery.seq, begunAtMs.get(delivery.seq) ?? atMs);
      const { ms: durationMs, status } = answerOf(delivery);
      return new Promise((made) =>
        clock.after(durationMs, () => made({ kind: "made", made: { atMs, status, answer: null, error: null, durationMs } })),
      );
    },
    takePlace: createPlaces(),
    commit: async (results) => {
      for (const { seq: of, state, triesBefore, retryNo, dueAtMs } of results) {
        const pending = outbox.get(laneOfSeq.get(of) ?? 0);
        const before = pending?.get(of);
        if (state !== "pending" || !before) pending?.delete(of);
        else pending?.set(of, { ...before, tries: triesBefore + 1, retryNo, dueAtMs: dueAtMs ?? 0 });
      }
    },
    tried: () => undefined,
    failed: (fault) => faults.push(fault),
  });
  const add = (accountSeq: number, endpointSeq: number): number => {
    seq += 1;
    const atMs = clock.nowMs();
    const delivery: PendingDelivery = {
      ...{ seq, accountSeq, endpointSeq, url: null, type: "generation.succeeded", generationSeq: null, data: "{}" },
      ...{ sequence: 1, createdAtMs: atMs, tries: 0, retryNo: 0, dueAtMs: atMs },
    };
    laneOfSeq.set(seq, endpointSeq);
    outbox.set(endpointSeq, (outbox.get(endpointSeq) ?? new Map<number, PendingDelivery>()).set(seq, delivery));
    lanes.add(delivery);
    return seq;
  };
  const pass = async (ms: number): Promise<void> => {
    for (let passedMs = 0; passedMs < ms; passedMs += STEP_MS) {
      await turn();
      clock.skip(STEP_MS);
    }
    await turn();
  };
  /** @throws if a delivery does not begin within a time */
  const require = async (of: number, withinMs: number, what: string): Promise<void> => {
    const addedAtMs = clock.nowMs();
    await pass(withinMs);
    const waitedMs = (begunAtMs.get(of) ?? Number.POSITIVE_INFINITY) - addedAtMs;
    if (waitedMs > withinMs) throw new Error(`${what} waited for ${waitedMs} ms, more than ${withinMs} ms`);
    if (faults.length > 0) throw faults[0];
  };
  return { lanes, add, pass, require };
};

/** The other account: it has one receiver from the beginning, and a new one after each burst. */
const [OWN, KNOWN] = [1_000_000, 2_000_000];

/** @param isEverPrompt whether a receiver of the other accounts may be prompt at times, and slow or silent later */
const play = async ({ accounts, endpoints, events, bursts }: World, isEverPrompt: boolean): Promise<void> => {
  const clock = testClock();
  let burst = 0;
  const { lanes, add, pass, require } = openQueues(clock, ({ accountSeq }) =>
    accountSeq === OWN ? { ms: PROMPT_MS, status: 200 } : (bursts[burst] ?? { ms: 10_000, status: 500 }),
  );
  const addBurst = () => {
    for (let account = 1; account <= accounts; account += 1)
      for (let endpoint = 0; endpoint < endpoints; endpoint += 1)
        for (let event = 0; event < events; event += 1) add(account, account * 100 + endpoint);
  };
  try {
    add(OWN, KNOWN);
    await pass(STEP_MS);
    for (; burst < bursts.length; burst += 1) {
      addBurst();
      await require(add(OWN, KNOWN), isEverPrompt ? SOON_MS : AT_ONCE_MS, "a prompt receiver");
      // In the first burst all receivers are unknown.
      const isProved = !isEverPrompt && burst > 0;
      await require(add(OWN, KNOWN + burst + 1), isProved ? AT_ONCE_MS : SOON_MS, "a new receiver");
      await pass(BURST_MS);
    }
  } finally {
    lanes.stop();
    clock.stop();
  }
};

/** A world takes some tenths of a second. */
const runsOf = (runs: number) => 5 + Math.ceil(runs / 100);

export const slowReceiversProperty: Property<World> = {
  name: "slow-receivers",
  says: "a prompt receiver is tried at once while those of other accounts are slow, and a new one when they have proved slow",
  runsOf,
  arbitrary: worlds(2000),
  open: () => ({ play: (world) => play(world, false) }),
};

export const changingReceiversProperty: Property<World> = {
  name: "changing-receivers",
  says: "a delivery is tried within a second when receivers of other accounts are prompt first and slow later",
  runsOf,
  arbitrary: worlds(5),
  open: () => ({ play: (world) => play(world, true) }),
};
