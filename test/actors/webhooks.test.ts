// Schedule of retries and condition of a webhook endpoint.
import { expect, test } from "bun:test";
import { createCondition } from "../../actors/webhooks/condition.ts";
import { afterFailure, RETRY_PAUSES_MS } from "../../actors/webhooks/schedule.ts";

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
