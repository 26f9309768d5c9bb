// Store contract of admission: keys, limits, balances and idempotency.
import { expect, test } from "bun:test";
import type { Stage } from "../conformance.ts";
import { admit, admitMutation, commitOne, NOW_MS, openAccount, succeed, topUp } from "../fixture.ts";

export const admissionPromises = (stage: Stage): void => {
  test("holds the reserve of an accepted submission, and reads back the record that the mutation returned", async () => {
    const { store, account, balance } = stage;
    const mutation = admitMutation(account, { idempotencyKey: "k1" });
    const outcome = await commitOne(store, mutation);
    if (outcome.kind !== "admitted") throw new Error(outcome.kind);
    expect(outcome.record).toMatchObject({
      id: mutation.id,
      status: "queued",
      quotedCredits: 75,
      reservedCredits: 110,
      attempts: 0,
    });
    expect(await store.generationById(mutation.id, account.seq)).toEqual(outcome.record);
    expect(await store.generationBySeq(mutation.seq)).toEqual(outcome.record);
    expect(await store.generationByKey(account.seq, "k1")).toEqual({
      record: outcome.record,
      body: mutation.body,
      fingerprint: null,
    });
    const [made] = await store.keys(account.id);
    const key = { id: made?.id ?? "", name: made?.name ?? "", start: made?.start ?? "", isPlayground: false };
    const more = { accountId: account.id, key, idempotencyKey: "k1" };
    expect(await store.findGeneration(mutation.id)).toEqual({ ...outcome.record, ...more });
    expect(await balance()).toEqual([890, 110, 0, 1]);
    expect(await store.unfinished(0, 10)).toEqual([
      {
        seq: mutation.seq,
        id: mutation.id,
        accountSeq: account.seq,
        status: "queued",
        createdAtMs: NOW_MS,
        waitEndsAtMs: mutation.waitEndsAtMs,
        plan: mutation.plan,
        version: 0,
        snapshot: null,
        awaitsPins: false,
        deadline: { kind: "start", n: 0, dueAtMs: mutation.waitEndsAtMs },
      },
    ]);
  });

  test.each([
    ["defaults were added", { prompt: "x" }, { duration: 5, audio: false }],
    ["no defaults were added", { prompt: "x", image_urls: ["https://a.example/1"] }, {}],
    ["the input contains line feeds and quotes", { prompt: 'two\nlines "quoted" \\ 雪 \u2028' }, { n: [] }],
  ])("returns the input byte for byte, with its added defaults, when %s", async (_name, raw, added) => {
    const { store, account } = stage;
    const mutation = await admit(store, account, { body: JSON.stringify({ input: raw }), added });
    expect(JSON.stringify(await store.inputOf(mutation.seq))).toBe(JSON.stringify({ raw, filled: { ...raw, ...added } }));
  });

  test.each([
    ["metadata", { metadata: { order: "7", "customer.名": 'line\n"quoted"' }, endUser: null }],
    ["an end user", { metadata: null, endUser: "Zoë" }],
    ["both", { metadata: { order: "7" }, endUser: "ada" }],
    ["empty metadata", { metadata: {}, endUser: null }],
  ])("keeps %s through every state, and returns them to a replay", async (_name, labels) => {
    const { store, account } = stage;
    const mutation = await admit(store, account, { idempotencyKey: "k", labels });
    expect(await store.generationById(mutation.id, account.seq)).toMatchObject({ labels });
    const replayed = await commitOne(store, admitMutation(account, { idempotencyKey: "k" }));
    expect(replayed).toMatchObject({ kind: "replayed", record: { id: mutation.id, labels } });
    const ended = await succeed(store, account, { labels });
    expect(await store.generationBySeq(ended.seq)).toMatchObject({ status: "succeeded", labels });
    expect(await store.generationBySeq((await admit(store, account)).seq)).toMatchObject({ labels: null });
  });

  test("replays an idempotency key with the same body, rejects another body, and separates the keys of accounts", async () => {
    const { store, account, balance } = stage;
    const first = await admit(store, account, { idempotencyKey: "k" });
    expect(await commitOne(store, admitMutation(account, { idempotencyKey: "k" }))).toMatchObject({
      kind: "replayed",
      record: { id: first.id },
    });
    expect(
      await commitOne(store, admitMutation(account, { idempotencyKey: "k", body: '{"input":{"prompt":"another"}}' })),
    ).toEqual({
      kind: "idempotency_conflict",
    });
    const other = await openAccount(store, 1000);
    expect((await commitOne(store, admitMutation(other, { idempotencyKey: "k" }))).kind).toBe("admitted");
    expect(await balance()).toEqual([890, 110, 0, 1]);
  });

  test("creates one generation for fifty submissions with one idempotency key in one batch", async () => {
    const { store, account, balance } = stage;
    const outcomes = await store.commit(Array.from({ length: 50 }, () => admitMutation(account, { idempotencyKey: "one" })));
    expect(outcomes.map(({ kind }) => kind)).toEqual(["admitted", ...Array<"replayed">(49).fill("replayed")]);
    expect(await balance()).toEqual([890, 110, 0, 1]);
  });

  test("replays an idempotency key before it checks limits, and does not consume the key of a rejected submission", async () => {
    const { store, account } = stage;
    await admit(store, account, { idempotencyKey: "k" });
    const tight = { inProgressLimit: 1, reservedCredits: 110 };
    expect((await commitOne(store, admitMutation(account, { ...tight, idempotencyKey: "k" }))).kind).toBe("replayed");
    expect(await commitOne(store, admitMutation(account, { ...tight, idempotencyKey: "k2" }))).toEqual({
      kind: "concurrency_limit",
    });
    expect((await commitOne(store, admitMutation(account, { idempotencyKey: "k2" }))).kind).toBe("admitted");
  });

  test("accepts ten of fifty submissions when the balance covers ten, and rejects the others without side effects", async () => {
    const { store } = stage;
    const poor = await openAccount(store, 1100 + 109);
    const outcomes = await store.commit(Array.from({ length: 50 }, () => admitMutation(poor)));
    expect(outcomes.filter(({ kind }) => kind === "admitted")).toHaveLength(10);
    expect(outcomes.slice(10)).toEqual(Array(40).fill({ kind: "insufficient_credits", availableCredits: 109 }));
    expect(await store.account(poor.id)).toMatchObject({ availableCredits: 109, heldCredits: 1100, inProgress: 10 });
  });

  test("reports the limit of generations in progress before an insufficient balance", async () => {
    const { store } = stage;
    const poor = await openAccount(store, 110);
    await admit(store, poor, { inProgressLimit: 1 });
    expect(await commitOne(store, admitMutation(poor, { inProgressLimit: 1 }))).toEqual({ kind: "concurrency_limit" });
    expect(await commitOne(store, admitMutation(poor, { inProgressLimit: 2 }))).toEqual({
      kind: "insufficient_credits",
      availableCredits: 0,
    });
  });

  test("returns unfinished generations in pages, oldest first, when ended generations lie between them", async () => {
    const { store, account } = stage;
    const open: number[] = [];
    await topUp(store, account.seq, 1000);
    for (let i = 0; i < 6; i++) {
      open.push((await admit(store, account)).seq);
      await succeed(store, account);
    }
    const first = await store.unfinished(0, 4);
    const second = await store.unfinished(first.at(-1)?.seq ?? 0, 4);
    expect([...first, ...second].map(({ seq }) => seq)).toEqual(open);
  });

  test("finds a generation only by its complete id and on its own account", async () => {
    const { store, account } = stage;
    const mutation = await admit(store, account);
    const other = await openAccount(store, 0);
    expect(await store.generationById(mutation.id, other.seq)).toBeUndefined();
    const forged = mutation.id.slice(0, -1) + (mutation.id.endsWith("0") ? "1" : "0");
    expect(await store.generationById(forged, account.seq)).toBeUndefined();
    expect(await store.findGeneration(forged)).toBeUndefined();
    expect(await store.generationById("gen_../../etc", account.seq)).toBeUndefined();
  });
};
