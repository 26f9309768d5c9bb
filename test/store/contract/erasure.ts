// Contract of erasures: what a person wrote is gone, and money, histories and idempotency keys stay.
import { expect, test } from "bun:test";
import { fingerprintOf } from "../../../src/domain/idempotency.ts";
import type { AdmitGeneration, EraseGeneration } from "../../../src/domain/mutations.ts";
import type { AttemptChange } from "../../../src/domain/transition.ts";
import type { InputFile } from "../../../src/domain/types.ts";
import type { GenerationsQuery, Store } from "../../../src/store/store.ts";
import type { Stage } from "../conformance.ts";
import {
  type Account,
  admit,
  admitMutation,
  capturedMutation,
  commitOne,
  NOW_MS,
  PRICES,
  releasedMutation,
  startedMutation,
  succeed,
  topUp,
  violations,
} from "../fixture.ts";
import { inputOf, upload } from "../uploads.ts";

const WORD = "zanzibar";
const LABELS = { metadata: { project: `${WORD} film` }, endUser: `${WORD}@example.com` };
const BODY = JSON.stringify({ model: "vidmodel-2.0", input: { prompt: `a ${WORD} fox` } });
const ALL: GenerationsQuery = {
  ...{ accountSeq: null, fromMs: null, toMs: null, status: null, models: null, keyId: null, from: null },
  ...{ limit: 10, maxExamined: 100 },
};
const ERASED_AT_MS = NOW_MS + 50_000;
/** Number of deletions of the long test. */
const COUNT = Number(process.env.ERASURES ?? 300);
const BATCH = 50;
const LONGEST_MS = 600_000;

/** The erasure of a generation, as a client requests it. */
export const erasure = (account: Account, seq: number, changes: Partial<EraseGeneration> = {}): EraseGeneration => ({
  ...{ mutation: "erase-generation", seq, accountSeq: account.seq, withFiles: true, atMs: ERASED_AT_MS },
  ...changes,
});

/** A failed generation whose provider quoted the prompt, and whose lost attempt is still watched. */
const failWithWords = async (store: Store, account: Account, changes: Partial<AdmitGeneration> = {}) => {
  const mutation = await admit(store, account, { body: BODY, labels: LABELS, ...changes });
  const begun = startedMutation(mutation);
  const sent = begun.attemptChanges.map((change) => (change.request ? { ...change, request: `{"prompt":"${WORD}"}` } : change));
  const failure = { class: "refused_input", detail: `the prompt ${WORD} is not allowed` } as const;
  await store.commit([
    { ...begun, attemptChanges: sent, event: { type: "rejected", n: 1, failure } },
    releasedMutation(mutation.seq, 2, {
      event: { type: "announced", n: 1, results: [{ url: `https://files.example/${WORD}.png`, mime: "image/png" }] },
      attemptChanges: [{ n: 1, state: "lost", failure, watchUntilMs: NOW_MS + 900_000 }],
    }),
  ]);
  return mutation;
};

/** Everything that the store returns about a generation. */
const textsOf = async (store: Store, seq: number): Promise<string> =>
  JSON.stringify([
    await store.generationBySeq(seq),
    await store.inputOf(seq),
    await store.attemptsOf(seq),
    await store.eventsOf(seq),
    await store.pinsOf(seq),
    await store.inputFilesOf(seq),
    (await store.generationsStep(ALL)).found,
  ]);

/** Ends generations of the account, every other one charged. @returns their numbers */
const endMany = async ({ store, account }: Stage, count: number): Promise<number[]> => {
  await topUp(store, account.seq, count * PRICES.c);
  const seqs: number[] = [];
  while (seqs.length < count) {
    const batch = Array.from({ length: Math.min(BATCH, count - seqs.length) }, (_, at) =>
      admitMutation(account, { body: BODY, labels: LABELS, idempotencyKey: `order ${seqs.length + at}` }),
    );
    const failure = { class: "job_failed", detail: `no ${WORD}` } as const;
    const ends = batch.map(({ seq }, at) =>
      at % 2 === 0
        ? capturedMutation(seq, 2, 1, PRICES.a)
        : releasedMutation(seq, 2, { attemptChanges: [{ n: 1, state: "failed", failure }] }),
    );
    for (const mutations of [batch, batch.map((each) => startedMutation(each)), ends])
      expect((await store.commit(mutations)).filter(({ kind }) => kind !== "admitted" && kind !== "stepped")).toEqual([]);
    seqs.push(...batch.map(({ seq }) => seq));
  }
  return seqs;
};

