// Compares the capacity calculator with a simulation and with the real service, and checks that planted faults are detected.
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { answerTo } from "../../src/cli/capacity/answer.ts";
import { type Costs, costsOf, fit, MEASURED } from "../../src/cli/capacity/costs.ts";
import { groupCommits } from "../../src/cli/capacity/group-commit.ts";
import type { StoreName } from "../../src/cli/capacity/measured.ts";
import { type CapacityRequest, type Load, loadOn, nodesNeeded, saturations } from "../../src/cli/capacity/plan.ts";
import { openSqliteBed } from "./fixtures.ts";
import { expectRowsAsMeasured, hasProcessorTimes } from "./rows.ts";
import { type Seen, simulate, type World } from "./simulation.ts";

setDefaultTimeout(240_000);

const ASK: CapacityRequest = {
  ...{ rate: 1, runS: 30, polls: 10, resultBytes: 2e6, keepFilesDays: 7, keepRowsDays: 365, routes: 1, nodes: null },
  ...{ full: 0.6, syncMs: 0.5, roundTripMs: 0.5 },
};
/** The duration of a world for each rate, in s: long enough to average out chance, and shorter at high rates. */
const WORLDS = [
  { rate: 1, runS: 30, warmS: 200, countedS: 4000 },
  { rate: 10, runS: 30, warmS: 150, countedS: 500 },
  { rate: 100, runS: 20, warmS: 80, countedS: 60 },
  { rate: 1000, runS: 8, warmS: 35, countedS: 10 },
];
const SEED = Number(process.env.CAPACITY_SEED ?? 20_261_124);

/** Allowed relative differences: chance, and effects that the formulas omit (in-flight files, simultaneous mutations). */
const TOLERANCES: Record<string, number> = {
  ...{ inFlight: 0.06, seldomMore: 0.12, thread: 0.06, databaseCores: 0.08, commitsPerS: 0.13, batch: 0.13, looks: 0.04 },
};
/** The figures in which the calculator differs from the simulation. */
const apart = (load: Load, seen: Seen): string[] => {
  const pairs: Record<string, [said: number, counted: number]> = {
    inFlight: [load.inFlight.mean, seen.inFlight],
    seldomMore: [load.inFlight.seldomMore, seen.inFlightSeldomMore],
    thread: [load.busiestThread, seen.thread],
    databaseCores: [load.databaseCores, seen.databaseCores],
    commitsPerS: [load.nodes * load.commits.perS, seen.commitsPerS],
    batch: [load.commits.batch, seen.batch],
    looks: [load.run.polls, seen.looks],
  };
  return Object.entries(pairs).flatMap(([name, [said, counted]]) =>
    Math.abs(said - counted) <= (TOLERANCES[name] ?? 0) * counted ? [] : [`${name}: ${said} and not ${counted}`],
  );
};

type Scene = { ask: CapacityRequest; costs: Costs; nodes: number; load: Load; world: World };
const sceneOf = (store: StoreName, { rate, runS, warmS, countedS }: (typeof WORLDS)[number]): Scene => {
  const costs = costsOf(MEASURED, store);
  const ask = { ...ASK, rate, runS };
  const nodes = store === "sqlite" ? 1 : (nodesNeeded(costs, ask) ?? 0);
  const load = loadOn(costs, ask, store, nodes);
  const databaseCores = Math.max(1, Math.ceil(load.databaseCores / ask.full));
  const world = {
    ...{ seed: SEED, costs, isShared: store === "postgres", rate, runS, polls: ask.polls, nodes, databaseCores },
    ...{ maxRunning: Number.MAX_SAFE_INTEGER, syncMs: ask.syncMs, roundTripMs: ask.roundTripMs, warmS, countedS },
  };
  return { ask, costs, nodes, load, world };
};
const seen = new Map<World, Seen>();
const scenes = new Map<string, Scene>();
const scene = (store: StoreName, at: number): Scene & { seen: Seen } => {
  const name = `${store} ${at}`;
  const found = scenes.get(name) ?? sceneOf(store, WORLDS[at] as (typeof WORLDS)[number]);
  scenes.set(name, found);
  const counted = seen.get(found.world) ?? simulate(found.world);
  seen.set(found.world, counted);
  return { ...found, seen: counted };
};
const RATES = WORLDS.map(({ rate }, at): [number, number] => [rate, at]);

