// Two nodes on one database: no double spending, no double writes, and no deadlocks.
import { expect, test } from "bun:test";
import { hashApiKey, newApiKey, newId } from "../../src/domain/ids.ts";
import type { AdmitGeneration, Mutation, MutationResult } from "../../src/domain/mutations.ts";
import type { Store } from "../../src/store/store.ts";
import {
  type Account,
  admit,
  admitMutation,
  capturedMutation,
  commitOne,
  NOW_MS,
  openAccount,
  PRICES,
  releasedMutation,
  startedMutation,
  stepMutation,
  topUp,
} from "../store/fixture.ts";
import { openPurchaseMutation, payMutation } from "../store/purchases.ts";
import { onPostgres } from "./databases.ts";
import { checkNodes, openNodes } from "./nodes.ts";

/** Commits mutations one by one and concurrently, alternating between both nodes. */
const atBoth = <D extends Mutation>(nodes: readonly [Store, Store], mutations: readonly D[]) =>
  Promise.all(mutations.map((mutation, i) => commitOne(nodes[i % 2 === 0 ? 0 : 1], mutation)));
const kinds = (outcomes: readonly MutationResult[]): Record<string, number> =>
  Object.fromEntries([...Map.groupBy(outcomes, ({ kind }) => kind)].map(([kind, all]) => [kind, all.length]));
const balance = async (store: Store, { id }: Account) => {
  const row = await store.account(id);
  return [row?.availableCredits, row?.heldCredits, row?.chargedCredits, row?.inProgress];
};