export const erasurePromises = (stage: Stage): void => {
  test("erases request, labels and texts of providers, and keeps events, attempts and money", async () => {
    const { store, account, balance } = stage;
    const { seq } = await failWithWords(store, account);
    expect((await textsOf(store, seq)).split(WORD).length).toBeGreaterThan(8);
    const [before, transfers] = [await balance(), await store.transfersOf(seq)];
    expect(await commitOne(store, erasure(account, seq))).toEqual({ kind: "done", count: 1 });
    expect(await textsOf(store, seq)).not.toContain(WORD);
    expect(await store.generationBySeq(seq)).toMatchObject({ status: "failed", erasedAtMs: ERASED_AT_MS, labels: null });
    expect(await store.inputOf(seq)).toEqual({ raw: {}, filled: {} });
    expect((await store.eventsOf(seq)).map(({ event }) => event)).toEqual([
      { type: "rejected", n: 1, failure: { class: "refused_input", detail: "" } },
      { type: "announced", n: 1, results: [{ url: "", mime: "image/png" }] },
    ]);
    expect(await store.attempt(seq, 1)).toMatchObject({
      ...{ state: "lost", request: "", results: null, failure: { class: "refused_input", detail: "" } },
      // The provider is still asked, because it may have billed the attempt.
      ...{ watchUntilMs: NOW_MS + 900_000, job: { jobId: `job-${seq}-1` } },
    });
    expect([await balance(), await store.transfersOf(seq)]).toEqual([before, transfers]);
  });

  test("ends the watch over an attempt whose job is not known, because it is looked up by the input", async () => {
    const { store, account } = stage;
    const mutation = await admit(store, account);
    const begun = startedMutation(mutation);
    const lost = { n: 1, state: "lost", watchUntilMs: NOW_MS + 900_000 } as const;
    await store.commit([
      { ...begun, attemptChanges: begun.attemptChanges.slice(0, 2) },
      releasedMutation(mutation.seq, 2, { attemptChanges: [lost] }),
    ]);
    expect(await store.watchedAttempts(0, 10)).toMatchObject([{ seq: mutation.seq, job: null }]);
    await store.commit([erasure(account, mutation.seq)]);
    expect(await store.watchedAttempts(0, 10)).toEqual([]);
  });

  test("finds an erased generation by none of its metadata, and others by theirs", async () => {
    const { store, account } = stage;
    const erased = await succeed(store, account, { labels: LABELS });
    const kept = await succeed(store, account, { labels: LABELS });
    const query: GenerationsQuery = { ...ALL, accountSeq: account.seq, metadata: [["project", `${WORD} film`]] };
    const found = async () => (await store.generationsStep(query)).found.map(({ record }) => record.seq);
    expect(await found()).toEqual([kept.seq, erased.seq]);
    await store.commit([erasure(account, erased.seq)]);
    expect(await found()).toEqual([kept.seq]);
  });

  test("changes nothing when it is repeated", async () => {
    const { store, account } = stage;
    const { seq } = await succeed(store, account);
    const first = erasure(account, seq);
    expect(await commitOne(store, first)).toEqual({ kind: "done", count: 1 });
    const before = await store.generationBySeq(seq);
    expect(await commitOne(store, { ...first, atMs: ERASED_AT_MS + 1 })).toEqual({ kind: "done", count: 0 });
    expect(await store.generationBySeq(seq)).toEqual(before);
  });

  test("rejects a generation that has not ended, of another account, and of another key", async () => {
    const { store, account } = stage;
    const queued = await admit(store, account);
    const running = await admit(store, account);
    await store.commit([startedMutation(running)]);
    const ended = await succeed(store, account);
    for (const [refused, reason] of [
      [erasure(account, queued.seq), `generation ${queued.seq} has not ended`],
      [erasure(account, running.seq), `generation ${running.seq} has not ended`],
      [erasure(account, ended.seq, { accountSeq: account.seq + 1 }), `the account or the key has no generation ${ended.seq}`],
      [erasure(account, ended.seq, { keySeq: account.keySeq + 1 }), `the account or the key has no generation ${ended.seq}`],
      [erasure(account, ended.seq + 1), `the account or the key has no generation ${ended.seq + 1}`],
    ] as const)
      expect(await commitOne(store, refused)).toEqual({ kind: "refused", reason });
    for (const { seq } of [queued, running, ended]) expect(await store.generationBySeq(seq)).toMatchObject({ erasedAtMs: null });
    expect(await commitOne(store, erasure(account, ended.seq, { keySeq: account.keySeq }))).toMatchObject({ count: 1 });
  });

  test("replays the idempotency key of an erased generation, and rejects another request under it", async () => {
    const { store, account } = stage;
    const idempotencyKey = "erased";
    const { seq } = await succeed(store, account, { body: BODY, idempotencyKey });
    expect(await store.generationByKey(account.seq, idempotencyKey)).toMatchObject({ body: BODY, fingerprint: null });
    await store.commit([erasure(account, seq)]);
    const again = { body: BODY, idempotencyKey };
    expect(await commitOne(store, admitMutation(account, again))).toMatchObject({ kind: "replayed", record: { seq } });
    const other = { ...again, body: '{"model":"x","input":{}}' };
    expect(await commitOne(store, admitMutation(account, other))).toEqual({ kind: "idempotency_conflict" });
    expect(await store.generationByKey(account.seq, idempotencyKey)).toMatchObject({
      body: "{}",
      fingerprint: fingerprintOf(BODY),
    });
  });

  test("stores no text and no address of a result that arrives after the erasure", async () => {
    const { store, account } = stage;
    const { seq } = await failWithWords(store, account);
    await store.commit([erasure(account, seq)]);
    const mark = (change: Omit<AttemptChange, "n">) =>
      commitOne(store, { mutation: "mark-attempt", seq, atMs: ERASED_AT_MS + 1, change: { n: 1, ...change } });
    expect(await mark({ failure: { class: "job_failed", detail: `no ${WORD}` } })).toEqual({ kind: "done" });
    expect(await store.attempt(seq, 1)).toMatchObject({ failure: { class: "job_failed", detail: "" } });
    const results = [{ url: `https://files.example/${WORD}.png` }];
    expect(await mark({ state: "late", results, watchUntilMs: null })).toEqual({ kind: "done" });
    expect(await store.attempt(seq, 1)).toMatchObject({ state: "late", results: null, watchUntilMs: null });
    expect(await textsOf(store, seq)).not.toContain(WORD);
  });

  test("expires the files at once, and lists them for deletion until they are deleted", async () => {
    const { store, account } = stage;
    const { seq, id } = await succeed(store, account);
    await store.commit([erasure(account, seq)]);
    expect(await store.generationBySeq(seq)).toMatchObject({ filesExpiredAtMs: ERASED_AT_MS });
    expect(await store.keptOutputs(0, NOW_MS, 10)).toEqual([]);
    expect(await store.pendingFileRemovals(10)).toEqual([{ seq, id }]);
    await store.commit([{ mutation: "finish-file-removal", seq }]);
    expect(await store.pendingFileRemovals(10)).toEqual([]);
    await store.commit([erasure(account, seq)]);
    expect(await store.pendingFileRemovals(10)).toEqual([]);
  });

  test("keeps the files of an erasure by retention, until the client deletes the generation", async () => {
    const { store, account } = stage;
    const { seq, id } = await succeed(store, account);
    await store.commit([erasure(account, seq, { withFiles: false })]);
    expect(await store.generationBySeq(seq)).toMatchObject({ erasedAtMs: ERASED_AT_MS, filesExpiredAtMs: null });
    expect(await store.pendingFileRemovals(10)).toEqual([]);
    expect(await commitOne(store, erasure(account, seq))).toEqual({ kind: "done", count: 0 });
    expect(await store.generationBySeq(seq)).toMatchObject({ filesExpiredAtMs: ERASED_AT_MS });
    expect(await store.pendingFileRemovals(10)).toEqual([{ seq, id }]);
  });

  test("keeps result files that an open generation takes as inputs until it has ended", async () => {
    const { store, account } = stage;
    const { seq, id } = await succeed(store, account);
    const input: InputFile = {
      ...({ n: 1, field: "input.image_url", kind: "image", fileSeq: null, sourceSeq: seq, storageId: id, fileNo: 1 } as const),
      ...{ sha256: "a".repeat(64), bytes: 1, mime: "image/png" },
    };
    const taker = await admit(store, account, { files: { inputs: [input], expireAtMs: 0 } });
    await store.commit([erasure(account, seq)]);
    const pending = async () => [await store.pendingFileRemovals(10), await store.isFileRemovalPending(seq)];
    expect(await pending()).toEqual([[], false]);
    await store.commit([releasedMutation(taker.seq, 1)]);
    expect(await pending()).toEqual([[{ seq, id }], true]);
  });

  test("erases the names of uploaded inputs, and keeps the uploaded files", async () => {
    const { store, account } = stage;
    const file = await upload(store, account.seq, "input");
    const { seq } = await admit(store, account, { files: { inputs: [inputOf(file)], expireAtMs: 0 } });
    await store.commit([releasedMutation(seq, 1), erasure(account, seq)]);
    expect(await store.inputFilesOf(seq)).toEqual([]);
    expect(await store.uploadedFile(file.id)).toMatchObject({ id: file.id });
  });

  test(
    `verifies after ${COUNT} deletions in any order, with the money and the transfers of before (ERASURES sets their number)`,
    async () => {
      const { store, account, balance } = stage;
      const seqs = await endMany(stage, COUNT);
      const before = { balance: await balance(), transfers: await store.transfers(account.id, null, 5 * COUNT) };
      // Every third twice, as by a client that repeats its request, and from the middle outwards.
      const order = seqs
        .toSorted((a, b) => (a % 997) - (b % 997) || a - b)
        .flatMap((seq, at) => (at % 3 === 0 ? [seq, seq] : [seq]));
      let erased = 0;
      for (let at = 0; at < order.length; at += BATCH)
        for (const outcome of await store.commit(order.slice(at, at + BATCH).map((seq) => erasure(account, seq)))) {
          expect(outcome).toMatchObject({ kind: "done" });
          erased += outcome.kind === "done" ? (outcome.count ?? 0) : 0;
        }
      expect(erased).toBe(COUNT);
      expect(await violations(store)).toEqual([]);
      expect({ balance: await balance(), transfers: await store.transfers(account.id, null, 5 * COUNT) }).toEqual(before);
      for (const seq of [seqs[0], seqs[COUNT >> 1], seqs[COUNT - 1]]) expect(await textsOf(store, seq ?? 0)).not.toContain(WORD);
      const byLabel = { ...ALL, accountSeq: account.seq, metadata: [["project", `${WORD} film`]] } as GenerationsQuery;
      expect((await store.generationsStep(byLabel)).found).toEqual([]);
    },
    LONGEST_MS,
  );

  describeRetention(stage);
};

