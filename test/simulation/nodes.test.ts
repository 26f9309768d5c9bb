// Tests simulated worlds of several nodes over one store: their faults, the shared store's rules and the ownership oracle.
import { expect, setDefaultTimeout, test } from "bun:test";
import { generationId } from "../../src/domain/ids.ts";
import type { Mutation, MutationResult } from "../../src/domain/mutations.ts";
import { Fenced } from "../../src/store/postgres/fenced-transactions.ts";
import { readsOver } from "../../src/store/sqlite/reads.ts";
import { drawNodes } from "../../src/torture/simulation/cluster.ts";
import { FAULT_NAMES } from "../../src/torture/simulation/faults.ts";
import { beginLife } from "../../src/torture/simulation/node-life.ts";
import { createOwnershipOracle } from "../../src/torture/simulation/ownership-oracle.ts";
import { createRng } from "../../src/torture/simulation/rng.ts";
import { runSeed, runSeeds } from "../../src/torture/simulation/run.ts";
import { createSharedDatabase } from "../../src/torture/simulation/shared-database.ts";
import { replayCommand } from "../../src/torture/simulation/shrink.ts";
import { createTimeline } from "../../src/torture/simulation/timeline.ts";
import { borrowDatabase } from "../../src/torture/simulation/world-database.ts";

setDefaultTimeout(120_000);

const LEASE_MS = 10_000;
const LONGEST_MS = 5_000;

test("worlds of three nodes pass the audit after partitions, zombies and takeovers, all of which occur", async () => {
  const { failure, figures } = await runSeeds(1, 8, { options: { nodes: 3 } });
  expect(failure?.faults ?? []).toEqual([]);
  const { partitions = 0, zombies = 0, takeOvers = 0, fenced = 0, succeeded = 0 } = figures;
  expect(Math.min(partitions, zombies, takeOvers, fenced, succeeded)).toBeGreaterThan(0);
});

test("the same seed gives the same world of several nodes, to the last line of its trace", async () => {
  const options = { nodes: 3, keepsTrace: true };
  const [first, second] = [await runSeed(3, options), await runSeed(3, options)];
  expect(second.trace).toEqual(first.trace);
  expect(second.fingerprint).toBe(first.fingerprint);
  expect(second.figures).toEqual(first.figures);
});

test("without faults no node is fenced, no generation is taken over and every node starts once", async () => {
  const end = await runSeed(5, { nodes: 3, without: FAULT_NAMES });
  expect(end.faults).toEqual([]);
  expect(end.figures).toMatchObject({ lives: 3, crashes: 0, takeOvers: 0, fenced: 0 });
});

test("one world in seven has several nodes, unless their number is given", () => {
  const drawn = Array.from({ length: 1_000 }, (_, seed) => drawNodes(createRng(seed).fork("fleet"), undefined));
  const several = drawn.filter((nodes) => nodes > 1).length;
  expect(several).toBeGreaterThan(100);
  expect(several).toBeLessThan(200);
  expect(new Set(drawn)).toEqual(new Set([1, 2, 3]));
  expect(drawNodes(createRng(1), 2)).toBe(2);
});

test("the replay command contains the number of nodes", () => {
  expect(replayCommand(7, { nodes: 2, without: ["crash"] })).toBe(
    "npm run simulate -- --seed 7 --trace --nodes 2 --without crash",
  );
});

/** Opens a shared database with two nodes. */
const openScene = () => {
  const found: string[] = [];
  const world = createTimeline();
  const { database, giveBack } = borrowDatabase();
  const reads = readsOver(database);
  const shared = createSharedDatabase({ database, reads, world, ownership: createOwnershipOracle((text) => found.push(text)) });
  const epochs = ["a", "b"].map((name) => shared.open(name, LEASE_MS, world.nowMs()).epoch) as [number, number];
  const pass = (ms: number) => {
    world.after(ms, () => undefined);
    while (world.step());
  };
  return { found, shared, epochs, pass, giveBack };
};

test("a node fences another whose lease has expired; the fenced node can neither renew nor begin a transaction", () => {
  const { shared, epochs, pass, giveBack, found } = openScene();
  const [a, b] = epochs;
  pass(LEASE_MS);
  expect(shared.renewLease(b, LEASE_MS, false, true)).toMatchObject({ alive: 2, isFirst: false, ended: [] });
  pass(1);
  expect(shared.renewLease(b, LEASE_MS, false, true)).toMatchObject({
    alive: 1,
    isFirst: true,
    ended: [a],
    isAnythingLeft: true,
  });
  expect(shared.renewLease(a, LEASE_MS, false, true)).toBeNull();
  expect(() => shared.begin(a, 1, LONGEST_MS)).toThrow(Fenced);
  expect(() => shared.lookUp(a, 1)).toThrow(Fenced);
  expect(found).toEqual([]);
  giveBack();
});

