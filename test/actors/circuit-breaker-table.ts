// Table of verdicts on a route and the circuit breaker's state after them, for the circuit breaker's test and the coverage test.
import type { RouteVerdict } from "../../actors/circuit-breaker/machine.ts";

export const FAILS = (times: number) => Array<RouteVerdict>(times).fill("failed");

type HealthStep = RouteVerdict | number;
/** Title, verdicts and waits (ms), and the state after them. */
export const HEALTH_TABLE: [promise: string, steps: HealthStep[], state: string][] = [
  ["creates no breaker for a route that only delivered", ["delivered", "delivered"], "unknown"],
  ["stays closed after four failures", FAILS(4), "closed"],
  ["opens after five failures", FAILS(5), "open"],
  ["opens after five unclear verdicts", Array<RouteVerdict>(5).fill("unclear"), "open"],
  ["stays closed after three unclear verdicts within a minute", ["unclear", 30_000, "unclear", 29_999, "unclear"], "closed"],
  ["opens after three unclear verdicts over a minute", ["unclear", 30_000, "unclear", 30_000, "unclear"], "open"],
  [
    "opens after three unclear verdicts over a minute with a failure in between",
    ["unclear", "failed", 30_000, "unclear", 30_000, "unclear"],
    "open",
  ],
  ["stays closed after two unclear verdicts over an hour", ["unclear", 3_600_000, "unclear"], "closed"],
  ["stays closed after three failures over an hour", ["failed", 1_800_000, "failed", 1_800_000, "failed"], "closed"],
  [
    "restarts the minute of unclear verdicts after a delivery",
    ["unclear", 59_000, "delivered", "unclear", "unclear", 59_999, "unclear"],
    "closed",
  ],
  ["opens again after one unclear verdict while half-open", [...FAILS(5), 30_000, "unclear"], "open"],
  ["restarts the count of failures after a delivery", [...FAILS(4), "delivered", ...FAILS(4)], "closed"],
  ["opens at once on a configuration fault", ["faulty"], "open"],
  ["stays open until its 30 s pause ends", [...FAILS(5), 29_999], "open"],
  ["becomes half-open after its 30 s pause", [...FAILS(5), 30_000], "halfOpen"],
  ["closes on a delivery while half-open", [...FAILS(5), 30_000, "delivered"], "closed"],
  ["opens on one failure while half-open", [...FAILS(5), 30_000, "failed"], "open"],
  ["stays open for twice as long the second time", [...FAILS(5), 30_000, "failed", 59_999], "open"],
  ["becomes half-open after the second pause of 60 s", [...FAILS(5), 30_000, "failed", 60_000], "halfOpen"],
  [
    "starts again with a 30 s pause after it was closed",
    [...FAILS(5), 30_000, "failed", 60_000, "delivered", ...FAILS(5), 30_000],
    "halfOpen",
  ],
  ["ignores failures while it is open", [...FAILS(5), 10_000, ...FAILS(9), 20_000], "halfOpen"],
  ["closes while open on a delivery of an earlier attempt", [...FAILS(5), "delivered"], "closed"],
  ["stays open for ten minutes after a configuration fault", ["faulty", 599_999], "open"],
  ["becomes half-open ten minutes after a configuration fault", ["faulty", 600_000], "halfOpen"],
  ["opens for ten minutes on a configuration fault while half-open", [...FAILS(5), 30_000, "faulty", 599_999], "open"],
  [
    "never pauses for more than ten minutes",
    [...FAILS(5), ...Array.from({ length: 12 }, () => [600_000, "failed" as const]).flat(), 600_000],
    "halfOpen",
  ],
];