const describeRetention = (stage: Stage): void => {
  const dueAt = async (store: Store, nowMs: number, service: number | "forever") =>
    (await store.dueErasures({ nowMs, service, fromAccount: 0, limit: 100 })).due.map(({ seq }) => seq);

  test("lists ended generations whose texts are past the retention of their account", async () => {
    const { store, account } = stage;
    const { seq } = await succeed(store, account);
    await admit(store, account);
    const endedAtMs = (await store.generationBySeq(seq))?.completedAtMs ?? 0;
    expect(await dueAt(store, endedAtMs + 1e12, "forever")).toEqual([]);
    expect([await dueAt(store, endedAtMs + 9_999, 10), await dueAt(store, endedAtMs + 10_000, 10)]).toEqual([[], [seq]]);
    expect(await dueAt(store, endedAtMs, 0)).toEqual([seq]);
    const set = (promptRetentionS: number | "forever" | null) =>
      store.commit([{ mutation: "set-account", accountSeq: account.seq, promptRetentionS }]);
    await set(20);
    expect((await store.account(account.id))?.promptRetentionS).toBe(20);
    expect([await dueAt(store, endedAtMs + 19_999, 0), await dueAt(store, endedAtMs + 20_000, "forever")]).toEqual([[], [seq]]);
    await set("forever");
    expect((await store.account(account.id))?.promptRetentionS).toBe("forever");
    expect(await dueAt(store, endedAtMs + 1e12, 0)).toEqual([]);
    await set(null);
    expect((await store.account(account.id))?.promptRetentionS).toBeNull();
    expect(await dueAt(store, endedAtMs, 0)).toEqual([seq]);
    await store.commit([erasure(account, seq, { withFiles: false })]);
    expect(await dueAt(store, endedAtMs + 1e12, 0)).toEqual([]);
  });

  test("lists at most as many as requested, and continues after the last account of a page", async () => {
    const { store, account } = stage;
    const seqs = [];
    for (let n = 0; n < 3; n += 1) seqs.push((await succeed(store, account)).seq);
    const request = { nowMs: NOW_MS * 2, service: 0, fromAccount: 0, limit: 2 } as const;
    expect((await store.dueErasures(request)).due).toHaveLength(2);
    const { due, nextAccount } = await store.dueErasures({ ...request, limit: 5 });
    expect([due.map(({ seq }) => seq).sort(), nextAccount]).toEqual([seqs, null]);
    const accounts = Array.from(
      { length: 501 },
      (_, at) => ({ mutation: "create-account", id: `acc_${at}`, name: "", atMs: 0 }) as const,
    );
    await store.commit(accounts);
    const page = await store.dueErasures({ ...request, limit: 5 });
    expect(page.nextAccount).toBeGreaterThan(account.seq);
    const rest = await store.dueErasures({ ...request, fromAccount: page.nextAccount ?? 0, limit: 5 });
    expect([rest.due, rest.nextAccount]).toEqual([[], null]);
  });
};
