// Store contract of admin mutations: balance adjustments, keys, accounts, file retention, route health and secrets.
import { expect, test } from "bun:test";
import type { Stage } from "../conformance.ts";
import { admit, admitMutation, commitOne, NOW_MS, OUTPUT, openAccount, succeed, topUp } from "../fixture.ts";

export const adminPromises = (stage: Stage): void => {
  test("credits a payment reference once, and rejects it for another account", async () => {
    const { store, account, balance } = stage;
    expect(await topUp(store, account.seq, 500, "pay_1")).toMatchObject({ kind: "done", credits: 500 });
    expect(await topUp(store, account.seq, 500, "pay_1")).toMatchObject({ kind: "done", credits: 0 });
    const other = await openAccount(store, 0);
    expect((await topUp(store, other.seq, 500, "pay_1")).kind).toBe("refused");
    expect(await balance()).toEqual([1500, 0, 0, 0]);
  });

  test("debits a dispute up to the available balance, records the rest as debt and pauses the account", async () => {
    const { store, account } = stage;
    await admit(store, account);
    const dispute = {
      mutation: "credit",
      accountSeq: account.seq,
      kind: "adjust",
      credits: -1000,
      note: "dispute",
      reference: "dp_1",
      atMs: NOW_MS,
    } as const;
    expect(await commitOne(store, dispute)).toMatchObject({ kind: "done", credits: -890 });
    expect(await commitOne(store, dispute)).toMatchObject({ kind: "done", credits: 0 });
    expect(await store.account(account.id)).toMatchObject({
      availableCredits: 0,
      heldCredits: 110,
      owedCredits: 110,
      paused: true,
    });
    expect(await commitOne(store, { ...dispute, reference: "dp_2", credits: -5 })).toEqual({ kind: "done", credits: 0 });
    expect(await store.account(account.id)).toMatchObject({ owedCredits: 115 });
  });

  test.each([0, -5, 0.5, Number.MAX_SAFE_INTEGER, Number.NaN])("rejects a top-up of %d credits", async (credits) => {
    const { store, account, balance } = stage;
    expect((await topUp(store, account.seq, credits)).kind).toBe("refused");
    expect(await balance()).toEqual([1000, 0, 0, 0]);
  });

  test("returns the transfers of an account in pages, newest first", async () => {
    const { store, account } = stage;
    await openAccount(store, 5);
    for (let i = 0; i < 3; i++) await succeed(store, account);
    const all = await store.transfers(account.id, null, 100);
    expect(all.map(({ chainSeq }) => chainSeq)).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
    expect(await store.transfers(account.id, null, 3)).toEqual(all.slice(0, 3));
    expect(await store.transfers(account.id, all[3]?.seq ?? 0, 2)).toEqual(all.slice(4, 6));
    expect(await store.transfers(account.id, all[9]?.seq ?? 0, 2)).toEqual([]);
    expect(all[8]).toMatchObject({
      accountId: account.id,
      kind: "hold",
      credits: 110,
      availableAfter: 890,
      heldAfter: 110,
      requestId: expect.stringMatching(/^req_/),
      note: null,
    });
    expect(all.map(({ generationId, requestId }) => (generationId === null) === (requestId === null))).not.toContain(false);
  });

  test("resolves an API key to its account until the key is revoked", async () => {
    const { store, account } = stage;
    expect(await store.callerByKeyHash(account.keyHash)).toEqual({
      keySeq: account.keySeq,
      keyId: expect.any(String),
      scope: "generate",
      expiresAtMs: null,
      models: null,
      isLimited: false,
      accountSeq: account.seq,
      accountId: account.id,
      paused: false,
      burstPerS: null,
      inProgressLimit: null,
    });
    await store.commit([{ mutation: "set-account", accountSeq: account.seq, paused: true, burstPerS: 7 }]);
    expect(await store.callerByKeyHash(account.keyHash)).toMatchObject({ paused: true, burstPerS: 7 });
    await store.commit([
      { mutation: "set-account", accountSeq: account.seq, paused: false, burstPerS: null, inProgressLimit: 3 },
    ]);
    expect(await store.callerByKeyHash(account.keyHash)).toMatchObject({ paused: false, burstPerS: null, inProgressLimit: 3 });
    const [key] = await store.keys(account.id);
    await store.commit([{ mutation: "revoke-key", keyId: key?.id ?? "", atMs: NOW_MS + 1 }]);
    expect(await store.callerByKeyHash(account.keyHash)).toBeUndefined();
    expect(await store.keys(account.id)).toMatchObject([{ revokedAtMs: NOW_MS + 1 }]);
    expect((await commitOne(store, { mutation: "revoke-key", keyId: "key_none", atMs: NOW_MS })).kind).toBe("refused");
  });

  test("lists expired files until they are marked as deleted, and stored outputs until their retention ends", async () => {
    const { store, account } = stage;
    const mutation = await succeed(store, account);
    const kept = { seq: mutation.seq, id: mutation.id, files: OUTPUT.files };
    expect(await store.keptOutputs(mutation.seq - 1, NOW_MS + 604_799_999, 10)).toEqual([kept]);
    expect(await store.keptOutputs(mutation.seq - 1, NOW_MS + 604_800_000, 10)).toEqual([]);
    expect(await store.keptOutputs(mutation.seq, NOW_MS, 10)).toEqual([]);
    expect(await store.expiredFiles(NOW_MS + 604_799_999, 10)).toEqual([]);
    expect(await store.expiredFiles(NOW_MS + 604_800_000, 10)).toEqual([{ seq: mutation.seq, id: mutation.id, files: 1 }]);
    const mark = { mutation: "expire-files", seq: mutation.seq, atMs: NOW_MS + 604_800_001 } as const;
    expect([await commitOne(store, mark), await commitOne(store, mark)]).toEqual([{ kind: "done" }, { kind: "done" }]);
    expect(await store.expiredFiles(NOW_MS + 604_800_002, 10)).toEqual([]);
    expect(await store.keptOutputs(mutation.seq - 1, NOW_MS, 10)).toEqual([]);
    expect(await store.generationBySeq(mutation.seq)).toMatchObject({ filesExpiredAtMs: NOW_MS + 604_800_001, output: OUTPUT });
  });

  test("persists the last seen time, route health, secrets and mode", async () => {
    const { store } = stage;
    await store.commit([
      { mutation: "beat", atMs: NOW_MS + 50 },
      { mutation: "beat", atMs: NOW_MS },
    ]);
    expect(await store.lastSeenMs()).toBe(NOW_MS + 50);
    await store.commit([{ mutation: "save-route-health", routeId: "a", snapshot: "{}", atMs: 1 }]);
    await store.commit([{ mutation: "save-route-health", routeId: "a", snapshot: '{"open":1}', atMs: 2 }]);
    expect(await store.routeHealth()).toEqual(new Map([["a", '{"open":1}']]));
    await store.commit([{ mutation: "switch-route", routeId: "a", reason: "too dear", atMs: 3 }]);
    expect((await store.routeHealth()).size).toBe(1);
    await store.commit([{ mutation: "switch-route", routeId: "a", reason: null, atMs: 4 }]);
    expect((await store.routeHealth()).size).toBe(0);
    const secret = await store.secret("links");
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    expect(await store.secret("links")).toBe(secret);
    expect(await store.secret("other")).not.toBe(secret);
    expect(await store.mode()).toBe("test");
  });

  test("commits an empty batch, and returns each of several concurrent commits its own result", async () => {
    const { store, account } = stage;
    expect(await store.commit([])).toEqual([]);
    const mutations = Array.from({ length: 9 }, () => admitMutation(account));
    const answers = await Promise.all(mutations.map((mutation) => store.commit([mutation])));
    expect(answers.map(([one]) => (one?.kind === "admitted" ? one.record.id : one?.kind))).toEqual(mutations.map(({ id }) => id));
  });
};
