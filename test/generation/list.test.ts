// Pages of a list whose filter matches few rows: bounded searches, and cursors that continue them.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createCursors } from "../../src/domain/cursors.ts";
import { generationId, generationSeqAt } from "../../src/domain/ids.ts";
import { createListGenerations, type ListRequest } from "../../src/generations/list.ts";
import type { GenerationsQuery, Store } from "../../src/store/store.ts";
import { type Account, admitMutation, NOW_MS, openAccount, submittedAt, topUp } from "../store/fixture.ts";
import { openHere } from "../store/open-store.ts";

const COUNT = 10_500;
let store: Store;
let account: Account;
let oldest = "";
beforeAll(async () => {
  store = await openHere({ path: ":memory:", mode: "test", nowMs: NOW_MS, pragmas: {}, isVerified: () => true });
  account = await openAccount(store, 0);
  await topUp(store, account.seq, 10_000_000);
  // One in a second, numbered by its time.
  const all = Array.from({ length: COUNT }, (_, n) => {
    const createdAtMs = NOW_MS + n * 1000;
    const seq = generationSeqAt(createdAtMs);
    return admitMutation(account, { ...submittedAt(createdAtMs), seq, id: generationId(seq), inProgressLimit: COUNT });
  });
  oldest = all[0]?.id ?? "";
  for (let at = 0; at < COUNT; at += 500)
    for (const { kind } of await store.commit(all.slice(at, at + 500))) expect(kind).toBe("admitted");
});
afterAll(() => store.close());

const callerOf = (more: Partial<ListRequest["caller"]> = {}): ListRequest["caller"] => ({
  ...{ keySeq: account.keySeq, keyId: "key_none", scope: "read", expiresAtMs: null, models: null, isLimited: true },
  ...{ accountSeq: account.seq, accountId: account.id, paused: false, burstPerS: null, inProgressLimit: null },
  ...more,
});
const request = (more: Partial<ListRequest> = {}): ListRequest => ({
  ...{ caller: callerOf(), limit: 20, after: null, status: null, model: null, createdAfterMs: null, createdBeforeMs: null },
  metadata: [],
  ...more,
});

test("examines at most 10,000 rows for a page, and continues behind them with a cursor that only this list accepts", async () => {
  const queries: GenerationsQuery[] = [];
  let examined = 0;
  const reads = {
    findGeneration: store.findGeneration,
    snapshotOf: store.snapshotOf,
    generationsStep: async (query: GenerationsQuery) => {
      queries.push(query);
      const step = await store.generationsStep(query);
      examined += step.examined;
      return step;
    },
  };
  const list = createListGenerations({ reads, cursors: createCursors("ab".repeat(32)), breathe: async () => undefined });
  const first = await list(request());
  expect([first.generations, examined]).toEqual([[], 10_000]);
  expect(first.next).toStartWith("cur_");
  const second = await list(request({ after: first.next }));
  expect([second.generations, second.next]).toEqual([[], null]);
  for (const other of [request({ status: "failed" }), request({ caller: callerOf({ keySeq: 7 }) })])
    expect(list({ ...other, after: first.next })).rejects.toThrow("after: must be");
  // A bound of the time is found without examining later rows.
  const whole = request({ caller: callerOf({ isLimited: false }), createdBeforeMs: NOW_MS + 1 });
  expect((await list(whole)).generations.map(({ record }) => record.id)).toEqual([oldest]);
});
