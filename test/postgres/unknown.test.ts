// Commits whose response was lost: the store finds their outcome, and each is written once.
import { afterEach, describe, expect, test } from "bun:test";
import { StoreUnknown } from "../../src/domain/commit-errors.ts";
import type { AdmitGeneration } from "../../src/domain/mutations.ts";
import { DatabaseUnavailable } from "../../src/store/errors.ts";
import { openPostgresStore } from "../../src/store/postgres/client.ts";
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
  violations,
} from "../store/fixture.ts";
import { type Database, freshDatabase, onPostgres } from "./databases.ts";
import { checkNodes, openNodes } from "./nodes.ts";
import { openProxy, type Wire } from "./proxy.ts";

const proxies: Wire[] = [];
afterEach(() => {
  for (const proxy of proxies.splice(0)) proxy.close();
});
const before = async ({ url, server }: Database): Promise<{ proxy: Wire; through: string }> => {
  const proxy = await openProxy(server.port);
  proxies.push(proxy);
  const through = new URL(url);
  through.port = String(proxy.port);
  return { proxy, through: through.href };
};

const balance = async (store: Store, { id }: Account) => {
  const row = await store.account(id);
  return [row?.availableCredits, row?.heldCredits, row?.chargedCredits, row?.inProgress];
};

/** A node behind a proxy, and another node with direct access. */
const scene = async (changes: { leaseMs?: number; patienceMs?: number } = {}) => {
  const { database, nodes, another } = await openNodes({});
  const { proxy, through } = await before(database);
  const store = await another({ url: through, ...changes });
  return { store, beside: nodes[0], proxy, account: await openAccount(nodes[0], 1000), database };
};

onPostgres("a commit without a response", () => {
  checkNodes();

  const BROKEN = [
    ["when the connection breaks before it arrives", (proxy: Wire) => proxy.cutBeforeCommit()],
    ["when the connection breaks before its response arrives", (proxy: Wire) => proxy.cutAfterCommit()],
  ] as const;
  describe.each(BROKEN)("%s", (_, breakOn) => {
    test("accepts a submission once", async () => {
      const { store, beside, proxy, account } = await scene();
      breakOn(proxy);
      const mutation = admitMutation(account);
      expect((await commitOne(store, mutation)).kind).toBe("admitted");
      expect(proxy.times()).toBe(1);
      expect(await balance(beside, account)).toEqual([890, 110, 0, 1]);
      expect((await beside.generationBySeq(mutation.seq))?.status).toBe("queued");
      expect((await commitOne(store, admitMutation(account))).kind).toBe("admitted");
    });

    test("ends and charges a generation once", async () => {
      const { store, beside, proxy, account } = await scene();
      const mutation = await admit(store, account);
      breakOn(proxy);
      expect((await commitOne(store, startedMutation(mutation))).kind).toBe("stepped");
      breakOn(proxy);
      expect((await commitOne(store, capturedMutation(mutation.seq, 2, 1, PRICES.a))).kind).toBe("stepped");
      expect(proxy.times()).toBe(2);
      expect(await balance(beside, account)).toEqual([925, 0, 75, 0]);
      expect(await beside.eventsOf(mutation.seq)).toHaveLength(2);
    });

    test("returns the written outcome of each mutation of a batch", async () => {
      const { store, beside, proxy, account } = await scene();
      const mutations: AdmitGeneration[] = Array.from({ length: 12 }, () => admitMutation(account));
      breakOn(proxy);
      const kinds = (await store.commit(mutations)).map(({ kind }) => kind);
      expect(kinds).toEqual([...Array(9).fill("admitted"), ...Array(3).fill("insufficient_credits")]);
      expect(await balance(beside, account)).toEqual([10, 990, 0, 9]);
      expect(await beside.unfinished(0, 100)).toEqual([]);
      expect(await store.unfinished(0, 100)).toHaveLength(9);
    });

    test("credits a top-up once", async () => {
      const { store, beside, proxy, account } = await scene();
      breakOn(proxy);
      const credit = {
        mutation: "credit",
        accountSeq: account.seq,
        kind: "topup",
        credits: 500,
        note: "",
        reference: null,
        atMs: 1,
      } as const;
      expect(await commitOne(store, credit)).toMatchObject({ kind: "done", credits: 500 });
      expect(await balance(beside, account)).toEqual([1500, 0, 0, 0]);
    });

    test("takes over the generations of a closed node once", async () => {
      const { store, beside, proxy, account } = await scene();
      const mutation = await admit(beside, account);
      await beside.close();
      breakOn(proxy);
      expect(await store.node?.takeOver(10)).toEqual([mutation.seq]);
      expect(proxy.times()).toBe(1);
      expect((await commitOne(store, startedMutation(mutation))).kind).toBe("stepped");
    });
  });

  test("returns its outcome after a stall that is longer than a transaction may take", async () => {
    const { store, beside, proxy, account } = await scene({ leaseMs: 600 });
    for (let round = 1; round <= 2; round += 1) {
      proxy.stallAtCommit();
      const mutation = admitMutation(account);
      const outcome = commitOne(store, mutation);
      await Bun.sleep(1500);
      expect(proxy.times()).toBe(round);
      proxy.resume();
      expect((await outcome).kind).toBe("admitted");
      expect(await balance(beside, account)).toEqual([1000 - 110 * round, 110 * round, 0, round]);
      expect((await commitOne(beside, admitMutation(account, { inProgressLimit: 0 }))).kind).toBe("concurrency_limit");
    }
  });

  test("rejects with an unknown outcome when the server stays unavailable", async () => {
    const { store, proxy, account } = await scene({ leaseMs: 600, patienceMs: 1000 });
    proxy.stallAtCommit();
    const outcome = commitOne(store, admitMutation(account));
    await expect(outcome).rejects.toThrow(StoreUnknown);
    await outcome.catch(() => undefined);
    proxy.resume();
  }, 30_000);
});