describe(`capacity calculator, seed ${SEED} (set by CAPACITY_SEED)`, () => {
  test.each(RATES)("matches the simulation of PostgreSQL at %p generations per second", (rate, at) => {
    const { load, seen: counted, nodes } = scene("postgres", at);
    process.stdout.write(
      `seed ${SEED}, ${rate}/s on ${nodes} nodes: said ${load.inFlight.mean.toFixed(1)} in flight, thread ${load.busiestThread.toFixed(3)}, ` +
        `${(nodes * load.commits.perS).toFixed(1)} commits/s of ${load.commits.batch.toFixed(2)}; counted ${counted.inFlight.toFixed(1)}, ` +
        `${counted.thread.toFixed(3)}, ${counted.commitsPerS.toFixed(1)} of ${counted.batch.toFixed(2)}\n`,
    );
    expect(apart(load, counted)).toEqual([]);
  });

  test.each(RATES.slice(0, 2))("matches the simulation of one node with SQLite at %p generations per second", (_, at) => {
    const { load, seen: counted } = scene("sqlite", at);
    expect(apart(load, counted)).toEqual([]);
  });

  const again = (
    at: number,
    change: (costs: Costs, ask: CapacityRequest) => { costs?: Costs; ask?: CapacityRequest },
  ): string[] => {
    const { costs, ask, nodes, seen: counted } = scene("postgres", at);
    const changed = change(costs, ask);
    return apart(loadOn(changed.costs ?? costs, changed.ask ?? ask, "postgres", nodes), counted);
  };
  const commit = (costs: Costs, name: "nodeMs" | "databaseMs", by: { each?: number; mutation?: number }): Costs => {
    const cost = costs.commit[name];
    const wrong = { each: cost.each * (by.each ?? 1), mutation: cost.mutation * (by.mutation ?? 1) };
    return { ...costs, commit: { ...costs.commit, [name]: wrong } };
  };
  const FAULTS: [what: string, shows: string, change: Parameters<typeof again>[1]][] = [
    ["one mutation too many", "commitsPerS|batch|thread", (costs) => ({ costs: { ...costs, mutations: costs.mutations + 1 } })],
    ["work of a generation that is 20 % too high", "thread", (costs) => ({ costs: { ...costs, lifeMs: costs.lifeMs * 1.2 } })],
    ["provider polls at three times the cost", "thread", (costs) => ({ costs: { ...costs, lookMs: costs.lookMs * 3 } })],
    [
      "commits at twice the cost on the node",
      "thread|batch",
      (costs) => ({ costs: commit(costs, "nodeMs", { each: 2, mutation: 2 }) }),
    ],
    [
      "commits at half the cost in the database",
      "databaseCores",
      (costs) => ({ costs: commit(costs, "databaseMs", { each: 0.5 }) }),
    ],
    [
      "mutations at four times the cost in the database",
      "databaseCores",
      (costs) => ({ costs: commit(costs, "databaseMs", { mutation: 4 }) }),
    ],
    [
      "polls at another node at ten times the cost in the database",
      "databaseCores",
      (costs) => ({
        costs: { ...costs, pollElsewhere: { ...costs.pollElsewhere, databaseMs: costs.pollElsewhere.databaseMs * 10 } },
      }),
    ],
    ["a disk with ten times the sync time", "batch|commitsPerS", (_, ask) => ({ ask: { ...ask, syncMs: ask.syncMs * 10 } })],
    ["no round trips", "batch|commitsPerS", (_, ask) => ({ ask: { ...ask, roundTripMs: 0 } })],
    ["runs that are 10 % too long", "inFlight", (_, ask) => ({ ask: { ...ask, runS: ask.runS * 1.1 } })],
    ["a rate that is 10 % too high", "inFlight", (_, ask) => ({ ask: { ...ask, rate: ask.rate * 1.1 } })],
  ];
  test.each(FAULTS)("differs from the simulation with the wrong constant: %s", (_, shows, change) => {
    const found = [0, 2, 3].flatMap((at) => again(at, change));
    expect(found.filter((one) => new RegExp(`^(${shows}):`).test(one))).not.toEqual([]);
  });

  const FORMULAS: [what: string, shows: string, wrong: (load: Load) => Load][] = [
    [
      "no mutations share a commit",
      "batch",
      (load) => ({ ...load, commits: { ...load.commits, batch: 1, perS: load.mutationsPerS / load.nodes } }),
    ],
    ["all mutations of a second share one commit", "commitsPerS", (load) => ({ ...load, commits: { ...load.commits, perS: 1 } })],
    [
      "the end of a job is known without delay",
      "inFlight",
      (load) => ({ ...load, inFlight: { ...load.inFlight, mean: load.inFlight.mean - 100 * load.run.lateS } }),
    ],
    [
      "no variation around the mean",
      "seldomMore",
      (load) => ({ ...load, inFlight: { ...load.inFlight, seldomMore: load.inFlight.mean } }),
    ],
    ["all nodes share one thread", "thread", (load) => ({ ...load, busiestThread: load.busiestThread * load.nodes })],
  ];
  test.each(FORMULAS)("differs from the simulation with the wrong formula: %s", (_, shows, wrong) => {
    const found = [0, 2, 3].flatMap((at) => {
      const { load, seen: counted } = scene("postgres", at);
      return apart(wrong(load), counted);
    });
    expect(found.filter((one) => one.startsWith(`${shows}:`))).not.toEqual([]);
  });

  test.each([
    ["nodes", 1, 8],
    ["the database", 12, 1],
  ])(
    "predicts the saturation of %s: the simulation commits everything below it and no more above it",
    (part, nodes, databaseCores) => {
      const costs = costsOf(MEASURED, "postgres");
      const ask = { ...ASK, runS: 2, polls: 5 };
      const [end] = saturations(costs, ask, "postgres", nodes, databaseCores);
      if (!end) throw new Error("nothing saturates");
      expect(end.part as string).toBe(part === "nodes" ? "node" : "database");
      const at = (share: number) =>
        simulate({
          ...{
            seed: SEED,
            costs,
            isShared: true,
            rate: end.rate * share,
            runS: ask.runS,
            polls: ask.polls,
            nodes,
            databaseCores,
          },
          ...{ maxRunning: Number.MAX_SAFE_INTEGER, syncMs: ask.syncMs, roundTripMs: ask.roundTripMs, warmS: 10, countedS: 8 },
        });
      const arrived = (share: number) => end.rate * share * costs.mutations;
      const below = at(0.85);
      expect(Math.abs(below.commitsPerS * below.batch - arrived(0.85)) / arrived(0.85)).toBeLessThan(0.05);
      const above = at(1.25);
      expect(above.commitsPerS * above.batch).toBeLessThan(arrived(1.08));
      expect(above.workWaiting + above.mutationsWaiting).toBeGreaterThan(3 * (below.workWaiting + below.mutationsWaiting + 1));
    },
  );

  test("recommends a max_running with which no generation waits, while a queue grows with half of it", () => {
    const answer = answerTo({ ...ASK, rate: 20, runS: 10, nodes: 2 }, "postgres", 8);
    const costs = costsOf(MEASURED, "postgres");
    const waiting = (maxRunning: number) =>
      simulate({
        ...{ seed: SEED, costs, isShared: true, rate: 20, runS: 10, polls: 0, nodes: 2, databaseCores: 4, maxRunning },
        ...{ syncMs: 0.5, roundTripMs: 0.5, warmS: 60, countedS: 60 },
      }).seatsWaiting;
    expect([waiting(answer.maxRunningPerNode), waiting(Math.ceil(answer.maxRunningPerNode / 2)) > 100]).toEqual([0, true]);
  });
});

