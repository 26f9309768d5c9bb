// What befalls a route and where its health stands then, row by row: run by the test of the health desk and by that of coverage.
import type { RouteVerdict } from "../../actors/circuit-breaker/machine.ts";

export const FAILS = (times: number) => Array<RouteVerdict>(times).fill("failed");

type HealthStep = RouteVerdict | number;
/** Verdicts, and pauses in ms, and the state after them. */
export const HEALTH_TABLE: [promise: string, steps: HealthStep[], state: string][] = [
  ["a route that only delivered needs no machine", ["delivered", "delivered"], "unknown"],
  ["four failures leave it in use", FAILS(4), "closed"],
  ["five open it", FAILS(5), "open"],
  ["five answers that say nothing open it", Array<RouteVerdict>(5).fill("unclear"), "open"],
  ["three of them within a minute leave it in use", ["unclear", 30_000, "unclear", 29_999, "unclear"], "closed"],
  ["three of them over a minute open it", ["unclear", 30_000, "unclear", 30_000, "unclear"], "open"],
  ["so do three with failures between them", ["unclear", "failed", 30_000, "unclear", 30_000, "unclear"], "open"],
  ["two of them over an hour leave it in use", ["unclear", 3_600_000, "unclear"], "closed"],
  ["three failures over an hour leave it in use", ["failed", 1_800_000, "failed", 1_800_000, "failed"], "closed"],
  ["a delivery begins their minute anew", ["unclear", 59_000, "delivered", "unclear", "unclear", 59_999, "unclear"], "closed"],
  ["one of them on trial opens it again", [...FAILS(5), 30_000, "unclear"], "open"],
  ["a delivery in between counts anew", [...FAILS(4), "delivered", ...FAILS(4)], "closed"],
  ["a fault of the set-up opens it at once", ["faulty"], "open"],
  ["it stays open until its pause is over", [...FAILS(5), 29_999], "open"],
  ["after its pause it is on trial", [...FAILS(5), 30_000], "halfOpen"],
  ["on trial a delivery closes it", [...FAILS(5), 30_000, "delivered"], "closed"],
  ["on trial one failure opens it", [...FAILS(5), 30_000, "failed"], "open"],
  ["the second pause is twice as long", [...FAILS(5), 30_000, "failed", 59_999], "open"],
  ["and then it is on trial again", [...FAILS(5), 30_000, "failed", 60_000], "halfOpen"],
  [
    "closed once more, the pauses begin anew",
    [...FAILS(5), 30_000, "failed", 60_000, "delivered", ...FAILS(5), 30_000],
    "halfOpen",
  ],
  ["failures while it is open change nothing", [...FAILS(5), 10_000, ...FAILS(9), 20_000], "halfOpen"],
  ["a delivery of an attempt that was under way closes an open one", [...FAILS(5), "delivered"], "closed"],
  ["a fault keeps it open for ten minutes", ["faulty", 599_999], "open"],
  ["and no longer", ["faulty", 600_000], "halfOpen"],
  ["a fault on trial opens it for long again", [...FAILS(5), 30_000, "faulty", 599_999], "open"],
  [
    "no pause is longer than ten minutes",
    [...FAILS(5), ...Array.from({ length: 12 }, () => [600_000, "failed" as const]).flat(), 600_000],
    "halfOpen",
  ],
];
