// The transfers of an account, read forward in pages: complete, in order, and without a list of all of them in memory.
import { heapStats } from "bun:jsc";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createCursors } from "../../src/domain/cursors.ts";
import { newId } from "../../src/domain/ids.ts";
import { WEBHOOK_EVENTS } from "../../src/domain/webhooks.ts";
import { createAccountEvents } from "../../src/event-streams/account-events.ts";
import { createPositions } from "../../src/event-streams/positions.ts";
import { MAX_BEHIND, newestTransferNo, TransferPages } from "../../src/event-streams/transfer-pages.ts";
import type { Store } from "../../src/store/store.ts";
import { NOW_MS } from "../store/fixture.ts";
import { openHere } from "../store/open-store.ts";

const PAGE = 100;
const STREAMS = 10;

let store: Store;
const accountId = newId("acc");
beforeAll(async () => {
  store = await openHere({ path: ":memory:", mode: "test", nowMs: NOW_MS });
  await store.commit([{ mutation: "create-account", id: accountId, name: "tenant", atMs: NOW_MS }]);
});
afterAll(() => store.close());

const account = async () => ({ accountId, accountSeq: (await store.account(accountId))?.seq ?? 0 });
const addTransfers = async (count: number): Promise<void> => {
  const { accountSeq } = await account();
  const topup = { mutation: "credit", accountSeq, kind: "topup", credits: 1, note: "", reference: null, atMs: NOW_MS } as const;
  for (let left = count; left > 0; left -= 500) await store.commit(Array.from({ length: Math.min(left, 500) }, () => topup));
};
const newest = (): Promise<number> => newestTransferNo(store, accountId);

test("every page has the transfers that follow the one before, for any distance and while further ones are added", async () => {
  for (const distance of [0, 1, 19, 20, 21, 99, 100, 101, 119, 200, 201, 620, 1301]) {
    const from = await newest();
    await addTransfers(distance);
    const pages = new TransferPages(store, accountId);
    const read: number[] = [];
    let added = 0;
    for (let hasMore = true; hasMore; ) {
      const page = await pages.after(from + read.length);
      expect(page.transfers.length).toBeLessThanOrEqual(PAGE);
      read.push(...page.transfers.map(({ chainSeq }) => chainSeq));
      ({ hasMore } = page);
      if (hasMore && added < 450) {
        added += 150;
        await addTransfers(150);
      }
    }
    expect(read).toEqual(Array.from({ length: distance + added }, (_, at) => from + at + 1));
    expect(await pages.after(from + read.length)).toEqual({ transfers: [], hasMore: false });
  }
});

test("a page whose read failed is read again", async () => {
  const from = await newest();
  await addTransfers(250);
  let isFailing = false;
  const transfers: Store["transfers"] = (...query) =>
    isFailing ? Promise.reject(new Error("no connection")) : store.transfers(...query);
  const pages = new TransferPages({ transfers }, accountId);
  const numbers = async (after: number) => (await pages.after(after)).transfers.map(({ chainSeq }) => chainSeq);
  expect((await numbers(from)).at(-1)).toBe(from + PAGE);
  isFailing = true;
  await expect(numbers(from + PAGE)).rejects.toThrow("no connection");
  isFailing = false;
  expect((await numbers(from + PAGE)).at(0)).toBe(from + PAGE + 1);
});

test("streams that are 10,000 transfers behind keep no list of them in memory", async () => {
  const transferNo = await newest();
  await addTransfers(MAX_BEHIND);
  const positions = createPositions(createCursors("secret"));
  const deps = { reads: store, positions, nowMs: () => NOW_MS, isShared: false, resourceOf: () => "{}", lowBalanceCredits: 0 };
  const objects = (): number => {
    Bun.gc(true);
    return heapStats().objectCount;
  };
  const open = async () => {
    const position = { transferNo, start: { atMs: 0, seq: 0 } };
    const stream = await createAccountEvents(deps, await account(), new Set(WEBHOOK_EVENTS), position);
    expect((await stream.take()).hasMore).toBe(true);
    return stream;
  };
  const streams = [await open()];
  const before = objects();
  while (streams.length < STREAMS) streams.push(await open());
  expect(objects() - before).toBeLessThan(MAX_BEHIND);
  let events = 0;
  for (let hasMore = true; hasMore; events += 1) ({ hasMore = false } = (await streams[0]?.take()) ?? {});
  expect(events).toBe(MAX_BEHIND / PAGE - 1);
  await addTransfers(MAX_BEHIND + 1);
  await expect(streams[0]?.take()).rejects.toThrow("too slowly");
});
