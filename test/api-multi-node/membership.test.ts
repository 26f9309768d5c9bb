// Tests of admission on a draining node: it accepts submissions while another node may exist that continues them.
import { expect, test } from "bun:test";
import { createMembership, type MembershipDeps } from "../../src/cluster/membership.ts";
import type { ClusterState, Node } from "../../src/store/cluster-port.ts";
import { testClock } from "../clock.ts";

const NODE = { leaseMs: 30_000, slot: 1, epoch: 1, others: {} as Node["others"] };
const AROUND = { apartMs: 0, alive: 2, isFirst: true, news: "0", hasHints: false, isAnythingLeft: false, ended: [] };

/** A membership over a scripted store. */
const openScene = () => {
  const answers: ((others: number) => void)[] = [];
  const clock = testClock();
  const node: Pick<Node, keyof typeof NODE | "renewLease"> = {
    ...NODE,
    renewLease: () => new Promise<ClusterState>((answer) => answers.push((others) => answer({ ...AROUND, others }))),
  };
  const membership = createMembership({
    ...{ node, reads: { nodes: {}, newestGeneration: 0 }, clock, log: () => undefined },
    engine: () => ({ adoptHealth: () => Promise.resolve() }),
    ...{ changed: () => undefined, ended: () => undefined },
  } as unknown as MembershipDeps);
  return { membership, answer: (others: number) => answers.shift()?.(others) };
};

test.each([
  ["a new node", 0, 1],
  ["a remaining node", 1, 1],
  ["a node that leaves meanwhile", 1, 0],
  ["no other node", 0, 0],
])(
  "assumes another node until the renewal at the start of the drain responds, then uses its count: %s",
  async (_, before, after) => {
    const { membership, answer } = openScene();
    const begun = membership.leaseKeeper?.begin();
    answer(before);
    await begun;
    expect(membership.isAnotherThere()).toBe(before > 0);
    const left = membership.leave(0);
    expect(membership.isAnotherThere()).toBe(true);
    answer(after);
    await left;
    expect(membership.isAnotherThere()).toBe(after > 0);
    membership.leaseKeeper?.stop();
  },
);
