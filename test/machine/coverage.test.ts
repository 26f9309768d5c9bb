// Tests that every transition of the statecharts is covered, and that the inspector's list is current (UPDATE=1 rewrites it).
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import type { AnyStateMachine } from "xstate";
import { chartOf } from "../../actors/chart/chart.ts";
import { MACHINES, type MachineName } from "../../actors/chart/machines.ts";
import { createCircuitBreakers } from "../../actors/circuit-breaker/registry.ts";
import { createLedger } from "../../actors/ledger.ts";
import { StoreFull } from "../../src/domain/commit-errors.ts";
import type { Mutation, MutationResult } from "../../src/domain/mutations.ts";
import { HEALTH_TABLE } from "../actors/circuit-breaker-table.ts";
import { testClock } from "../clock.ts";
import { explore, PLANS } from "./explore.ts";
import { taking } from "./recorder.ts";

const FILE = resolve(import.meta.dir, "../../actors/chart/coverage.json");
const ROUTE = "model/route";

/** Every situation with every event, as pairs.test.ts runs them through the real host and store. */
const everyPair = () => {
  for (const plan of PLANS) explore(plan);
};

/** The rows of circuit-breaker-table.ts, and a route that an operator resets. */
const everyVerdict = () => {
  for (const [, steps] of [...HEALTH_TABLE, ["", ["faulty"], ""] as const]) {
    const clock = testClock(0);
    const breakers = createCircuitBreakers(clock, new Map(), () => undefined);
    for (const step of steps) {
      if (typeof step === "number") clock.skip(step);
      else breakers.judge(ROUTE, step);
    }
    breakers.reset(ROUTE);
    breakers.stop();
    clock.stop();
  }
};

const MUTATION: Mutation = { mutation: "beat", atMs: 0 };
/** A ledger that commits, becomes idle, meets a full disk, continues, and ends with an unknown outcome. */
const everyCommit = async () => {
  const clock = testClock(0);
  const answers: (() => MutationResult)[] = [
    () => ({ kind: "done" }),
    () => {
      throw new StoreFull("full");
    },
    () => ({ kind: "done" }),
    () => {
      throw new Error("in doubt");
    },
  ];
  const ledger = createLedger({
    commit: async (mutations) => mutations.map(() => (answers.shift() ?? (() => ({ kind: "done" }) as const))()),
    clock,
    soon: queueMicrotask,
    committed: () => undefined,
    unknown: () => undefined,
    full: () => undefined,
    defect: () => undefined,
  });
  await ledger.post(MUTATION);
  await ledger.idle();
  clock.skip(50);
  await expect(ledger.post(MUTATION)).rejects.toThrow("the disk is full");
  const space = ledger.space();
  clock.skip(1000);
  await space;
  await ledger.post(MUTATION);
  await expect(ledger.post(MUTATION)).rejects.toThrow("in doubt");
  clock.stop();
};

const WAYS: Record<MachineName, () => Promise<void> | void> = {
  generation: everyPair,
  "route-health": everyVerdict,
  ledger: everyCommit,
};

for (const [name, way] of Object.entries(WAYS) as [MachineName, () => Promise<void> | void][])
  test(`${name}: the tests take every transition, and the inspector's coverage list is current`, async () => {
    const machine = MACHINES[name].machine as AnyStateMachine;
    const taken = await taking(machine, way);
    const all = chartOf(machine).transitions.map(({ id }) => id);
    const covered = all.filter((id) => taken.has(id));
    process.stdout.write(
      `${name}: coverage of transitions ${Math.floor((100 * covered.length) / all.length)}% (${covered.length} of ${all.length})\n`,
    );
    expect(all.filter((id) => !taken.has(id))).toEqual([]);
    const noted = JSON.parse(readFileSync(FILE, "utf8")) as Record<string, string[]>;
    if (process.env.UPDATE === "1") writeFileSync(FILE, `${JSON.stringify({ ...noted, [name]: covered }, null, 2)}\n`);
    else expect(noted[name]).toEqual(covered);
  }, 60_000);
