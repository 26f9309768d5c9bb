// The capacity calculator is held against a simulation that counts, and against the service that it speaks of; planted faults must be seen.
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
/** How long worlds of a rate last, s: long enough for chance to even out, short where there is much in a second. */
const WORLDS = [
  { rate: 1, runS: 30, warmS: 200, countedS: 4000 },
  { rate: 10, runS: 30, warmS: 150, countedS: 500 },
  { rate: 100, runS: 20, warmS: 80, countedS: 60 },
  { rate: 1000, runS: 8, warmS: 35, countedS: 10 },
];
const SEED = Number(process.env.CAPACITY_SEED ?? 20_261_124);

/** Shares by which the two may be apart: chance, and what formulas leave out (in-flight files, mutations that come together). */
const TOLERANCES: Record<string, number> = {
  ...{ inFlight: 0.06, seldomMore: 0.12, thread: 0.06, databaseCores: 0.08, commitsPerS: 0.13, batch: 0.13, looks: 0.04 },
};
/** The names of what the calculator says otherwise than what was counted. */
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
    ...{ seats: Number.MAX_SAFE_INTEGER, syncMs: ask.syncMs, roundTripMs: ask.roundTripMs, warmS, countedS },
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

describe(`seed ${SEED} (CAPACITY_SEED takes another)`, () => {
  test.each(RATES)("at %p generations a second PostgreSQL carries what the calculator says", (rate, at) => {
    const { load, seen: counted, nodes } = scene("postgres", at);
    process.stdout.write(
      `seed ${SEED}, ${rate}/s on ${nodes} nodes: said ${load.inFlight.mean.toFixed(1)} in flight, thread ${load.busiestThread.toFixed(3)}, ` +
        `${(nodes * load.commits.perS).toFixed(1)} commits/s of ${load.commits.batch.toFixed(2)}; counted ${counted.inFlight.toFixed(1)}, ` +
        `${counted.thread.toFixed(3)}, ${counted.commitsPerS.toFixed(1)} of ${counted.batch.toFixed(2)}\n`,
    );
    expect(apart(load, counted)).toEqual([]);
  });

  test.each(RATES.slice(0, 2))("at %p generations a second one machine with SQLite does", (_, at) => {
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
    ["a mutation too many", "commitsPerS|batch|thread", (costs) => ({ costs: { ...costs, mutations: costs.mutations + 1 } })],
    ["work of a life a fifth too large", "thread", (costs) => ({ costs: { ...costs, lifeMs: costs.lifeMs * 1.2 } })],
    ["looks that cost three times as much", "thread", (costs) => ({ costs: { ...costs, lookMs: costs.lookMs * 3 } })],
    [
      "commits of the node that cost twice as much",
      "thread|batch",
      (costs) => ({ costs: commit(costs, "nodeMs", { each: 2, mutation: 2 }) }),
    ],
    ["commits of the database half as dear", "databaseCores", (costs) => ({ costs: commit(costs, "databaseMs", { each: 0.5 }) })],
    [
      "mutations of the database that cost four times as much",
      "databaseCores",
      (costs) => ({ costs: commit(costs, "databaseMs", { mutation: 4 }) }),
    ],
    [
      "polls elsewhere that cost the database ten times as much",
      "databaseCores",
      (costs) => ({
        costs: { ...costs, pollElsewhere: { ...costs.pollElsewhere, databaseMs: costs.pollElsewhere.databaseMs * 10 } },
      }),
    ],
    ["a disk that syncs ten times as slowly", "batch|commitsPerS", (_, ask) => ({ ask: { ...ask, syncMs: ask.syncMs * 10 } })],
    ["journeys that are forgotten", "batch|commitsPerS", (_, ask) => ({ ask: { ...ask, roundTripMs: 0 } })],
    ["runs a tenth too long", "inFlight", (_, ask) => ({ ask: { ...ask, runS: ask.runS * 1.1 } })],
    ["a rate a tenth too high", "inFlight", (_, ask) => ({ ask: { ...ask, rate: ask.rate * 1.1 } })],
  ];
  test.each(FAULTS)("a constant that is wrong is seen: %s", (_, shows, change) => {
    const found = [0, 2, 3].flatMap((at) => again(at, change));
    expect(found.filter((one) => new RegExp(`^(${shows}):`).test(one))).not.toEqual([]);
  });

  const FORMULAS: [what: string, shows: string, wrong: (load: Load) => Load][] = [
    [
      "nothing shares a commit",
      "batch",
      (load) => ({ ...load, commits: { ...load.commits, batch: 1, perS: load.mutationsPerS / load.nodes } }),
    ],
    [
      "everything that arrives in a second shares one",
      "commitsPerS",
      (load) => ({ ...load, commits: { ...load.commits, perS: 1 } }),
    ],
    [
      "a job is known to be done when it is",
      "inFlight",
      (load) => ({ ...load, inFlight: { ...load.inFlight, mean: load.inFlight.mean - 100 * load.run.lateS } }),
    ],
    [
      "chance adds nothing to the mean",
      "seldomMore",
      (load) => ({ ...load, inFlight: { ...load.inFlight, seldomMore: load.inFlight.mean } }),
    ],
    ["all nodes are one", "thread", (load) => ({ ...load, busiestThread: load.busiestThread * load.nodes })],
  ];
  test.each(FORMULAS)("a formula that is wrong is seen: %s", (_, shows, wrong) => {
    const found = [0, 2, 3].flatMap((at) => {
      const { load, seen: counted } = scene("postgres", at);
      return apart(wrong(load), counted);
    });
    expect(found.filter((one) => one.startsWith(`${shows}:`))).not.toEqual([]);
  });

  test.each([
    ["nodes", 1, 8],
    ["the database", 12, 1],
  ])("where %s are full nothing goes through that was not said, and below it everything does", (part, nodes, databaseCores) => {
    const costs = costsOf(MEASURED, "postgres");
    const ask = { ...ASK, runS: 2, polls: 5 };
    const [end] = saturations(costs, ask, "postgres", nodes, databaseCores);
    if (!end) throw new Error("nothing ends");
    expect(end.part as string).toBe(part === "nodes" ? "node" : "database");
    const at = (share: number) =>
      simulate({
        ...{ seed: SEED, costs, isShared: true, rate: end.rate * share, runS: ask.runS, polls: ask.polls, nodes, databaseCores },
        ...{ seats: Number.MAX_SAFE_INTEGER, syncMs: ask.syncMs, roundTripMs: ask.roundTripMs, warmS: 10, countedS: 8 },
      });
    const arrived = (share: number) => end.rate * share * costs.mutations;
    const below = at(0.85);
    expect(Math.abs(below.commitsPerS * below.batch - arrived(0.85)) / arrived(0.85)).toBeLessThan(0.05);
    const above = at(1.25);
    expect(above.commitsPerS * above.batch).toBeLessThan(arrived(1.08));
    expect(above.workWaiting + above.mutationsWaiting).toBeGreaterThan(3 * (below.workWaiting + below.mutationsWaiting + 1));
  });

  test("with as many seats as it says nobody waits for one, with half of them a line grows", () => {
    const answer = answerTo({ ...ASK, rate: 20, runS: 10, nodes: 2 }, "postgres", 8);
    const costs = costsOf(MEASURED, "postgres");
    const waiting = (seats: number) =>
      simulate({
        ...{ seed: SEED, costs, isShared: true, rate: 20, runS: 10, polls: 0, nodes: 2, databaseCores: 4, seats },
        ...{ syncMs: 0.5, roundTripMs: 0.5, warmS: 60, countedS: 60 },
      }).seatsWaiting;
    expect([waiting(answer.maxRunningPerNode), waiting(Math.ceil(answer.maxRunningPerNode / 2)) > 100]).toEqual([0, true]);
  });
});

test("a line is found through points, and noise never makes a cost negative", () => {
  const points = [1, 3, 10, 100].map((size) => ({ commits: 300 / size, mutations: 300, total: (300 / size) * 2 + 300 * 0.1 }));
  const { each, mutation } = fit(points);
  expect([each.toFixed(9), mutation.toFixed(9)]).toEqual(["2.000000000", "0.100000000"]);
  const falling = fit([
    { commits: 10, mutations: 10, total: 10 },
    { commits: 1, mutations: 10, total: 12 },
  ]);
  expect(Math.min(falling.each, falling.mutation)).toBeGreaterThanOrEqual(0);
});

test("a writer that nobody asks rests, one that is asked too much is always busy", () => {
  const takes = (mutations: number) => 2 + mutations * 0.1;
  expect(groupCommits(0, takes)).toEqual({ batch: 1, perS: 0, busy: 0, takesMs: 2.1 });
  const seldom = groupCommits(1, takes);
  expect([seldom.batch < 1.01, seldom.perS > 0.99, seldom.busy < 0.01]).toEqual([true, true, true]);
  const often = groupCommits(5000, takes);
  expect(Math.abs(often.batch * often.perS - 5000)).toBeLessThan(10);
  expect(groupCommits(20_000, takes)).toMatchObject({ batch: 1000, busy: 1 });
});

test.skipIf(!hasProcessorTimes)(
  "sqlite: the service writes the rows, bytes and mutations today that were measured (else: npm run costs)",
  () => expectRowsAsMeasured("sqlite", openSqliteBed),
);
