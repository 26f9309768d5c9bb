// Store contract of API keys: creation, changes, rotation, spend limits and last use.
import { describe, expect, test } from "bun:test";
import { DAY_MS } from "../../../src/domain/calendar.ts";
import { hashApiKey, newApiKey, newId } from "../../../src/domain/ids.ts";
import type { KeyLimits } from "../../../src/domain/types.ts";
import type { Stage } from "../conformance.ts";
import {
  type Account,
  admit,
  admitMutation,
  capturedMutation,
  commitOne,
  NOW_MS,
  releasedMutation,
  startedMutation,
  submittedAt,
  succeed,
  topUp,
} from "../fixture.ts";

const NONE: KeyLimits = { day: null, week: null, month: null };
/** Creates a key with terms. @returns its id, its hash and the account with the key. */
const newKey = async ({ store, account }: Stage, terms: { limits?: KeyLimits; expiresAtMs?: number; models?: string[] } = {}) => {
  const id = newId("key");
  const hash = hashApiKey(newApiKey("test"));
  const outcome = await commitOne(store, {
    mutation: "create-key",
    ...{ id, hash, accountSeq: account.seq, scope: "generate", name: "limited", start: "gr_test_wxyz", atMs: NOW_MS },
    terms: { expiresAtMs: null, models: null, limits: NONE, ...terms },
  });
  if (outcome.kind !== "done" || outcome.seq === undefined) throw new Error(JSON.stringify(outcome));
  return { id, hash, with: { ...account, keySeq: outcome.seq } satisfies Account };
};
const rotateMutation = (keyId: string, overlapMs: number, atMs = NOW_MS) =>
  ({
    mutation: "rotate-key",
    ...{ keyId, overlapMs, id: newId("key"), hash: hashApiKey(newApiKey("test")), start: "gr_test_next", atMs },
  }) as const;
// NOW_MS is Monday 2026-09-21 14:13:20 UTC.
const TUESDAY = NOW_MS + DAY_MS;
const NEXT_MONDAY = Date.UTC(2026, 8, 28);
const OCTOBER = Date.UTC(2026, 9, 1);

