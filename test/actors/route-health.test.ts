// The health of a route as a table: what each verdict does in each state, for how long, and what survives a restart.
import { expect, test } from "bun:test";
import { openHealthDesk } from "../../actors/health-desk.ts";
import { type RouteVerdict, verdictOf } from "../../actors/route-health.ts";
import { FAILURE_CLASSES } from "../../src/terms.ts";
import { testClock } from "../clock.ts";

const ROUTE = "model/route";
const open = (saved: ReadonlyMap<string, string> = new Map(), clock = testClock(0)) => {
  const changes: { state: string; snapshot: string }[] = [];
  const desk = openHealthDesk(clock, saved, (_, state, snapshot) => changes.push({ state, snapshot }));
  const judge = (...verdicts: RouteVerdict[]) => {
    for (const verdict of verdicts) desk.judge(ROUTE, verdict);
  };
  const state = () => desk.states().get(ROUTE) ?? "unknown";
  return { clock, desk, changes, judge, state };
};
const FAILS = (times: number) => Array<RouteVerdict>(times).fill("failed");

type Step = RouteVerdict | number;
/** Verdicts, and pauses in ms, and the state after them. */
const TABLE: [promise: string, steps: Step[], state: string][] = [
  ["a route that only delivered needs no machine", ["delivered", "delivered"], "unknown"],
  ["four failures leave it in use", FAILS(4), "closed"],
  ["five open it", FAILS(5), "open"],
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
for (const [promise, steps, expected] of TABLE)
  test(promise, () => {
    const { clock, desk, judge, state } = open();
    for (const step of steps) {
      if (typeof step === "number") clock.skip(step);
      else judge(step);
    }
    expect(state()).toBe(expected);
    expect(desk.isDown(ROUTE)).toBe(expected === "open");
  });

test("only a change of state is told, with what is to be saved", () => {
  const { clock, judge, changes } = open();
  judge(...FAILS(5), ...FAILS(3));
  clock.skip(30_000);
  judge("delivered", "delivered");
  expect(changes.map(({ state }) => state)).toEqual(["open", "halfOpen", "closed"]);
});

test("a route that was open is open after a restart until the same time, not a new pause", () => {
  const first = open();
  first.judge(...FAILS(5));
  const saved = new Map([[ROUTE, first.changes.at(-1)?.snapshot ?? ""]]);
  first.clock.skip(20_000);
  first.desk.stop();
  const again = open(saved, first.clock);
  expect(again.state()).toBe("open");
  first.clock.skip(9999);
  expect(again.state()).toBe("open");
  first.clock.skip(1);
  expect(again.state()).toBe("halfOpen");
});

test("a pause that was over while nobody ran: on trial at once; the length of the next one is remembered", () => {
  const first = open();
  first.judge(...FAILS(5));
  const saved = new Map([[ROUTE, first.changes.at(-1)?.snapshot ?? ""]]);
  first.desk.stop();
  first.clock.skip(3_600_000);
  const again = open(saved, first.clock);
  first.clock.skip(0);
  expect(again.state()).toBe("halfOpen");
  again.judge("failed");
  first.clock.skip(59_999);
  expect(again.state()).toBe("open");
});

test("one that its operator has seen to is on trial at once; one that is in use stays so", () => {
  const { clock, desk, judge, state } = open();
  desk.mended(ROUTE);
  expect(state()).toBe("unknown");
  judge("failed");
  desk.mended(ROUTE);
  expect(state()).toBe("closed");
  judge("faulty");
  desk.mended(ROUTE);
  expect(state()).toBe("halfOpen");
  judge("faulty");
  clock.skip(599_999);
  expect(state()).toBe("open");
});

test("a fault of the set-up is not waited out over a restart: its operator may have put it right", () => {
  const first = open();
  first.desk.judge(ROUTE, "faulty", { class: "config_fault", detail: "401" });
  const saved = new Map([[ROUTE, first.changes.at(-1)?.snapshot ?? ""]]);
  first.desk.stop();
  const again = open(saved, first.clock);
  expect(again.state()).toBe("open");
  first.clock.skip(0);
  expect([again.state(), again.changes.map(({ state }) => state)]).toEqual(["halfOpen", ["halfOpen"]]);
});

test("what each class of failure says about a route", () => {
  expect(Object.fromEntries(FAILURE_CLASSES.map((each) => [each, verdictOf(each)]))).toEqual({
    refused_input: null,
    refused_output: null,
    invalid_for_route: null,
    input_unreachable: null,
    rate_limited: null,
    overloaded: "failed",
    config_fault: "faulty",
    balance: "faulty",
    not_sent: "failed",
    job_failed: "failed",
    gone: "failed",
    result_expired: "failed",
    result_unreadable: "failed",
  });
});
