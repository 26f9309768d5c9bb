// Tests of remote changes over a scripted store: each is reported once and in order, and an idle cluster causes minimal reads.
import { beforeEach, expect, test } from "bun:test";
import { createRemoteChanges, type Follower, type RemoteChange, type RemoteChanges } from "../../src/cluster/remote-changes.ts";
import type { GenerationRecord } from "../../src/domain/types.ts";
import type { Others, RemoteGeneration, RemoteGenerationState } from "../../src/store/cluster-port.ts";
import { type TestClock, testClock } from "../clock.ts";

const LOOK_MS = 500;
const OWN = 1;

/** A generation of the scripted store: the writers of its transitions, and its owner. */
type Scripted = { seq: number; accountSeq: number; owner: number; writers: number[]; isOver: boolean };

let clock: TestClock;
let made: Map<number, Scripted>;
let batches: Map<number, number>;
let asked: string[];
let faults: unknown[];
let isUnavailable: boolean;
let neighbours: RemoteChanges;

const write = (epoch: number) => batches.set(epoch, (batches.get(epoch) ?? 0) + 1);
const find = (seq: number): Scripted => {
  const found = made.get(seq);
  if (!found) throw new Error(`no generation ${seq}`);
  return found;
};
const make = (seq: number, owner: number, accountSeq = 1): void => {
  made.set(seq, { seq, accountSeq, owner, writers: [], isOver: false });
  write(owner);
};
const step = (seq: number, by: number, isEnd = false): void => {
  const one = find(seq);
  one.writers.push(by);
  one.isOver = isEnd;
  write(by);
};
const claim = (seq: number, by: number): void => {
  find(seq).owner = by;
  write(by);
};
const recordOf = ({ seq, accountSeq, isOver, writers }: Scripted) =>
  ({
    ...{ seq, id: `gen_${seq}`, accountSeq, completedAtMs: isOver ? 1 : null },
    status: isOver ? "succeeded" : writers.length === 0 ? "queued" : "running",
  }) as unknown as GenerationRecord;
const standingOf = (one: Scripted): RemoteGeneration => ({
  ...{ record: recordOf(one), epoch: one.owner, version: one.writers.length, plan: [], waitEndsAtMs: 0, snapshot: null },
});
const openOf = (one: Scripted): RemoteGenerationState => ({
  ...{ seq: one.seq, accountSeq: one.accountSeq, version: one.writers.length, epoch: one.owner },
  status: one.writers.length === 0 ? "queued" : "running",
});

const others: Others = {
  written: async () => {
    asked.push("written");
    if (isUnavailable) throw new Error("unavailable");
    return [...batches].filter(([epoch]) => epoch !== OWN).map(([epoch, batch]) => ({ epoch, batch }));
  },
  open: async (afterSeq, limit) => {
    asked.push("open");
    const all = [...made.values()].filter(({ owner, isOver, seq }) => owner !== OWN && !isOver && seq > afterSeq);
    return all.slice(0, limit).map(openOf);
  },
  ended: async (fromSeq) => [...made.values()].filter(({ owner, isOver, seq }) => owner !== OWN && isOver && seq >= fromSeq),
  steps: async (after) => {
    asked.push("steps");
    return after.flatMap(({ seq, version }) =>
      find(seq).writers.flatMap((epoch, at) =>
        at < version ? [] : [{ seq, version: at + 1, epoch, atMs: 0, event: { type: "step" }, stateAfter: "running" }],
      ),
    );
  },
  standing: async (seqs) => seqs.map((seq) => standingOf(find(seq))),
  unfinished: async () => [],
};

beforeEach(() => {
  clock = testClock(0);
  [made, batches, asked, faults, isUnavailable] = [new Map(), new Map([[OWN, 0]]), [], [], false];
  const names = async (epochs: readonly number[]) => new Map(epochs.map((epoch) => [epoch, `n${epoch}`]));
  neighbours = createRemoteChanges({ others, names, own: "n1", clock, failed: (fault) => void faults.push(fault) });
});

const settled = async (): Promise<void> => {
  for (let turns = 0; turns < 200; turns += 1) await Promise.resolve();
};
const look = async (): Promise<void> => {
  clock.skip(LOOK_MS);
  await settled();
};
const follow = async (more: Partial<Follower> = {}) => {
  const reported: RemoteChange[] = [];
  const following = neighbours.follow({
    onReport: (change) => void reported.push(change),
    wantsSteps: true,
    wants: () => true,
    ...more,
  });
  await following.ready;
  return { reported, leave: following.leave };
};
/** Each report as text: the number, the transitions with their nodes, and the owner. */
const lines = (reported: readonly RemoteChange[]) =>
  reported.map(
    ({ record, steps, node }) => `${record.seq}: ${steps.map((one) => `${one.version} ${one.node}`).join(", ")} of ${node}`,
  );

