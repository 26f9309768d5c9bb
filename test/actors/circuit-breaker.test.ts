// The health of a route as a table: what each verdict does in each state, for how long, and what survives a restart.
import { expect, test } from "bun:test";
import { type RouteVerdict, verdictOf } from "../../actors/circuit-breaker/machine.ts";
import { createCircuitBreakers } from "../../actors/circuit-breaker/registry.ts";
import { FAILURE_CLASSES } from "../../src/domain/types.ts";
import { testClock } from "../clock.ts";
import { FAILS, HEALTH_TABLE } from "./circuit-breaker-table.ts";

const ROUTE = "model/route";
const open = (saved: ReadonlyMap<string, string> = new Map(), clock = testClock(0)) => {
  const changes: { state: string; snapshot: string }[] = [];
  const desk = createCircuitBreakers(clock, saved, (_, state, snapshot) => changes.push({ state, snapshot }));
  const judge = (...verdicts: RouteVerdict[]) => {
    for (const verdict of verdicts) desk.judge(ROUTE, verdict);
  };
  const state = () => desk.states().get(ROUTE) ?? "unknown";
  return { clock, desk, changes, judge, state };
};
for (const [promise, steps, expected] of HEALTH_TABLE)
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
  desk.reset(ROUTE);
  expect(state()).toBe("unknown");
  judge("failed");
  desk.reset(ROUTE);
  expect(state()).toBe("closed");
  judge("faulty");
  desk.reset(ROUTE);
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

test("a fault of the set-up is told until a delivery or another key, on the node that met it and on those that adopt what it saved", () => {
  const one = open();
  const other = open(new Map(), one.clock);
  const adopt = () => other.desk.adopt(ROUTE, one.changes.at(-1)?.snapshot ?? "");
  const told = () => [one.desk.setUpFaults().size, other.desk.setUpFaults().size];
  const refuse = () => one.desk.judge(ROUTE, "faulty", { class: "config_fault", detail: "401" });
  refuse();
  adopt();
  expect(told()).toEqual([1, 1]);
  // Its pause is over, which proves nothing.
  one.clock.skip(600_000);
  adopt();
  expect([one.state(), ...told()]).toEqual(["halfOpen", 1, 1]);
  refuse();
  adopt();
  one.desk.reset(ROUTE);
  adopt();
  expect([one.state(), ...told()]).toEqual(["halfOpen", 0, 0]);
  // On trial after its pause, and then another key is set: nothing has changed but that.
  refuse();
  one.clock.skip(1_200_000);
  expect([one.state(), ...told()]).toEqual(["halfOpen", 1, 0]);
  one.desk.reset(ROUTE);
  expect(told()).toEqual([0, 0]);
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
    mismatched: "failed",
  });
});
