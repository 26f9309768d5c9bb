// Leases: a node ends another whose lease has expired, takes over its generations once, and fences it.
import { expect, test } from "bun:test";
import { StoreUnknown } from "../../src/domain/commit-errors.ts";
import { connect } from "../../src/store/postgres/connections.ts";
import { Fenced } from "../../src/store/postgres/fenced-transactions.ts";
import type { Store } from "../../src/store/store.ts";
import {
  type Account,
  admit,
  admitMutation,
  capturedMutation,
  commitOne,
  openAccount,
  PRICES,
  startedMutation,
  stepMutation,
} from "../store/fixture.ts";
import { onPostgres } from "./databases.ts";
import { checkNodes, openNodes } from "./nodes.ts";

const SHORT = { leaseMs: 700 };
const LOOK_MS = 50;
/** Renews the lease once. @returns the nodes that this ended. */
const endDead = async ({ node }: Store): Promise<number[]> => (await node?.renewLease(false))?.ended ?? [];
/** Renews the lease. @returns whether the node is still open. */
const isAlive = async ({ node }: Store): Promise<boolean> => (await node?.renewLease(false)) !== null;
/** Renews the lease until that ends a node. */
const ended = async (store: Store): Promise<number[] | undefined> => {
  for (let looks = 0; looks < 200; looks += 1) {
    const epochs = await endDead(store);
    if (epochs.length !== 0) return epochs;
    await Bun.sleep(LOOK_MS);
  }
  return [];
};
const admitted = async (store: Store, account: Account, count: number) => {
  const mutations = Array.from({ length: count }, () => admitMutation(account));
  await store.commit(mutations);
  return mutations;
};
const seqsOf = (rows: readonly { seq: number }[]) => rows.map(({ seq }) => seq).sort((a, b) => a - b);
const sorted = (seqs: readonly number[] = []) => [...seqs].sort((a, b) => a - b);

onPostgres("leases", () => {
  checkNodes();

  test("a node that does not renew its lease is ended and fenced, and its generations are taken over once", async () => {
    const { nodes } = await openNodes(SHORT, SHORT);
    const [alive, silent] = nodes;
    const account = await openAccount(alive, 5000);
    const own = await admit(alive, account);
    const left = await admitted(silent, account, 3);
    const [first] = left;
    if (!first) throw new Error("nothing was left");
    expect((await commitOne(silent, startedMutation(first))).kind).toBe("stepped");
    expect(await alive.node?.takeOver(10)).toEqual([]);
    expect(await ended(alive)).toEqual([silent.node?.epoch ?? 0]);
    expect(await endDead(alive)).toEqual([]);
    expect(sorted(await alive.node?.takeOver(10))).toEqual(seqsOf(left));
    expect(await alive.node?.takeOver(10)).toEqual([]);
    expect(seqsOf(await alive.unfinished(0, 10))).toEqual(seqsOf([own, ...left]));
    expect(await silent.unfinished(0, 10)).toEqual([]);

    expect(await isAlive(silent)).toBe(false);
    const before = await alive.account(account.id);
    const again = silent.commit([admitMutation(account), stepMutation(first.seq, 2)]);
    await expect(again).rejects.toThrow(Fenced);
    await again.catch(() => undefined);
    await expect(again).rejects.toThrow(StoreUnknown);
    await expect(silent.node?.takeOver(10)).rejects.toThrow(Fenced);
    expect(await alive.account(account.id)).toEqual(before);
    expect((await alive.eventsOf(first.seq)).length).toBe(1);
    expect((await commitOne(alive, capturedMutation(first.seq, 2, 1, PRICES.a))).kind).toBe("stepped");
  });

  test("a node that renews its lease is not ended", async () => {
    const { nodes } = await openNodes(SHORT, SHORT);
    for (let beats = 0; beats < 8; beats += 1) {
      expect(await isAlive(nodes[1])).toBe(true);
      expect(await endDead(nodes[0])).toEqual([]);
      await Bun.sleep(SHORT.leaseMs / 4);
    }
  });

  test("two nodes that end another and take over at the same time share its generations without overlap", async () => {
    const { nodes } = await openNodes(SHORT, SHORT, SHORT);
    const [one, two, silent] = nodes;
    const account = await openAccount(one, 10_000);
    const left = await admitted(silent, account, 40);
    let reported: number[] = [];
    while (reported.length === 0) {
      await Bun.sleep(LOOK_MS);
      reported = (await Promise.all([one, two].map(endDead))).flat();
    }
    expect(reported).toEqual([silent.node?.epoch ?? 0]);
    const taken: number[] = [];
    for (let round = 0; round < 4; round += 1)
      taken.push(...(await Promise.all([one, two].map(async ({ node }) => (await node?.takeOver(7)) ?? []))).flat());
    expect(sorted(taken)).toEqual(seqsOf(left));
    const owned = await Promise.all([one, two].map(async (store) => seqsOf(await store.unfinished(0, 100))));
    expect(sorted(owned.flat())).toEqual(seqsOf(left));
  });

  test("generations that were taken over are taken over again when that node closes", async () => {
    const { nodes } = await openNodes({}, {}, {});
    const [one, two, three] = nodes;
    const account = await openAccount(one, 1000);
    const mutation = await admit(one, account);
    await one.close();
    expect(await two.node?.takeOver(10)).toEqual([mutation.seq]);
    expect((await commitOne(two, startedMutation(mutation))).kind).toBe("stepped");
    await two.close();
    expect(await three.node?.takeOver(10)).toEqual([mutation.seq]);
    expect((await commitOne(three, capturedMutation(mutation.seq, 2, 1, PRICES.a))).kind).toBe("stepped");
  });

  test("a node that closes releases its generations at once", async () => {
    const { nodes } = await openNodes({}, {});
    const [one, two] = nodes;
    const account = await openAccount(one, 1000);
    const left = await admitted(two, account, 2);
    await two.close();
    expect(await endDead(one)).toEqual([]);
    expect(sorted(await one.node?.takeOver(10))).toEqual(seqsOf(left));
  });

  test("a node with an open transaction is not ended before the transaction commits", async () => {
    const { database, nodes } = await openNodes(SHORT, SHORT);
    const line = await connect({ url: database.url, prepare: true });
    await line.script("BEGIN");
    await line.send("SELECT batch FROM node WHERE epoch = ?1 FOR NO KEY UPDATE", nodes[1].node?.epoch ?? 0);
    for (let looks = 0; looks < (2 * SHORT.leaseMs) / LOOK_MS; looks += 1) {
      await Bun.sleep(LOOK_MS);
      expect(await endDead(nodes[0])).toEqual([]);
    }
    await line.script("COMMIT");
    line.close();
    expect(await ended(nodes[0])).toEqual([nodes[1].node?.epoch ?? 0]);
  });
});
