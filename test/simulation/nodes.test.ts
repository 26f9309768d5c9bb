// Worlds of several nodes over one store are held to account: what befalls them does happen, the store keeps its rules, the book notices.
import { expect, setDefaultTimeout, test } from "bun:test";
import { generationId } from "../../src/domain/ids.ts";
import type { Mutation, MutationResult } from "../../src/store/mutations.ts";
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

test("worlds of three nodes come right through partitions, zombies and take-overs, and those did happen", async () => {
  const { failure, figures } = await runSeeds(1, 8, { options: { nodes: 3 } });
  expect(failure?.faults ?? []).toEqual([]);
  const { partitions = 0, zombies = 0, takeOvers = 0, fenced = 0, succeeded = 0 } = figures;
  expect(Math.min(partitions, zombies, takeOvers, fenced, succeeded)).toBeGreaterThan(0);
});

test("the same seed is the same world of several nodes, to the last line of its trace", async () => {
  const options = { nodes: 3, keepsTrace: true };
  const [first, second] = [await runSeed(3, options), await runSeed(3, options)];
  expect(second.trace).toEqual(first.trace);
  expect(second.fingerprint).toBe(first.fingerprint);
  expect(second.figures).toEqual(first.figures);
});

test("without a fault nobody is ended, nothing is taken over, and every node lives once", async () => {
  const end = await runSeed(5, { nodes: 3, without: FAULT_NAMES });
  expect(end.faults).toEqual([]);
  expect(end.figures).toMatchObject({ lives: 3, crashes: 0, takeOvers: 0, fenced: 0 });
});

test("one world in seven has several nodes, unless it is said how many", () => {
  const drawn = Array.from({ length: 1_000 }, (_, seed) => drawNodes(createRng(seed).fork("fleet"), undefined));
  const several = drawn.filter((nodes) => nodes > 1).length;
  expect(several).toBeGreaterThan(100);
  expect(several).toBeLessThan(200);
  expect(new Set(drawn)).toEqual(new Set([1, 2, 3]));
  expect(drawNodes(createRng(1), 2)).toBe(2);
});

test("a replay command says how many nodes there were", () => {
  expect(replayCommand(7, { nodes: 2, without: ["crash"] })).toBe(
    "npm run simulate -- --seed 7 --trace --nodes 2 --without crash",
  );
});

/** A shared database with two owners. */
const openScene = () => {
  const found: string[] = [];
  const world = createTimeline();
  const { database, giveBack } = borrowDatabase();
  const reads = readsOver(database);
  const shared = createSharedDatabase({ database, reads, world, book: createOwnershipOracle((text) => found.push(text)) });
  const epochs = ["a", "b"].map((name) => shared.open(name, LEASE_MS, world.nowMs()).epoch) as [number, number];
  const pass = (ms: number) => {
    world.after(ms, () => undefined);
    while (world.step());
  };
  return { found, shared, epochs, pass, giveBack };
};

test("a node whose lease is over is ended by the next that looks; it can renew nothing, begin nothing, and is told so", () => {
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

test("whoever could not renew its own lease, or must not, ends nobody; who opens ends nobody either", () => {
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

test("a node whose transaction is under way is not ended before that is over, which the server sees to", () => {
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
  // Ended, but what it has written is written.
  expect(shared.lookUp(a, 1)).toBe("committed");
  giveBack();
});

test("a transaction that took too long is undone: it cannot be committed any more, and reads as undone", () => {
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

test.each<[said: string, play: (book: ReturnType<typeof createOwnershipOracle>) => unknown, found: RegExp]>([
  ["a step of one that was ended", ({ ended, done }) => [ended(1), done(1, step, stepped)], /by a, which was ended/],
  ["a step of one that does not own it", (book) => book.done(2, step, stepped), /by b, and it is a's/],
  ["a submission of one that was ended", ({ ended, sent }) => [ended(1), sent(1, ref)], /was sent by a, which was ended/],
  [
    "a submission of what another took over",
    ({ ended, claimed, sent }) => [ended(1), claimed(2, 4096), sent(3, ref)],
    /it is b's/,
  ],
  ["a claim of what a living node owns", (book) => book.claimed(2, 4096), /while it was a's/],
  ["one number for two generations", (book) => book.done(2, admit, admitted), /given to two generations/],
  ["one epoch for two openings", (book) => book.joined(1, "c"), /was given to a and to c/],
])("the book of owners notices %s", (_, play, told) => {
  const found: string[] = [];
  const book = createOwnershipOracle((text) => found.push(text));
  book.joined(1, "a");
  book.joined(2, "b");
  book.joined(3, "d");
  book.done(1, admit, admitted);
  expect(found).toEqual([]);
  play(book);
  expect(found.join("\n")).toMatch(told);
});

test("a process that is stopped goes on with everything that was due meanwhile, in its order, and its monotonic clock has gone on", () => {
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

test("a clock that runs fast is ahead after a while, and its timers come early by true time", () => {
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
