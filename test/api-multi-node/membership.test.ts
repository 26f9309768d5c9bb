// Whether a node that leaves may go on accepting: as long as another may be there that goes on with it.
import { expect, test } from "bun:test";
import { createMembership, type MembershipDeps } from "../../src/cluster/membership.ts";
import type { ClusterState, Node } from "../../src/store/cluster-port.ts";
import { testClock } from "../clock.ts";

const NODE = { leaseMs: 30_000, slot: 1, epoch: 1, newestGeneration: 0, others: {} as Node["others"] };
const AROUND = { apartMs: 0, alive: 2, isFirst: true, news: "0", hasHints: false, isAnythingLeft: false, ended: [] };

/** A member whose store answers when and what it is told. */
const openScene = () => {
  const answers: ((others: number) => void)[] = [];
  const clock = testClock();
  const node: Pick<Node, keyof typeof NODE | "renewLease"> = {
    ...NODE,
    renewLease: () => new Promise<ClusterState>((answer) => answers.push((others) => answer({ ...AROUND, others }))),
  };
  const membership = createMembership({
    ...{ node, reads: { nodes: {} }, clock, log: () => undefined },
    engine: () => ({ adoptHealth: () => Promise.resolve() }),
    ...{ changed: () => undefined, ended: () => undefined },
  } as unknown as MembershipDeps);
  return { membership, answer: (others: number) => answers.shift()?.(others) };
};

test.each([
  ["one that it has not heard of yet", 0, 1],
  ["one that stays", 1, 1],
  ["one that goes meanwhile", 1, 0],
  ["none", 0, 0],
])("a node that leaves refuses nobody before it knows who stays, and goes by that afterwards: %s", async (_, before, after) => {
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
});