export const keyPromises = (stage: Stage): void => {
  const spent = async (id: string, atMs = NOW_MS) => (await stage.store.keySpend(atMs)).get(id);

  test("counts held credits against a key limit, and the actual cost after the end", async () => {
    const { store } = stage;
    const key = await newKey(stage, { limits: { ...NONE, day: 220 } });
    const [one, two] = [await admit(store, key.with), await admit(store, key.with)];
    expect(await spent(key.id)).toEqual({ windows: { day: 220, week: 220, month: 220 }, last30Credits: 220 });
    const third = admitMutation(key.with);
    const error = { kind: "key_limit", window: "day", limitCredits: 220, leftCredits: 0, resetsAtMs: Date.UTC(2026, 8, 22) };
    expect(await commitOne(store, third)).toMatchObject(error);
    // 75 of 110 credits were charged, so 35 return to the limit. A failure returns all of them.
    await store.commit([startedMutation(one), capturedMutation(one.seq, 2, 1, 75)]);
    expect(await commitOne(store, third)).toMatchObject({ ...error, leftCredits: 35 });
    await store.commit([releasedMutation(two.seq, 1)]);
    expect(await spent(key.id)).toMatchObject({ windows: { day: 75 } });
    expect((await commitOne(store, third)).kind).toBe("admitted");
    // The limit does not apply to other keys of the account.
    expect((await commitOne(store, admitMutation(stage.account))).kind).toBe("admitted");
  });

  test.each([
    ["day", TUESDAY, Date.UTC(2026, 8, 22)],
    ["week", NEXT_MONDAY, NEXT_MONDAY],
    ["month", OCTOBER, OCTOBER],
  ] as const)("resets a limit per %s at the start of the period in UTC", async (window, again, resetsAtMs) => {
    const { store } = stage;
    const key = await newKey(stage, { limits: { ...NONE, [window]: 150 } });
    await admit(store, key.with);
    expect(await commitOne(store, admitMutation(key.with))).toEqual({
      ...{ kind: "key_limit", window, limitCredits: 150, leftCredits: 40, resetsAtMs },
    });
    expect((await commitOne(store, admitMutation(key.with, submittedAt(resetsAtMs - 1)))).kind).toBe("key_limit");
    expect((await commitOne(store, admitMutation(key.with, submittedAt(again)))).kind).toBe("admitted");
    expect(await spent(key.id, again)).toMatchObject({ windows: { [window]: 110 }, last30Credits: 220 });
  });

  test("reports the reached limit that resets last", async () => {
    const { store } = stage;
    const key = await newKey(stage, { limits: { day: 150, week: 1000, month: 150 } });
    await admit(store, key.with);
    expect(await commitOne(store, admitMutation(key.with))).toMatchObject({ kind: "key_limit", window: "month" });
  });

  test("returns released credits to the window in which the generation was submitted", async () => {
    const { store } = stage;
    const key = await newKey(stage, { limits: { ...NONE, day: 110, week: 400 } });
    const monday = await admit(store, key.with);
    await admit(store, key.with, submittedAt(TUESDAY));
    await store.commit([releasedMutation(monday.seq, 1, { atMs: TUESDAY + 1 })]);
    expect(await spent(key.id, NOW_MS)).toMatchObject({ windows: { day: 110, week: 110 } });
    expect(await spent(key.id, TUESDAY)).toMatchObject({ windows: { day: 110, week: 110 } });
    expect((await commitOne(store, admitMutation(key.with, submittedAt(TUESDAY)))).kind).toBe("key_limit");
  });

  test("accepts as many of a hundred submissions in one batch as the remaining limit covers", async () => {
    const { store } = stage;
    const key = await newKey(stage, { limits: { ...NONE, month: 450 } });
    const outcomes = await store.commit(Array.from({ length: 100 }, () => admitMutation(key.with)));
    expect(outcomes.filter(({ kind }) => kind === "admitted")).toHaveLength(4);
    expect(outcomes.slice(4).every(({ kind }) => kind === "key_limit")).toBe(true);
    expect(await spent(key.id)).toMatchObject({ windows: { month: 440 } });
  });

  test("checks in this order: replay, key expiry, generations in progress, key limit, balance", async () => {
    const { store } = stage;
    const key = await newKey(stage, { limits: { ...NONE, day: 110 } });
    await admit(store, key.with, { idempotencyKey: "k" });
    const again = admitMutation(key.with, { idempotencyKey: "k", inProgressLimit: 1 });
    expect((await commitOne(store, again)).kind).toBe("replayed");
    expect((await commitOne(store, admitMutation(key.with, { inProgressLimit: 1 }))).kind).toBe("concurrency_limit");
    expect((await commitOne(store, admitMutation(key.with, { reservedCredits: 900, maxCostCredits: 1 }))).kind).toBe("key_limit");
    await commitOne(store, { mutation: "set-key", keyId: key.id, expiresAtMs: NOW_MS, atMs: NOW_MS });
    expect((await commitOne(store, again)).kind).toBe("replayed");
    expect(await commitOne(store, admitMutation(key.with, { inProgressLimit: 1 }))).toEqual({ kind: "key_expired" });
  });

  test("accepts submissions until the moment at which the key expires", async () => {
    const { store } = stage;
    const key = await newKey(stage, { expiresAtMs: NOW_MS + 1 });
    expect((await commitOne(store, admitMutation(key.with))).kind).toBe("admitted");
    expect((await commitOne(store, admitMutation(key.with, submittedAt(NOW_MS + 1)))).kind).toBe("key_expired");
    expect(await store.callerByKeyHash(key.hash)).toMatchObject({ expiresAtMs: NOW_MS + 1, models: null });
  });

  test("counts earlier spending of the current windows when limits are set on a key without limits", async () => {
    const { store, account } = stage;
    const [key] = await store.keys(account.id);
    const keyId = key?.id ?? "";
    await succeed(store, account, submittedAt(Date.UTC(2026, 7, 31)));
    await succeed(store, account, submittedAt(Date.UTC(2026, 8, 1)));
    await succeed(store, account, submittedAt(NOW_MS));
    await admit(store, account, submittedAt(NOW_MS));
    expect(await spent(keyId)).toMatchObject({ windows: null });
    await commitOne(store, { mutation: "set-key", keyId, limits: { day: 200, week: null, month: null }, atMs: NOW_MS });
    expect(await spent(keyId)).toMatchObject({ windows: { day: 185, week: 185, month: 260 } });
    expect((await commitOne(store, admitMutation(account, submittedAt(NOW_MS)))).kind).toBe("key_limit");
    // Limits are raised, removed and set again: the count always matches the generations.
    await commitOne(store, { mutation: "set-key", keyId, limits: { day: 300, week: null, month: null }, atMs: NOW_MS });
    await admit(store, account, submittedAt(NOW_MS));
    await commitOne(store, { mutation: "set-key", keyId, limits: NONE, atMs: NOW_MS });
    expect(await spent(keyId)).toMatchObject({ windows: null });
    await admit(store, account, submittedAt(NOW_MS));
    await commitOne(store, { mutation: "set-key", keyId, limits: { ...NONE, month: 1000 }, atMs: NOW_MS });
    expect(await spent(keyId)).toMatchObject({ windows: { day: 405, month: 480 } });
  });

  test.each([0, 1, 3, 100])(
    "counts from the start of each window when limits are set late and %d transfers are rolled up",
    async (limit) => {
      const { store, account } = stage;
      const [key] = await store.keys(account.id);
      const keyId = key?.id ?? "";
      // A Wednesday.
      const atMs = Date.UTC(2026, 8, 23);
      await topUp(store, account.seq, 10_000);
      for (const firstMs of [Date.UTC(2026, 8, 1), Date.UTC(2026, 8, 21), atMs])
        for (const createdAtMs of [firstMs - 1, firstMs]) {
          const held = await admit(store, account, { ...submittedAt(createdAtMs), waitEndsAtMs: atMs + DAY_MS });
          const spent = await admit(store, account, submittedAt(createdAtMs));
          const given = await admit(store, account, submittedAt(createdAtMs));
          expect(held.seq).toBeLessThan(spent.seq);
          // All of them end after the last window has begun.
          await store.commit([startedMutation(spent), { ...capturedMutation(spent.seq, 2, 1, 75), atMs: atMs + 1 }]);
          await store.commit([releasedMutation(given.seq, 1, { atMs: atMs + 1 })]);
        }
      await commitOne(store, { mutation: "roll-up-usage", limit });
      await commitOne(store, { mutation: "set-key", keyId, limits: { day: 110 + 75, week: null, month: null }, atMs });
      const each = 110 + 75;
      expect(await spent(keyId, atMs)).toMatchObject({ windows: { day: each, week: 3 * each, month: 5 * each } });
      expect((await commitOne(store, admitMutation(account, submittedAt(atMs + 1)))).kind).toBe("key_limit");
      await commitOne(store, { mutation: "set-key", keyId, limits: { day: 110 + each }, atMs });
      expect((await commitOne(store, admitMutation(account, submittedAt(atMs + 1)))).kind).toBe("admitted");
    },
  );

  test("does not count rejected mutations of a batch against a limit", async () => {
    const { store } = stage;
    const key = await newKey(stage, { limits: { ...NONE, day: 330 } });
    const outcomes = await store.commit([
      admitMutation(key.with),
      { mutation: "set-key", keyId: key.id, limits: { ...NONE, day: 0 }, atMs: NOW_MS },
      admitMutation(key.with),
      { mutation: "rotate-key", keyId: "key_none", overlapMs: 0, id: "x", hash: "x", start: "x", atMs: NOW_MS },
      admitMutation(key.with),
      admitMutation(key.with),
    ]);
    expect(outcomes.map(({ kind }) => kind)).toEqual([
      ...["admitted", "refused", "admitted", "refused", "admitted", "key_limit"],
    ] as (typeof outcomes)[number]["kind"][]);
    expect(await store.keys()).toMatchObject([{}, { limits: { day: 330 } }]);
  });

  describe("rotation", () => {
    test("creates a key with the same terms and a shared limit, and expires the old key after the overlap", async () => {
      const { store } = stage;
      const limits = { ...NONE, week: 330 };
      const old = await newKey(stage, { limits, models: ["vidmodel-2.0"] });
      await admit(store, old.with);
      const mutation = rotateMutation(old.id, DAY_MS);
      const made = await commitOne(store, mutation);
      const next = { ...old.with, keySeq: made.kind === "done" ? (made.seq ?? 0) : 0 };
      const terms = { scope: "generate", name: "limited", models: ["vidmodel-2.0"], limits };
      expect((await store.keys()).slice(1)).toMatchObject([
        { id: old.id, ...terms, expiresAtMs: NOW_MS + DAY_MS, rotatedFrom: null },
        { id: mutation.id, ...terms, expiresAtMs: null, rotatedFrom: old.id },
      ]);
      await admit(store, next);
      await admit(store, old.with);
      expect((await commitOne(store, admitMutation(next))).kind).toBe("key_limit");
      expect((await commitOne(store, admitMutation(old.with))).kind).toBe("key_limit");
      expect([await spent(old.id), await spent(mutation.id)]).toMatchObject([
        { windows: { week: 330 }, last30Credits: 220 },
        { windows: { week: 330 }, last30Credits: 110 },
      ]);
      // The keys of a rotation share their limits, whichever of them a change names.
      await commitOne(store, { mutation: "set-key", keyId: mutation.id, limits: { ...NONE, week: 440 }, atMs: NOW_MS });
      expect((await commitOne(store, admitMutation(old.with))).kind).toBe("admitted");
      expect(await store.callerByKeyHash(mutation.hash)).toMatchObject({ keySeq: next.keySeq, models: ["vidmodel-2.0"] });
    });

    test("never extends the expiry of the old key", async () => {
      const { store } = stage;
      const old = await newKey(stage, { expiresAtMs: NOW_MS + 1000 });
      await commitOne(store, rotateMutation(old.id, DAY_MS));
      expect((await store.keys()).slice(1).map(({ expiresAtMs }) => expiresAtMs)).toEqual([NOW_MS + 1000, NOW_MS + 1000]);
    });

    test("rejects a key that was revoked, has expired or was already rotated", async () => {
      const { store } = stage;
      const [revoked, expired, rotated] = [
        await newKey(stage),
        await newKey(stage, { expiresAtMs: NOW_MS }),
        await newKey(stage),
      ];
      await commitOne(store, { mutation: "revoke-key", keyId: revoked.id, atMs: NOW_MS });
      await commitOne(store, rotateMutation(rotated.id, 0));
      const before = await store.keys();
      const reasons = await store.commit([revoked, expired, rotated].map(({ id }) => rotateMutation(id, 0)));
      expect(reasons).toMatchObject([
        { kind: "refused", reason: expect.stringContaining("was revoked") },
        { kind: "refused", reason: expect.stringContaining("has expired") },
        { kind: "refused", reason: expect.stringContaining("was rotated to") },
      ]);
      expect(await store.keys()).toEqual(before);
    });
  });

  test("changes name, models and limits of a key separately, and rejects changes after the key is revoked", async () => {
    const { store } = stage;
    const key = await newKey(stage, { models: ["a"], limits: { ...NONE, day: 5 }, expiresAtMs: NOW_MS + 9 });
    await commitOne(store, { mutation: "set-key", keyId: key.id, name: "server", atMs: NOW_MS });
    await commitOne(store, { mutation: "set-key", keyId: key.id, models: ["b", "c"], atMs: NOW_MS });
    await commitOne(store, { mutation: "set-key", keyId: key.id, limits: { week: 9 }, atMs: NOW_MS });
    const now = { name: "server", models: ["b", "c"], limits: { day: 5, week: 9, month: null }, expiresAtMs: NOW_MS + 9 };
    expect(await store.keys()).toMatchObject([{}, now]);
    await commitOne(store, { mutation: "revoke-key", keyId: key.id, atMs: NOW_MS });
    expect((await commitOne(store, { mutation: "set-key", keyId: key.id, name: "x", atMs: NOW_MS })).kind).toBe("refused");
    expect((await commitOne(store, { mutation: "set-key", keyId: "key_none", name: "x", atMs: NOW_MS })).kind).toBe("refused");
  });

  test("stores the latest reported use of a key", async () => {
    const { store, account } = stage;
    expect(await store.keys()).toMatchObject([{ lastUsedAtMs: null }]);
    await commitOne(store, { mutation: "note-key-use", uses: [[account.keySeq, NOW_MS + 5]] });
    await commitOne(store, { mutation: "note-key-use", uses: [[account.keySeq, NOW_MS + 2]] });
    expect(await store.keys()).toMatchObject([{ lastUsedAtMs: NOW_MS + 5 }]);
  });
};
