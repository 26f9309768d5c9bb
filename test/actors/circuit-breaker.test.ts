// Tests the circuit breaker of a route: what each verdict does in each state, the pauses, and restarts.
import { expect, test } from "bun:test";
import { type RouteVerdict, verdictOf } from "../../actors/circuit-breaker/machine.ts";
import { createCircuitBreakers } from "../../actors/circuit-breaker/registry.ts";
import { FAILURE_CLASSES } from "../../src/domain/types.ts";
import { testClock } from "../clock.ts";
import { FAILS, HEALTH_TABLE } from "./circuit-breaker-table.ts";

const ROUTE = "model/route";
const open = (saved: ReadonlyMap<string, string> = new Map(), clock = testClock(0)) => {
  const changes: { state: string; snapshot: string }[] = [];
  const breakers = createCircuitBreakers(clock, saved, (_, state, snapshot) => changes.push({ state, snapshot }));
  const judge = (...verdicts: RouteVerdict[]) => {
    for (const verdict of verdicts) breakers.judge(ROUTE, verdict);
  };
  const state = () => breakers.states().get(ROUTE) ?? "unknown";
  return { clock, breakers, changes, judge, state };
};
for (const [promise, steps, expected] of HEALTH_TABLE)
  test(promise, () => {
    const { clock, breakers, judge, state } = open();
    for (const step of steps) {
      if (typeof step === "number") clock.skip(step);
      else judge(step);
    }
    expect(state()).toBe(expected);
    expect(breakers.isDown(ROUTE)).toBe(expected === "open");
  });

test("reports only changes of state, each with the snapshot to save", () => {
  const { clock, judge, changes } = open();
  judge(...FAILS(5), ...FAILS(3));
  clock.skip(30_000);
  judge("delivered", "delivered");
  expect(changes.map(({ state }) => state)).toEqual(["open", "halfOpen", "closed"]);
});

test("keeps a route open after a restart until the same time, without a new pause", () => {
  const first = open();
  first.judge(...FAILS(5));
  const saved = new Map([[ROUTE, first.changes.at(-1)?.snapshot ?? ""]]);
  first.clock.skip(20_000);
  first.breakers.stop();
  const again = open(saved, first.clock);
  expect(again.state()).toBe("open");
  first.clock.skip(9999);
  expect(again.state()).toBe("open");
  first.clock.skip(1);
  expect(again.state()).toBe("halfOpen");
});

test("is half-open at once if the pause ended while no process ran, and remembers the length of the next pause", () => {
  const first = open();
  first.judge(...FAILS(5));
  const saved = new Map([[ROUTE, first.changes.at(-1)?.snapshot ?? ""]]);
  first.breakers.stop();
  first.clock.skip(3_600_000);
  const again = open(saved, first.clock);
  first.clock.skip(0);
  expect(again.state()).toBe("halfOpen");
  again.judge("failed");
  first.clock.skip(59_999);
  expect(again.state()).toBe("open");
});

test("reset makes an open breaker half-open at once and leaves a closed one closed", () => {
  const { clock, breakers, judge, state } = open();
  breakers.reset(ROUTE);
  expect(state()).toBe("unknown");
  judge("failed");
  breakers.reset(ROUTE);
  expect(state()).toBe("closed");
  judge("faulty");
  breakers.reset(ROUTE);
  expect(state()).toBe("halfOpen");
  judge("faulty");
  clock.skip(599_999);
  expect(state()).toBe("open");
});

test("becomes half-open at once after a restart if a configuration fault opened it", () => {
  const first = open();
  first.breakers.judge(ROUTE, "faulty", { class: "config_fault", detail: "401" });
  const saved = new Map([[ROUTE, first.changes.at(-1)?.snapshot ?? ""]]);
  first.breakers.stop();
  const again = open(saved, first.clock);
  expect(again.state()).toBe("open");
  first.clock.skip(0);
  expect([again.state(), again.changes.map(({ state }) => state)]).toEqual(["halfOpen", ["halfOpen"]]);
});

test("reports a configuration fault until the route is reset, on this node and on nodes that adopt its snapshot", () => {
  const one = open();
  const other = open(new Map(), one.clock);
  const adopt = () => other.breakers.adopt(ROUTE, one.changes.at(-1)?.snapshot ?? "");
  const reported = () => [one.breakers.setUpFaults().size, other.breakers.setUpFaults().size];
  const refuse = () => one.breakers.judge(ROUTE, "faulty", { class: "config_fault", detail: "401" });
  refuse();
  adopt();
  expect(reported()).toEqual([1, 1]);
  // The end of the pause proves nothing.
  one.clock.skip(600_000);
  adopt();
  expect([one.state(), ...reported()]).toEqual(["halfOpen", 1, 1]);
  refuse();
  adopt();
  one.breakers.reset(ROUTE);
  adopt();
  expect([one.state(), ...reported()]).toEqual(["halfOpen", 0, 0]);
  // The breaker is half-open after its pause when the operator sets another key; nothing else has changed.
  refuse();
  one.clock.skip(1_200_000);
  expect([one.state(), ...reported()]).toEqual(["halfOpen", 1, 0]);
  one.breakers.reset(ROUTE);
  expect(reported()).toEqual([0, 0]);
});

test("maps each class of failure to a verdict on the route", () => {
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