test("reports each transition once and in order, but none that preceded the follower", async () => {
  make(10, 2);
  step(10, 2);
  const { reported } = await follow();
  expect([reported, neighbours.nodeOf(10), neighbours.counts(), neighbours.nodes()]).toEqual([
    [],
    "n2",
    { queued: 0, running: 1 },
    2,
  ]);
  step(10, 2);
  step(10, 2);
  make(11, 3);
  await look();
  await look();
  step(10, 2, true);
  await look();
  expect(lines(reported)).toEqual(["10: 2 n2, 3 n2 of n2", "11:  of n3", "10: 4 n2 of n2"]);
  expect(reported.map(({ isNew }) => isNew)).toEqual([false, true, false]);
  expect(neighbours.counts()).toEqual({ queued: 1, running: 0 });
});

test("makes one small read per look while no node writes", async () => {
  make(10, 2);
  await follow();
  asked = [];
  for (let looks = 0; looks < 5; looks += 1) await look();
  expect(asked).toEqual(Array(5).fill("written"));
});

test("reports a generation that begins and ends between two looks completely and once", async () => {
  const seq = Number.MAX_SAFE_INTEGER;
  const { reported } = await follow();
  make(seq, 2);
  step(seq, 2);
  step(seq, 2, true);
  for (let looks = 0; looks < 3; looks += 1) await look();
  write(2);
  await look();
  expect(lines(reported)).toEqual([`${seq}: 1 n2, 2 n2 of n2`]);
});

test("reports a takeover by another node, and stops following a generation that this node takes over", async () => {
  make(10, 2);
  make(11, 2);
  const { reported } = await follow();
  step(11, 2);
  batches.delete(2);
  claim(10, 3);
  claim(11, OWN);
  await look();
  expect(lines(reported)).toEqual(["10:  of n3", "11: 1 n2 of n1"]);
  expect([neighbours.nodeOf(10), neighbours.nodeOf(11)]).toEqual(["n3", undefined]);
  // The last other node ends, and this node continues all generations: no generation is left to follow.
  batches.delete(3);
  claim(10, OWN);
  await look();
  expect([lines(reported).at(-1), neighbours.counts(), neighbours.nodes()]).toEqual(["10:  of n1", { queued: 0, running: 0 }, 1]);
});

test("reports missed transitions on request, even if this node owns the generation now", async () => {
  make(10, OWN);
  step(10, 2);
  step(10, 2);
  step(10, OWN);
  const { reported } = await follow();
  neighbours.want(10, 1);
  await look();
  await look();
  expect(lines(reported)).toEqual(["10: 2 n2, 3 n1 of n1"]);
});

test("reports an unavailable store once and catches up on changes and requests afterwards", async () => {
  make(10, 2);
  make(20, OWN);
  step(20, 2);
  const { reported } = await follow();
  isUnavailable = true;
  step(10, 2);
  neighbours.want(20, 0);
  for (let looks = 0; looks < 3; looks += 1) await look();
  expect([reported.length, faults.length]).toEqual([0, 1]);
  isUnavailable = false;
  await look();
  expect(lines(reported)).toEqual(["10: 1 n2 of n2", "20: 1 n2 of n1"]);
});

test("reads no transitions for a follower without steps, and reports only the accounts that it selects", async () => {
  const { reported } = await follow({ wantsSteps: false, wants: (accountSeq) => accountSeq === 7 });
  make(10, 2, 7);
  make(11, 2, 8);
  step(10, 2);
  await look();
  step(10, 2);
  await look();
  expect(lines(reported)).toEqual(["10:  of n2", "10:  of n2"]);
  expect(asked).not.toContain("steps");
  // A later follower with steps receives the transitions from then on.
  const late = await follow();
  step(10, 2);
  step(11, 2);
  await look();
  expect(lines(late.reported)).toEqual(["10: 3 n2 of n2", "11: 1 n2 of n2"]);
});

test("stops reading when the last follower leaves, and starts fresh for a new one", async () => {
  make(10, 2);
  const { reported, leave } = await follow();
  leave();
  asked = [];
  step(10, 2);
  for (let looks = 0; looks < 3; looks += 1) await look();
  expect([asked, reported, neighbours.counts()]).toEqual([[], [], { queued: 0, running: 0 }]);
  const again = await follow();
  step(10, 2);
  await look();
  expect(lines(again.reported)).toEqual(["10: 2 n2 of n2"]);
});
