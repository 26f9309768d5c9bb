// Webhook deliveries over several nodes: each has one owner, and another node takes over what an ended one left.
import { expect, test } from "bun:test";
import type { Store } from "../../src/store/store.ts";
import { endpointMutation, failedTry } from "../store/contract/webhooks.ts";
import { admit, commitOne, openAccount, startedMutation } from "../store/fixture.ts";
import { onPostgres } from "./databases.ts";
import { checkNodes, openNodes } from "./nodes.ts";

const SHORT = { leaseMs: 700 };
const LOOK_MS = 50;

/** Renews the lease until that ends a node. */
const endOther = async ({ node }: Store): Promise<void> => {
  for (let looks = 0; looks < 200; looks += 1) {
    if (((await node?.renewLease(false))?.ended ?? []).length > 0) return;
    await Bun.sleep(LOOK_MS);
  }
  throw new Error("no node was ended");
};

onPostgres("webhooks over several nodes", () => {
  checkNodes();

  test("belong to the node that wrote them, and to one other node after its end", async () => {
    const { nodes } = await openNodes(SHORT, SHORT);
    const [alive, silent] = nodes;
    const account = await openAccount(alive, 5000);
    const made = await commitOne(alive, endpointMutation(account));
    const endpointSeq = made.kind === "done" ? (made.seq ?? 0) : 0;
    const own = await admit(alive, account);
    const left = await admit(silent, account);
    await alive.commit([startedMutation(own)]);
    await silent.commit([startedMutation(left)]);
    expect(await alive.nextWebhooks(endpointSeq, 10)).toMatchObject([{ generationSeq: own.seq }]);
    expect(await silent.nextWebhooks(endpointSeq, 10)).toMatchObject([{ generationSeq: left.seq }]);
    expect(await alive.node?.takeOverWebhooks(10)).toBe(0);

    await endOther(alive);
    expect(await alive.node?.takeOverWebhooks(10)).toBe(1);
    expect(await alive.node?.takeOverWebhooks(10)).toBe(0);
    const taken = await alive.nextWebhooks(endpointSeq, 10);
    expect(new Set(taken.map(({ generationSeq }) => generationSeq))).toEqual(new Set([own.seq, left.seq]));
    expect(await silent.nextWebhooks(endpointSeq, 10)).toEqual([]);
    expect(await alive.webhookLanes()).toEqual([{ lane: endpointSeq, accountSeq: account.seq }]);
  });

  test("keep the result of their owner only", async () => {
    const { nodes } = await openNodes({}, {});
    const [first, second] = nodes;
    const account = await openAccount(first, 5000);
    const made = await commitOne(first, endpointMutation(account));
    const endpointSeq = made.kind === "done" ? (made.seq ?? 0) : 0;
    await first.commit([startedMutation(await admit(first, account))]);
    const [delivery] = await first.nextWebhooks(endpointSeq, 1);
    const foreign = { ...failedTry(delivery?.seq ?? 0), state: "delivered", dueAtMs: null } as const;
    await second.commit([{ mutation: "record-webhook-tries", results: [foreign], endpoints: [] }]);
    expect(await first.nextWebhooks(endpointSeq, 1)).toMatchObject([{ tries: 0 }]);
    const requeue = { mutation: "requeue-webhooks", accountSeq: account.seq, endpointSeq, atMs: 1 } as const;
    await second.commit([{ ...requeue, deliverySeq: delivery?.seq ?? 0 }]);
    expect(await first.nextWebhooks(endpointSeq, 1)).toEqual([]);
    expect(await second.nextWebhooks(endpointSeq, 1)).toMatchObject([{ seq: delivery?.seq ?? 0 }]);
  });
});