onPostgres("a server that crashes and restarts", () => {
  test("makes a waiting read reject with one line, and serves reads after the restart", async () => {
    const database = await freshDatabase();
    const store = await openPostgresStore({ url: database.url, prepare: true, mode: "test", readers: 2 });
    await database.server.kill();
    const fault = await store.unfinished(0, 1).catch((caught: unknown) => caught);
    // Other tests need the server, whatever the result of this one.
    await database.server.start();
    expect(fault).toBeInstanceOf(DatabaseUnavailable);
    expect(String(fault)).toMatch(
      /^DatabaseUnavailable: the database of GENROUTER_STORE__URL at 127\.0\.0\.1:\d+ cannot be read: [^\n]+$/,
    );
    expect(await store.unfinished(0, 1)).toEqual([]);
    await store.close();
    database.drop();
  }, 60_000);

  /** More than a machine can hold in that time. */
  const CREDITS = 1_000_000_000;
  test("keeps every acknowledged submission, and the commits continue", async () => {
    const database = await freshDatabase();
    const open = () => openPostgresStore({ url: database.url, prepare: true, mode: "test", readers: 2 });
    const stores = [await open(), await open()] as const;
    const account = await openAccount(stores[0], CREDITS);
    const acknowledged: AdmitGeneration[] = [];
    let isOver = false;
    const stream = async (store: Store): Promise<void> => {
      while (!isOver) {
        const mutations = Array.from({ length: 5 }, () => admitMutation(account, { inProgressLimit: 10_000_000 }));
        for (const [i, outcome] of (await store.commit(mutations)).entries()) {
          const mutation = mutations[i];
          if (outcome.kind !== "admitted" || !mutation) throw new Error(`a submission was ${outcome.kind}`);
          acknowledged.push(mutation);
        }
      }
    };
    const streams = stores.map(stream);
    const counts: number[] = [];
    const going = Promise.all(streams);
    going.catch(() => undefined);
    for (let round = 0; round < 3; round += 1) {
      await Bun.sleep(300);
      await database.server.kill();
      counts.push(acknowledged.length);
      // Other tests need the server, whatever the result of this one.
      await database.server.start();
      await Bun.sleep(1500);
    }
    isOver = true;
    await going;
    counts.push(acknowledged.length);
    expect(counts).toEqual([...new Set(counts)].sort((a, b) => a - b));
    const there = new Set((await Promise.all(stores.map((store) => store.unfinished(0, 1e6)))).flat().map(({ id }) => id));
    expect(acknowledged.filter(({ id }) => !there.has(id))).toEqual([]);
    expect(await balance(stores[1], account)).toEqual([
      CREDITS - acknowledged.length * PRICES.c,
      acknowledged.length * PRICES.c,
      0,
      acknowledged.length,
    ]);
    expect(await violations(stores[0])).toEqual([]);
    for (const store of stores) await store.close();
  }, 90_000);
});
