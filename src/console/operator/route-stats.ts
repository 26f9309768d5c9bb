// The figures of routes: what their last attempts came to, how long deliveries took, what they are sold for.
import type { Model, Route } from "../../../catalogue/schema.ts";
import type { AttemptState, FailureClass } from "../../domain/types.ts";
import type { RouteResults } from "../../store/store.ts";
import type { RouteLine, RouteOutcomesView } from "../operator-dto.ts";

/** Ends that the provider is not to blame for: the input was not to its rules, or it was told too much at once. */
const NO_FAULT: ReadonlySet<FailureClass> = new Set([
  "refused_input",
  "refused_output",
  "invalid_for_route",
  "input_unreachable",
  "rate_limited",
]);
const FAILED: ReadonlySet<AttemptState> = new Set(["rejected", "failed", "lost", "capped", "late", "mismatched"]);

/** Attempts under way, taken back before they were sent, or overtaken by another say nothing. */
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

/** Nearest rank: a time that was really taken, and never less than the part says. */
export const latencyOf = (times: readonly number[]): RouteLine["latency"] => {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number) => sorted[Math.ceil(sorted.length * part) - 1] ?? 0;
  return sorted.length === 0 ? null : { count: sorted.length, p50Ms: at(0.5), p90Ms: at(0.9), p99Ms: at(0.99) };
};

/** The cheapest and the dearest rate, clips that come in left out. */
export const priceOf = ({ rates }: Pick<Route, "rates">, unit: Model["price"]["unit"]): RouteLine["price"] => {
  const sorted = rates.map(({ usd }) => usd).toSorted((a, b) => Number(a) - Number(b));
  return { leastUsd: sorted[0] ?? "0", mostUsd: sorted.at(-1) ?? "0", unit: unit.replace("1k_", "1,000 ") };
};