test("a node that cannot renew its lease, must not fence or has just opened fences no other node", () => {
  const { shared, epochs, pass, giveBack, found } = openScene();
  const [a, b] = epochs;
  pass(LEASE_MS + 1);
  expect(shared.renewLease(b, LEASE_MS, false, true)).toMatchObject({ alive: 2, ended: [] });
  expect(shared.renewLease(b, LEASE_MS, false, false)).toMatchObject({ alive: 2, ended: [] });
  pass(20 * LEASE_MS);
  shared.open("c", LEASE_MS, 0);
  expect(shared.renewLease(a, LEASE_MS, false, false)).toMatchObject({ alive: 3, ended: [] });
  expect(found).toEqual([]);
  giveBack();
});

test("a node with an open transaction is not fenced before the transaction ends or times out", () => {
  const { shared, epochs, pass, giveBack } = openScene();
  const [a, b] = epochs;
  pass(LEASE_MS - 1);
  shared.renewLease(b, 2 * LEASE_MS, false, true);
  const transaction = shared.begin(a, 1, 100 * LEASE_MS);
  pass(0);
  expect(transaction?.isOver()).toBe(true);
  const again = shared.begin(a, 1, LONGEST_MS);
  expect(shared.begin(a, 1, LONGEST_MS)).toBeNull();
  expect(shared.lookUp(a, 1)).toBe("busy");
  expect([1, 2].map(() => shared.renewLease(b, LEASE_MS, false, true)?.ended)).toEqual([[], []]);
  again?.commit(() => undefined);
  expect(shared.lookUp(a, 1)).toBe("committed");
  expect(shared.renewLease(b, LEASE_MS, false, true)?.ended).toEqual([a]);
  // The node is fenced, but its commit stays.
  expect(shared.lookUp(a, 1)).toBe("committed");
  giveBack();
});

test("a transaction that exceeds its time limit is rolled back: it cannot be committed and reads as undone", () => {
  const { shared, epochs, pass, giveBack } = openScene();
  const [a] = epochs;
  const transaction = shared.begin(a, 1, LONGEST_MS);
  pass(LONGEST_MS);
  expect(() => transaction?.commit(() => undefined)).toThrow("given up");
  expect(shared.lookUp(a, 1)).toBe("undone");
  giveBack();
});

const ref = `${generationId(4096).slice("gen_".length)}-1`;
const admit = { mutation: "admit", seq: 4096, id: generationId(4096) } as unknown as Mutation;
const admitted = { kind: "admitted" } as unknown as MutationResult;
const step = { mutation: "step", seq: 4096, version: 1 } as unknown as Mutation;
const stepped = { kind: "stepped" } as unknown as MutationResult;

test.each<[said: string, play: (ownership: ReturnType<typeof createOwnershipOracle>) => unknown, found: RegExp]>([
  ["a transition by a fenced node", ({ ended, done }) => [ended(1), done(1, step, stepped)], /by a, which was ended/],
  [
    "a transition by a node that does not own the generation",
    (ownership) => ownership.done(2, step, stepped),
    /by b, and it is a's/,
  ],
  ["a submission by a fenced node", ({ ended, sent }) => [ended(1), sent(1, ref)], /was sent by a, which was ended/],
  [
    "a submission of a generation that another node took over",
    ({ ended, claimed, sent }) => [ended(1), claimed(2, 4096), sent(3, ref)],
    /it is b's/,
  ],
  ["a takeover from a living node", (ownership) => ownership.claimed(2, 4096), /while it was a's/],
  ["one number given to two generations", (ownership) => ownership.done(2, admit, admitted), /given to two generations/],
  ["one epoch given to two nodes", (ownership) => ownership.joined(1, "c"), /was given to a and to c/],
])("the ownership oracle reports %s", (_, play, reported) => {
  const found: string[] = [];
  const ownership = createOwnershipOracle((text) => found.push(text));
  ownership.joined(1, "a");
  ownership.joined(2, "b");
  ownership.joined(3, "d");
  ownership.done(1, admit, admitted);
  expect(found).toEqual([]);
  play(ownership);
  expect(found.join("\n")).toMatch(reported);
});

test("a paused process runs its overdue timers in order, and its monotonic clock includes the pause", () => {
  const world = createTimeline();
  const life = beginLife({
    ...{ name: "n1.1", world, rate: 1, wallMs: world.nowMs, notBeforeMs: 0 },
    strikes: () => false,
    stops: () => 0,
  });
  const seen: string[] = [];
  const beganMs = life.monoMs();
  life.clock.after(200, () => seen.push("second"));
  life.clock.after(100, () => seen.push("first"));
  life.clock.after(2_000, () => seen.push("third"));
  life.freeze(1_000);
  world.after(999, () => expect(seen).toEqual([]));
  while (world.step());
  expect(seen).toEqual(["first", "second", "third"]);
  expect(life.monoMs() - beganMs).toBe(2_000);
});

test("a fast clock is ahead, and its timers fire early in true time", () => {
  const world = createTimeline();
  const beganMs = world.nowMs();
  const life = beginLife({
    ...{ name: "n1.1", world, rate: 1.25, wallMs: world.nowMs, notBeforeMs: 0 },
    strikes: () => false,
    stops: () => 0,
  });
  let firedMs = 0;
  life.clock.after(1_000, () => {
    firedMs = world.nowMs() - beganMs;
  });
  while (world.step());
  expect(firedMs).toBe(800);
  expect(life.clock.nowMs() - beganMs).toBe(1_000);
});
