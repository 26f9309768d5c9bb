// Statistics of routes: outcomes of recent attempts, latency percentiles and prices.
import type { Model, Route } from "../../../catalogue/schema.ts";
import type { AttemptState, FailureClass } from "../../domain/types.ts";
import type { RouteResults } from "../../store/store.ts";
import type { RouteLine, RouteOutcomesView } from "../operator-dto.ts";

/** Failures that the provider did not cause: the input violated its rules, or the rate limit was exceeded. */
const NO_FAULT: ReadonlySet<FailureClass> = new Set([
  "refused_input",
  "refused_output",
  "invalid_for_route",
  "input_unreachable",
  "rate_limited",
]);
const FAILED: ReadonlySet<AttemptState> = new Set(["rejected", "failed", "lost", "capped", "late", "mismatched"]);

/** Attempts that are in progress, cancelled before submission or superseded are not counted. */
export const outcomesOf = (rows: readonly RouteResults[]): Map<string, RouteOutcomesView> => {
  const all = new Map<string, RouteOutcomesView>();
  for (const { routeId, state, failure, count } of rows) {
    const one = all.get(routeId) ?? { delivered: 0, failed: 0, refused: 0 };
    all.set(routeId, one);
    if (state === "delivered") one.delivered += count;
    else if (FAILED.has(state)) one[failure !== null && NO_FAULT.has(failure) ? "refused" : "failed"] += count;
  }
  return all;
};

export const successPercent = ({ delivered, failed }: RouteOutcomesView): number | null =>
  delivered + failed === 0 ? null : (100 * delivered) / (delivered + failed);

/** Nearest-rank percentile: a measured time, never below the requested fraction. */
export const latencyOf = (times: readonly number[]): RouteLine["latency"] => {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number) => sorted[Math.ceil(sorted.length * part) - 1] ?? 0;
  return sorted.length === 0 ? null : { count: sorted.length, p50Ms: at(0.5), p90Ms: at(0.9), p99Ms: at(0.99) };
};

/** The lowest and the highest rate, without input clips. */
export const priceOf = ({ rates }: Pick<Route, "rates">, unit: Model["price"]["unit"]): RouteLine["price"] => {
  const sorted = rates.map(({ usd }) => usd).toSorted((a, b) => Number(a) - Number(b));
  return { leastUsd: sorted[0] ?? "0", mostUsd: sorted.at(-1) ?? "0", unit: unit.replace("1k_", "1,000 ") };
};
