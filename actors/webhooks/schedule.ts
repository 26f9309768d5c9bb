// Schedule of retries of a webhook delivery.
import type { TryResult } from "../../src/domain/webhooks.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Pauses after failed tries: rising ones, then 12 hours for three days. */
export const RETRY_PAUSES_MS: readonly number[] = [
  ...[5_000, MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS],
  ...Array.from({ length: 6 }, () => 12 * HOUR_MS),
];

/** The state of a delivery after a failed try. @param retryNo position in the schedule */
export const afterFailure = (retryNo: number, atMs: number): Pick<TryResult, "state" | "retryNo" | "dueAtMs"> => {
  const pauseMs = RETRY_PAUSES_MS[retryNo];
  if (pauseMs === undefined) return { state: "failed", retryNo, dueAtMs: null };
  return { state: "pending", retryNo: retryNo + 1, dueAtMs: atMs + pauseMs };
};
