// Accepting a submission: keys, limits, balances, and how a generation is found again.
import { expect, test } from "bun:test";
import type { Stage } from "../conformance.ts";
import { admit, admitMutation, commitOne, NOW_MS, openAccount, succeed, topUp } from "../fixture.ts";

export const admissionPromises = (stage: Stage): void => {
  test("an accepted submission holds its reserve and is read back as it was answered", async () => {
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
      fingerprint: mutation.fingerprint,
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
    ["nothing was added", { prompt: "x", image_urls: ["https://a.example/1"] }, {}],
    ["line feeds and quotes are inside", { prompt: 'two\nlines "quoted" \\ 雪 \u2028' }, { n: [] }],
  ])("the input comes back byte for byte, with what was added, when %s", async (_name, raw, added) => {
    const { store, account } = stage;
    const mutation = await admit(store, account, { body: JSON.stringify({ input: raw }), added });
    expect(JSON.stringify(await store.inputOf(mutation.seq))).toBe(JSON.stringify({ raw, filled: { ...raw, ...added } }));
  });

  test("the same key and body is one generation, another body is a conflict, another account is free", async () => {
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

  test("fifty submissions with one key in one batch make one generation", async () => {
    const { store, account, balance } = stage;
    const outcomes = await store.commit(Array.from({ length: 50 }, () => admitMutation(account, { idempotencyKey: "one" })));
    expect(outcomes.map(({ kind }) => kind)).toEqual(["admitted", ...Array<"replayed">(49).fill("replayed")]);
    expect(await balance()).toEqual([890, 110, 0, 1]);
  });

  test("a replay is answered before limit and balance, a refused submission leaves its key free", async () => {
    const { store, account } = stage;
    await admit(store, account, { idempotencyKey: "k" });
    const tight = { inProgressLimit: 1, reservedCredits: 110 };
    expect((await commitOne(store, admitMutation(account, { ...tight, idempotencyKey: "k" }))).kind).toBe("replayed");
    expect(await commitOne(store, admitMutation(account, { ...tight, idempotencyKey: "k2" }))).toEqual({
      kind: "concurrency_limit",
    });
    expect((await commitOne(store, admitMutation(account, { idempotencyKey: "k2" }))).kind).toBe("admitted");
  });

  test("fifty submissions on a balance for ten: ten are accepted, forty refused, nothing else changes", async () => {
    const { store } = stage;
    const poor = await openAccount(store, 1100 + 109);
    const outcomes = await store.commit(Array.from({ length: 50 }, () => admitMutation(poor)));
    expect(outcomes.filter(({ kind }) => kind === "admitted")).toHaveLength(10);
    expect(outcomes.slice(10)).toEqual(Array(40).fill({ kind: "insufficient_credits", availableCredits: 109 }));
    expect(await store.account(poor.id)).toMatchObject({ availableCredits: 109, heldCredits: 1100, inProgress: 10 });
  });

  test("the limit of generations in progress is told before the balance", async () => {
    const { store } = stage;
    const poor = await openAccount(store, 110);
    await admit(store, poor, { inProgressLimit: 1 });
    expect(await commitOne(store, admitMutation(poor, { inProgressLimit: 1 }))).toEqual({ kind: "concurrency_limit" });
    expect(await commitOne(store, admitMutation(poor, { inProgressLimit: 2 }))).toEqual({
      kind: "insufficient_credits",
      availableCredits: 0,
    });
  });

  test("unfinished generations come in pages, oldest first, however many have ended between them", async () => {
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

  test("a generation is found on its own account and by its whole id only", async () => {
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
