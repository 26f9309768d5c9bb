// Schedule of retries and condition of a webhook endpoint.
import { expect, test } from "bun:test";
import { createCondition } from "../../actors/webhooks/condition.ts";
import { createWebhookLanes } from "../../actors/webhooks/lanes.ts";
import { afterFailure, RETRY_PAUSES_MS } from "../../actors/webhooks/schedule.ts";
import type { EndpointCondition, PendingDelivery } from "../../src/domain/webhooks.ts";
import { createPlaces } from "../../src/webhooks/places.ts";
import { testClock } from "../clock.ts";

const HOUR_MS = 3_600_000;
const GOOD = { failingSinceMs: null, lastFailureAtMs: null };

test("retries after 5 s, 1 min, 5 min, 30 min, 2 h, 5 h, 10 h and every 12 h for three days, and then fails", () => {
  expect(RETRY_PAUSES_MS.map((ms) => ms / 1000)).toEqual([5, 60, 300, 1800, 7200, 18_000, 36_000, ...Array(6).fill(43_200)]);
  let atMs = 0;
  let retryNo = 0;
  const due: number[] = [];
  for (;;) {
    const next = afterFailure(retryNo, atMs);
    if (next.dueAtMs === null) {
      expect(next.state).toBe("failed");
      break;
    }
    due.push(next.dueAtMs - atMs);
    ({ retryNo, dueAtMs: atMs } = { ...next, dueAtMs: next.dueAtMs });
  }
  expect(due).toEqual([...RETRY_PAUSES_MS]);
});

test("stores the first and the last failure, and forgets both after a success", () => {
  const condition = createCondition(7, GOOD);
  expect(condition.judge("delivered", 1)).toBeUndefined();
  expect(condition.judge("failed", 2)).toEqual({ endpointSeq: 7, failingSinceMs: 2, lastFailureAtMs: 2, disabledReason: null });
  expect(condition.judge("failed", 3)).toMatchObject({ failingSinceMs: 2, lastFailureAtMs: 3 });
  expect(condition.isFailing()).toBe(true);
  expect(condition.judge("delivered", 4)).toEqual({ endpointSeq: 7, ...GOOD, disabledReason: null });
  expect(condition.isFailing()).toBe(false);
});

test("disables an endpoint after five days of failures, also across a restart", () => {
  const condition = createCondition(7, { failingSinceMs: 0, lastFailureAtMs: 108 * HOUR_MS });
  expect(condition.judge("failed", 120 * HOUR_MS - 1)?.disabledReason).toBeNull();
  expect(condition.judge("failed", 120 * HOUR_MS)?.disabledReason).toBe("Every try has failed for five days.");
});

test("begins to count again when nothing was tried for a day, as after a clock jump", () => {
  const condition = createCondition(7, { failingSinceMs: 0, lastFailureAtMs: HOUR_MS });
  expect(condition.judge("failed", 900 * HOUR_MS)).toMatchObject({ failingSinceMs: 900 * HOUR_MS, disabledReason: null });
});

test("disables an endpoint at once when it is gone", () => {
  expect(createCondition(7, GOOD).judge("gone", 5)?.disabledReason).toBe("The endpoint returned 410 Gone.");
});

test("judges nothing after the verdict that disables the endpoint", () => {
  const condition = createCondition(7, GOOD);
  condition.judge("gone", 5);
  for (const verdict of ["gone", "failed", "delivered"] as const) expect(condition.judge(verdict, 6)).toBeUndefined();
});

test("tries again after a commit failed, and stores then that the endpoint is disabled", async () => {
  const clock = testClock();
  const delivery: PendingDelivery = {
    ...{ seq: 1, accountSeq: 1, endpointSeq: 7, url: null, type: "webhook.test", generationSeq: null, data: "{}" },
    ...{ sequence: 1, createdAtMs: 0, tries: 0, retryNo: 0, dueAtMs: 0 },
  };
  const faults: unknown[] = [];
  const stored: EndpointCondition[] = [];
  const lanes = createWebhookLanes({
    clock,
    lanes: async () => [],
    next: async () => [delivery],
    conditionOf: async () => GOOD,
    send: async () => ({
      ...{ kind: "made", made: { atMs: clock.nowMs(), status: 410, answer: null, error: null, durationMs: 1 } },
    }),
    takePlace: createPlaces(),
    commit: async (_results, conditions) => {
      if (faults.length === 0) throw new Error("the store refused it");
      stored.push(...conditions);
    },
    tried: () => undefined,
    failed: (fault) => faults.push(fault),
  });
  const settle = () => new Promise((turn) => setImmediate(turn));
  lanes.add(delivery);
  await settle();
  expect([faults.length, stored]).toEqual([1, []]);
  clock.skip(5000);
  await settle();
  expect(stored).toMatchObject([{ endpointSeq: 7, disabledReason: "The endpoint returned 410 Gone." }]);
  lanes.stop();
  clock.stop();
});