test("fit() finds the costs of a line through points and never returns a negative cost for noise", () => {
  const points = [1, 3, 10, 100].map((size) => ({ commits: 300 / size, mutations: 300, total: (300 / size) * 2 + 300 * 0.1 }));
  const { each, mutation } = fit(points);
  expect([each.toFixed(9), mutation.toFixed(9)]).toEqual(["2.000000000", "0.100000000"]);
  const falling = fit([
    { commits: 10, mutations: 10, total: 10 },
    { commits: 1, mutations: 10, total: 12 },
  ]);
  expect(Math.min(falling.each, falling.mutation)).toBeGreaterThanOrEqual(0);
});

test("groupCommits() returns an idle writer without load and a fully busy one above its capacity", () => {
  const takes = (mutations: number) => 2 + mutations * 0.1;
  expect(groupCommits(0, takes)).toEqual({ batch: 1, perS: 0, busy: 0, takesMs: 2.1 });
  const seldom = groupCommits(1, takes);
  expect([seldom.batch < 1.01, seldom.perS > 0.99, seldom.busy < 0.01]).toEqual([true, true, true]);
  const often = groupCommits(5000, takes);
  expect(Math.abs(often.batch * often.perS - 5000)).toBeLessThan(10);
  expect(groupCommits(20_000, takes)).toMatchObject({ batch: 1000, busy: 1 });
});

test.skipIf(!hasProcessorTimes)(
  "sqlite: the service writes the rows, bytes and mutations of the recorded measurement (otherwise run `npm run costs`)",
  () => expectRowsAsMeasured("sqlite", openSqliteBed),
);
