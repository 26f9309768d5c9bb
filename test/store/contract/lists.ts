// Store contract of generation lists: order, filters, pages, and rows that no filter has to examine.
import { expect, test } from "bun:test";
import { generationId, generationSeqAt, newId } from "../../../src/domain/ids.ts";
import type { GenerationStatus } from "../../../src/domain/types.ts";
import type { GenerationsQuery } from "../../../src/store/store.ts";
import type { Stage } from "../conformance.ts";
import {
  type Account,
  admit,
  capturedMutation,
  commitOne,
  NOW_MS,
  openAccount,
  releasedMutation,
  startedMutation,
  submittedAt,
  topUp,
} from "../fixture.ts";

const NO_FILTER = { fromMs: null, toMs: null, status: null, models: null, keyId: null, from: null } as const;
const MODELS = ["vidmodel-2.0", "vidmodel-2.0-fast", "vidmodel-2.0-mini"] as const;
const STATUSES: readonly GenerationStatus[] = ["queued", "running", "succeeded", "failed"];
type Made = { id: string; seq: number; model: string; status: GenerationStatus; createdAtMs: number; keySeq: number };

export const listPromises = (stage: Stage): void => {
  const end = async (mutation: Awaited<ReturnType<typeof admit>>, status: GenerationStatus) => {
    const { store } = stage;
    const at = { atMs: mutation.createdAtMs + 500 };
    if (status === "failed") await store.commit([releasedMutation(mutation.seq, 1, at)]);
    if (status === "running" || status === "succeeded") await store.commit([{ ...startedMutation(mutation), ...at }]);
    if (status === "succeeded") await store.commit([{ ...capturedMutation(mutation.seq, 2, 1, 75), ...at }]);
  };
  const makeOne = async (account: Account, n: number, status: GenerationStatus, keySeq = account.keySeq): Promise<Made> => {
    const createdAtMs = NOW_MS + n * 1000;
    const model = MODELS[n % MODELS.length] ?? "";
    const seq = generationSeqAt(createdAtMs) + account.seq;
    const mutation = await admit(stage.store, account, {
      ...submittedAt(createdAtMs),
      seq,
      id: generationId(seq),
      model,
      keySeq,
    });
    await end(mutation, status);
    return { id: mutation.id, seq: mutation.seq, model, status, createdAtMs, keySeq };
  };
  const otherKey = async (account: Account): Promise<{ id: string; seq: number }> => {
    const id = newId("key");
    const made = await commitOne(stage.store, {
      ...{ mutation: "create-key", id, accountSeq: account.seq, scope: "generate", name: "ci", hash: "b".repeat(64) },
      ...{ start: "gr_test_efgh", atMs: NOW_MS },
    });
    return { id, seq: made.kind === "done" ? (made.seq ?? 0) : 0 };
  };
  /** 24 generations of each of two accounts, one after another, of every status and model and of two keys. */
  const live = async () => {
    const { store, account } = stage;
    await topUp(store, account.seq, 100_000);
    const other = await openAccount(store, 100_000);
    const key = await otherKey(account);
    const own: Made[] = [];
    for (let n = 0; n < 24; n += 1) {
      const status = STATUSES[(n * 7) % STATUSES.length] ?? "queued";
      own.push(await makeOne(account, n, status, n % 5 === 0 ? key.seq : account.keySeq));
      await makeOne(other, n, status);
    }
    return { own: own.toReversed(), key };
  };
  const page = (query: Partial<GenerationsQuery>) =>
    stage.store.generationsStep({
      ...{ ...NO_FILTER, accountSeq: stage.account.seq, limit: 100, maxExamined: 10_000 },
      ...query,
    });
  /** All pages of `limit`, continued after the last generation of each page. */
  const pages = async (query: Partial<GenerationsQuery>, limit: number): Promise<string[]> => {
    const ids: string[] = [];
    for (let afterSeq: number | undefined; ; ) {
      const { found } = await page({ ...query, limit, ...(afterSeq === undefined ? {} : { afterSeq }) });
      ids.push(...found.map(({ record }) => record.id));
      if (found.length < limit) return ids;
      afterSeq = found.at(-1)?.record.seq;
    }
  };

  test("lists exactly the generations of an account that match every filter, newest first, in pages of any size", async () => {
    const { own, key } = await live();
    const middleMs = own[10]?.createdAtMs ?? 0;
    const filters: [query: Partial<GenerationsQuery>, matches: (one: Made) => boolean][] = [
      [{}, () => true],
      ...STATUSES.map((status): [Partial<GenerationsQuery>, (one: Made) => boolean] => [
        { status },
        (one) => one.status === status,
      ]),
      ...MODELS.map((model): [Partial<GenerationsQuery>, (one: Made) => boolean] => [
        { models: [model] },
        (one) => one.model === model,
      ]),
      [{ models: ["vidmodel-2.0"], status: "failed" }, ({ model, status }) => model === "vidmodel-2.0" && status === "failed"],
      [{ models: ["vidmodel-2.0"], status: "queued" }, ({ model, status }) => model === "vidmodel-2.0" && status === "queued"],
      [{ keyId: key.id }, ({ keySeq }) => keySeq === key.seq],
      [{ keyId: key.id, status: "running" }, ({ keySeq, status }) => keySeq === key.seq && status === "running"],
      [{ fromMs: middleMs }, ({ createdAtMs }) => createdAtMs >= middleMs],
      [{ toMs: middleMs }, ({ createdAtMs }) => createdAtMs < middleMs],
      [{ toMs: middleMs, status: "succeeded" }, ({ createdAtMs, status }) => createdAtMs < middleMs && status === "succeeded"],
      [{ models: ["vidmodel-2.0-none"] }, () => false],
    ];
    for (const [query, matches] of filters) {
      const expected = own.filter(matches).map(({ id }) => id);
      for (const limit of [1, 3, 100]) expect([query, limit, await pages(query, limit)]).toEqual([query, limit, expected]);
    }
  });

  test("continues a step of any length where it stopped, so that bounded steps find everything", async () => {
    const { own } = await live();
    for (const query of [{}, { status: "failed" }, { models: ["vidmodel-2.0"] }] as const) {
      const ids: string[] = [];
      for (let from: number | null = null; ; ) {
        const step = await page({ ...query, from, limit: 2, maxExamined: 3 });
        expect(step.examined).toBeLessThanOrEqual(3);
        ids.push(...step.found.map(({ record }) => record.id));
        from = step.next;
        if (from === null) break;
      }
      expect(ids).toEqual(
        own
          .filter((one) => Object.entries(query).every(([, value]) => [one.status, one.model].includes(String(value))))
          .map(({ id }) => id),
      );
    }
  });

  test("examines no other rows for a rare status or model", async () => {
    const { account } = stage;
    await topUp(stage.store, account.seq, 100_000);
    const rare = {
      failed: await makeOne(account, 0, "failed"),
      running: await makeOne(account, 3, "running"),
      queued: await makeOne(account, 6, "queued"),
    };
    const model = await makeOne(account, 1, "succeeded");
    for (let n = 0; n < 40; n += 1) await makeOne(account, 9 + n * 3, "succeeded");
    for (const [status, { id }] of Object.entries(rare)) {
      const step = await page({ status: status as GenerationStatus, limit: 10, maxExamined: 4 });
      expect([status, step.found.map(({ record }) => record.id), step.next]).toEqual([status, [id], null]);
    }
    const step = await page({ models: [model.model], limit: 10, maxExamined: 2 });
    expect([step.found.map(({ record }) => record.id), step.examined, step.next]).toEqual([[model.id], 1, null]);
    const { found, next } = await page({ status: "succeeded", limit: 10, maxExamined: 10 });
    expect([found.length, next === null]).toEqual([10, false]);
  });
};