onPostgres("two nodes", () => {
  checkNodes();

  test("accept 50 of 200 concurrent submissions when the balance covers 50", async () => {
    const { nodes } = await openNodes({}, {});
    const account = await openAccount(nodes[0], 50 * PRICES.c);
    const mutations = Array.from({ length: 200 }, () => admitMutation(account));
    const batches = Array.from({ length: 20 }, (_, i) => mutations.slice(i * 10, i * 10 + 10));
    const outcomes = await Promise.all(batches.map((batch, i) => nodes[i % 2 === 0 ? 0 : 1].commit(batch)));
    expect(kinds(outcomes.flat())).toEqual({ admitted: 50, insufficient_credits: 150 });
    expect(await balance(nodes[1], account)).toEqual([0, 50 * PRICES.c, 0, 50]);
  });

  test("create one generation for fifty concurrent submissions with one idempotency key", async () => {
    const { nodes } = await openNodes({}, {});
    const account = await openAccount(nodes[0], 1000);
    const outcomes = await atBoth(
      nodes,
      Array.from({ length: 50 }, () => admitMutation(account, { idempotencyKey: "once" })),
    );
    expect(kinds(outcomes)).toEqual({ admitted: 1, replayed: 49 });
    expect(new Set(outcomes.map((one) => ("record" in one ? one.record.id : ""))).size).toBe(1);
    expect(await balance(nodes[0], account)).toEqual([890, 110, 0, 1]);
  });

  test("enforce the limit of generations in progress together", async () => {
    const { nodes } = await openNodes({}, {});
    const account = await openAccount(nodes[0], 5000);
    const mutations = Array.from({ length: 30 }, () => admitMutation(account, { inProgressLimit: 7 }));
    expect(kinds(await atBoth(nodes, mutations))).toEqual({ admitted: 7, concurrency_limit: 23 });
  });

  test("enforce the spend limit of a key together", async () => {
    const { nodes } = await openNodes({}, {});
    const account = await openAccount(nodes[0], 5000);
    const [key] = await nodes[0].keys(account.id);
    await commitOne(nodes[0], {
      mutation: "set-key",
      keyId: key?.id ?? "",
      limits: { day: 550, week: null, month: null },
      atMs: NOW_MS,
    });
    const mutations = Array.from({ length: 30 }, () => admitMutation(account));
    expect(kinds(await atBoth(nodes, mutations))).toEqual({ admitted: 5, key_limit: 25 });
  });

  test("enforce the limit of an end user together, also of one that is new to both", async () => {
    const { nodes } = await openNodes({}, {});
    const account = await openAccount(nodes[0], 50_000);
    const labels = { metadata: null, endUser: "ada" };
    const submissions = (count: number) => Array.from({ length: count }, () => admitMutation(account, { labels }));
    expect(kinds(await atBoth(nodes, submissions(10)))).toEqual({ admitted: 10 });
    const limit = { window: "month", credits: 15 * PRICES.c } as const;
    await commitOne(nodes[1], { mutation: "set-end-user-limit", accountSeq: account.seq, endUser: "ada", limit, atMs: NOW_MS });
    expect(kinds(await atBoth(nodes, submissions(30)))).toEqual({ admitted: 5, end_user_limit: 25 });
    expect(await nodes[0].endUser(account.seq, "ada", NOW_MS)).toMatchObject({ spentCredits: limit.credits });
  });

  test("do not deadlock with submissions and limits of the same new end users in other orders", async () => {
    const { database, nodes } = await openNodes({}, {});
    const accounts = [await openAccount(nodes[0], 50_000), await openAccount(nodes[0], 50_000)] as const;
    const limit = { window: "total", credits: 1_000_000 } as const;
    const batches = Array.from({ length: 20 }, (_, round) =>
      accounts.flatMap((_account, at) => {
        const account = accounts[(at + round) % 2 === 0 ? 0 : 1];
        const names = [`a${Math.floor(round / 2)}`, `b${Math.floor(round / 2)}`];
        return (round % 2 === 0 ? names : names.toReversed()).flatMap((endUser): Mutation[] => [
          { mutation: "set-end-user-limit", accountSeq: account.seq, endUser, limit, atMs: NOW_MS },
          admitMutation(account, { labels: { metadata: null, endUser } }),
        ]);
      }),
    );
    const outcomes = await Promise.all(batches.map((batch, i) => nodes[i % 2 === 0 ? 0 : 1].commit(batch)));
    expect(kinds(outcomes.flat())).toEqual({ done: 80, admitted: 80 });
    expect(database.server.log()).not.toContain("deadlock");
  });

  test("do not deadlock with submissions, ends and top-ups of the same accounts at four nodes", async () => {
    const { database, nodes } = await openNodes({}, {}, {}, {});
    const accounts: Account[] = [];
    for (let n = 0; n < 4; n += 1) accounts.push(await openAccount(nodes[0], 20_000));
    const ofAll = (from: number): Account[] => [...accounts.slice(from % 4), ...accounts.slice(0, from % 4)];
    const work = async (store: Store, turn: number): Promise<MutationResult[]> => {
      const reported: MutationResult[] = [];
      for (let round = 0; round < 6; round += 1) {
        const order = ofAll(turn + round);
        // Accounts come in another order each time, and mutations that are written alone lie between those written together.
        const admits = (turn % 2 === 0 ? order : order.toReversed()).map((account) => admitMutation(account));
        const credits = order.slice(0, 2).map(
          ({ seq: accountSeq }): Mutation => ({
            mutation: "credit",
            ...{ accountSeq, kind: "topup", credits: 5, note: "pack", reference: null, atMs: NOW_MS },
          }),
        );
        reported.push(...(await store.commit([...admits.slice(0, 2), ...credits, ...admits.slice(2)])));
        const ends = admits
          .toReversed()
          .flatMap((mutation, i) =>
            i % 2 === 0
              ? [capturedMutation(mutation.seq, 2, 1, PRICES.a)]
              : [releasedMutation(mutation.seq, 2, { attemptChanges: [{ n: 1, state: "failed" }] })],
          );
        reported.push(...(await store.commit([...admits.map((mutation) => startedMutation(mutation)), ...ends])));
      }
      return reported;
    };
    const outcomes = await Promise.all(nodes.flatMap((store, n) => [0, 1, 2].map((turn) => work(store, n + turn))));
    expect(kinds(outcomes.flat())).toEqual({ admitted: 12 * 24, done: 12 * 12, stepped: 12 * 48 });
    expect(database.server.log()).not.toContain("deadlock");
    for (const account of accounts) {
      const [available = 0, held, charged = 0, inProgress] = await balance(nodes[3], account);
      expect([held, inProgress, available + charged]).toEqual([0, 0, 20_000 + 5 * 36]);
    }
  }, 60_000);

  test("do not deadlock when four nodes roll up usage and store key uses in opposite orders", async () => {
    const { database, nodes } = await openNodes({}, {}, {}, {});
    const accounts: Account[] = [];
    for (let n = 0; n < 8; n += 1) accounts.push(await openAccount(nodes[0], 10_000));
    await Promise.all(
      nodes.map(async (store, n) => {
        const admits = (n % 2 === 0 ? accounts : accounts.toReversed()).map((account) => admitMutation(account));
        await store.commit(admits);
        for (const step of [
          (one: AdmitGeneration) => startedMutation(one),
          (one: AdmitGeneration) => capturedMutation(one.seq, 2, 1, PRICES.a),
        ])
          for (const mutation of admits) await commitOne(store, step(mutation));
      }),
    );
    const uses = accounts.map(({ keySeq }) => [keySeq, NOW_MS] as const);
    for (let round = 0; round < 6; round += 1)
      await Promise.all(
        nodes.map((store, n) =>
          store.commit([
            { mutation: "roll-up-usage", limit: 4 },
            { mutation: "note-key-use", uses: n % 2 === 0 ? uses : uses.toReversed() },
          ]),
        ),
      );
    expect(database.server.log()).not.toContain("deadlock");
    expect(
      (await nodes[1].usage({ by: "account", accountId: null, fromDay: 0, toDay: 1e6 })).map((row) => row.succeeded),
    ).toEqual(accounts.map(() => 4));
  });

  test("return stale for a step of a generation that the other node owns", async () => {
    const { nodes } = await openNodes({}, {});
    const [one, two] = nodes;
    const account = await openAccount(one, 1000);
    const mutation = await admit(one, account);
    expect(await commitOne(two, startedMutation(mutation))).toEqual({ kind: "stale" });
    expect((await commitOne(one, startedMutation(mutation))).kind).toBe("stepped");
    expect(await commitOne(two, capturedMutation(mutation.seq, 2, 1, PRICES.a))).toEqual({ kind: "stale" });
    expect(await commitOne(two, stepMutation(mutation.seq, 2))).toEqual({ kind: "stale" });
    expect((await one.unfinished(0, 10)).map(({ seq }) => seq)).toEqual([mutation.seq]);
    expect(await two.unfinished(0, 10)).toEqual([]);
  });

  test("read what the other node has committed", async () => {
    const { nodes } = await openNodes({}, {});
    const [one, two] = nodes;
    const account = await openAccount(one, 2000);
    for (let n = 0; n < 10; n += 1) {
      const mutation = await admit(n % 2 === 0 ? one : two, account);
      expect((await (n % 2 === 0 ? two : one).generationById(mutation.id, account.seq))?.status).toBe("queued");
    }
  });

  test("rotate a key once when both rotate it concurrently", async () => {
    const { nodes } = await openNodes({}, {});
    const account = await openAccount(nodes[0], 0);
    const [key] = await nodes[0].keys(account.id);
    const rotations = Array.from({ length: 6 }, () => ({
      ...({
        mutation: "rotate-key",
        keyId: key?.id ?? "",
        overlapMs: 1000,
        id: newId("key"),
        start: "gr_test_next",
        atMs: NOW_MS,
      } as const),
      hash: hashApiKey(newApiKey("test")),
    }));
    expect(kinds(await atBoth(nodes, rotations))).toEqual({ done: 1, refused: 5 });
    expect(await nodes[1].keys(account.id)).toHaveLength(2);
  });

  test("credit a payment reference once when both credit it concurrently", async () => {
    const { nodes } = await openNodes({}, {});
    const account = await openAccount(nodes[0], 0);
    const reported = await Promise.all(
      Array.from({ length: 10 }, (_, i) => topUp(nodes[i % 2 === 0 ? 0 : 1], account.seq, 100, "invoice 7")),
    );
    expect(reported.filter((one) => one.kind === "done" && one.credits === 100).length).toBeGreaterThanOrEqual(1);
    expect(await balance(nodes[1], account)).toEqual([100, 0, 0, 0]);
  });

  test("credit a payment once when both receive it, without gaps in the receipt numbers", async () => {
    const { nodes } = await openNodes({}, {});
    const account = await openAccount(nodes[0], 0);
    const names = Array.from({ length: 12 }, (_, i) => `n${i}`);
    await atBoth(
      nodes,
      names.map((name) => openPurchaseMutation(account.seq, name, 1000)),
    );
    const reported = await atBoth(
      nodes,
      [...names, ...names].map((name) => payMutation(name, 1000)),
    );
    const again = await atBoth(
      nodes,
      names.map((name) => payMutation(name, 1000)),
    );
    expect(reported.filter((one) => one.kind === "purchase" && one.changed)).toHaveLength(12);
    expect(again.filter((one) => one.kind === "purchase" && one.changed)).toEqual([]);
    expect(await balance(nodes[0], account)).toEqual([12_000, 0, 0, 0]);
    const bought = await nodes[1].purchases(account.id, null, 50);
    expect(bought.map(({ receipt }) => receipt ?? 0).sort((a, b) => a - b)).toEqual(names.map((_, i) => i + 1));
  });
});
