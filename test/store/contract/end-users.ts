// Store contract of end users: limits, spending, and usage by end user.
import { describe, expect, test } from "bun:test";
import { DAY_MS, dayOf, windowEndsAtMs } from "../../../src/domain/calendar.ts";
import type { EndUserLimit, EndUserWindow, SetEndUserLimit } from "../../../src/domain/end-users.ts";
import type { AdmitGeneration } from "../../../src/domain/mutations.ts";
import type { Stage } from "../conformance.ts";
import {
  admit,
  admitMutation,
  capturedMutation,
  commitOne,
  NOW_MS,
  openAccount,
  PRICES,
  releasedMutation,
  startedMutation,
  submittedAt,
  succeed,
} from "../fixture.ts";
import { erasure } from "./erasure.ts";

const labelled = (endUser: string): Partial<AdmitGeneration> => ({ labels: { metadata: null, endUser } });
const limitMutation = (accountSeq: number, endUser: string, limit: EndUserLimit | null, atMs = NOW_MS): SetEndUserLimit => ({
  ...{ mutation: "set-end-user-limit", accountSeq, endUser, limit, atMs },
});
const day = (credits: number): EndUserLimit => ({ window: "day", credits });

export const endUserPromises = (stage: Stage): void => {
  const spent = async (name: string, nowMs = NOW_MS) => {
    const row = await stage.store.endUser(stage.account.seq, name, nowMs);
    return row && [row.spentCredits, row.heldCredits];
  };
  const capture = async (mutation: AdmitGeneration, atMs = NOW_MS + 2000) =>
    await stage.store.commit([startedMutation(mutation), { ...capturedMutation(mutation.seq, 2, 1, PRICES.a), atMs }]);

  describe("limit of an end user", () => {
    test("counts holds and captures, and returns what is released", async () => {
      const { store, account } = stage;
      await commitOne(store, limitMutation(account.seq, "ada", day(300)));
      const captured = await admit(store, account, labelled("ada"));
      const released = await admit(store, account, labelled("ada"));
      expect(await spent("ada")).toEqual([220, 220]);
      const short = { kind: "end_user_limit", endUser: "ada", window: "day", limitCredits: 300, leftCredits: 80 } as const;
      const rejected = await commitOne(store, admitMutation(account, labelled("ada")));
      expect(rejected).toEqual({ ...short, resetsAtMs: windowEndsAtMs("day", NOW_MS) });
      await capture(captured);
      expect(await spent("ada")).toEqual([PRICES.a + 110, 110]);
      await store.commit([releasedMutation(released.seq, 1)]);
      expect(await spent("ada")).toEqual([PRICES.a, 0]);
      await admit(store, account, labelled("ada"));
    });

    test("counts what was spent before it was set, and 0 rejects all", async () => {
      const { store, account } = stage;
      await capture(await admit(store, account, labelled("ada")));
      await commitOne(store, limitMutation(account.seq, "ada", day(PRICES.a + 109)));
      expect((await commitOne(store, admitMutation(account, labelled("ada")))).kind).toBe("end_user_limit");
      await commitOne(store, limitMutation(account.seq, "ada", day(PRICES.a + 110)));
      expect((await commitOne(store, admitMutation(account, labelled("ada")))).kind).toBe("admitted");
      await commitOne(store, limitMutation(account.seq, "ada", day(0)));
      expect(await commitOne(store, admitMutation(account, labelled("ada")))).toMatchObject({ leftCredits: 0 });
    });

    test("concerns neither other end users, other accounts nor submissions without an end user", async () => {
      const { store, account } = stage;
      const other = await openAccount(store, 1000);
      await commitOne(store, limitMutation(account.seq, "ada", day(0)));
      const others = [
        admitMutation(account, labelled("Ada")),
        admitMutation(account),
        admitMutation(other, labelled("ada")),
        admitMutation(account, labelled("ada")),
      ];
      expect((await store.commit(others)).map(({ kind }) => kind)).toEqual([
        ...["admitted", "admitted", "admitted", "end_user_limit"],
      ] as never);
    });

    test("includes earlier submissions of the same batch, also of an end user that is new", async () => {
      const { store, account } = stage;
      const outcomes = await store.commit([
        admitMutation(account, labelled("ada")),
        limitMutation(account.seq, "ada", day(330)),
        admitMutation(account, labelled("ada")),
        admitMutation(account, labelled("ada")),
        admitMutation(account, labelled("ada")),
      ]);
      expect(outcomes.map(({ kind }) => kind)).toEqual(["admitted", "done", "admitted", "admitted", "end_user_limit"] as never);
      expect(await spent("ada")).toEqual([330, 330]);
    });

    test("does not count rejected mutations of a batch", async () => {
      const { store, account } = stage;
      await commitOne(store, limitMutation(account.seq, "ada", day(220)));
      const outcomes = await store.commit([
        admitMutation(account, labelled("ada")),
        limitMutation(999_999, "ada", day(0)),
        admitMutation(account, labelled("ada")),
        admitMutation(account, { ...labelled("new"), inProgressLimit: 0 }),
      ]);
      expect(outcomes.map(({ kind }) => kind)).toEqual(["admitted", "refused", "admitted", "concurrency_limit"] as never);
      expect(await spent("ada")).toEqual([220, 220]);
      expect(await spent("new")).toBeUndefined();
    });

    test("outranks debt and balance, and a spend limit of the key outranks it", async () => {
      const { store, account } = stage;
      await commitOne(store, limitMutation(account.seq, "ada", day(0)));
      const poor = await openAccount(store, 5);
      await commitOne(store, limitMutation(poor.seq, "ada", day(0)));
      expect((await commitOne(store, admitMutation(poor, labelled("ada")))).kind).toBe("end_user_limit");
      const keyId = (await store.keys(account.id))[0]?.id ?? "";
      await commitOne(store, { mutation: "set-key", keyId, limits: { day: 1 }, atMs: NOW_MS });
      expect((await commitOne(store, admitMutation(account, labelled("ada")))).kind).toBe("key_limit");
    });

    test.each<[EndUserWindow, number, boolean]>([
      ["day", DAY_MS, true],
      ["week", DAY_MS, false],
      ["week", 7 * DAY_MS, true],
      ["month", 7 * DAY_MS, false],
      ["month", 31 * DAY_MS, true],
      ["total", 400 * DAY_MS, false],
    ])("a limit by %s resets after %d ms: %p", async (window, laterMs, isReset) => {
      const { store, account } = stage;
      // A Monday, the first day of a month.
      const atMs = Date.UTC(2027, 1, 1);
      await commitOne(store, limitMutation(account.seq, "ada", { window, credits: 110 }, atMs));
      const first = await admit(store, account, { ...submittedAt(atMs), ...labelled("ada") });
      const later = await commitOne(store, admitMutation(account, { ...submittedAt(atMs + laterMs), ...labelled("ada") }));
      expect(later.kind).toBe(isReset ? "admitted" : "end_user_limit");
      if (window === "total") expect(later).toMatchObject({ resetsAtMs: null });
      // What a later window releases returns to the window of the submission.
      await store.commit([releasedMutation(first.seq, 1, { atMs: atMs + laterMs })]);
      expect(await spent("ada", atMs + laterMs)).toEqual(isReset ? [110, 110] : [0, 0]);
    });

    test("is removed, and the spending stays; an unknown end user and account are rejected", async () => {
      const { store, account } = stage;
      await commitOne(store, limitMutation(account.seq, "ada", day(110)));
      await admit(store, account, labelled("ada"));
      expect(await store.endUser(account.seq, "ada", NOW_MS)).toMatchObject({ limit: day(110) });
      expect(await commitOne(store, limitMutation(account.seq, "ada", null))).toEqual({ kind: "done" });
      expect(await store.endUser(account.seq, "ada", NOW_MS)).toMatchObject({ limit: null, spentCredits: 110 });
      await admit(store, account, labelled("ada"));
      expect((await commitOne(store, limitMutation(account.seq, "bob", null))).kind).toBe("refused");
      expect((await commitOne(store, limitMutation(999_999, "ada", day(1)))).kind).toBe("refused");
      expect(await spent("bob")).toBeUndefined();
    });

    test("a replay counts nothing and stores no end user", async () => {
      const { store, account } = stage;
      const first = await admit(store, account, { idempotencyKey: "k" });
      const again = { ...admitMutation(account, { idempotencyKey: "k", ...labelled("ada") }), body: first.body };
      expect((await commitOne(store, again)).kind).toBe("replayed");
      expect(await spent("ada")).toBeUndefined();
      await admit(store, account, { idempotencyKey: "k2", ...labelled("bob") });
      const twice = await store.commit([
        admitMutation(account, { idempotencyKey: "k2", ...labelled("bob") }),
        admitMutation(account, { idempotencyKey: "k2", ...labelled("eve") }),
      ]);
      expect(twice.map(({ kind }) => kind)).toEqual(["replayed", "replayed"] as never);
      expect([await spent("bob"), await spent("eve")]).toEqual([[110, 110], undefined]);
    });
  });

  describe("erasure of an end user", () => {
    test("comes with its last generation, and its counts stay", async () => {
      const { store, account } = stage;
      const [first, second] = [await succeed(store, account, labelled("ada")), await succeed(store, account, labelled("ada"))];
      await store.commit([erasure(account, first.seq)]);
      expect(await spent("ada")).toEqual([2 * PRICES.a, 0]);
      await store.commit([erasure(account, second.seq)]);
      expect(await spent("ada")).toBeUndefined();
      expect(await store.endUsers(account.seq, NOW_MS, null, 10)).toEqual([]);
      const all = { fromDay: 0, toDay: 99_999, beforeSeq: null, limit: 10, maxExamined: 10 };
      expect(await store.endUserUsage({ accountSeq: account.seq, ...all })).toEqual({ rows: [], next: null });
      // The same name begins another end user.
      await admit(store, account, labelled("ada"));
      expect(await spent("ada")).toEqual([110, 110]);
    });

    test("waits for its open generations and for its limit", async () => {
      const { store, account } = stage;
      const ended = await succeed(store, account, labelled("ada"));
      const open = await admit(store, account, labelled("ada"));
      await store.commit([erasure(account, ended.seq)]);
      expect(await spent("ada")).toEqual([PRICES.a + 110, 110]);
      await commitOne(store, limitMutation(account.seq, "ada", { window: "total", credits: 300 }));
      await store.commit([releasedMutation(open.seq, 1), erasure(account, open.seq)]);
      expect(await spent("ada")).toEqual([PRICES.a, 0]);
      expect(await commitOne(store, admitMutation(account, { ...labelled("ada"), reservedCredits: 226 }))).toMatchObject({
        kind: "end_user_limit",
        leftCredits: 225,
      });
      await commitOne(store, limitMutation(account.seq, "ada", null));
      expect(await spent("ada")).toBeUndefined();
    });

    test("is forgotten by the writer, which counts the next generation for another end user", async () => {
      const { store, account } = stage;
      const { seq } = await succeed(store, account, labelled("ada"));
      const outcomes = await store.commit([erasure(account, seq), admitMutation(account, labelled("ada"))]);
      expect(outcomes.map(({ kind }) => kind)).toEqual(["done", "admitted"] as never);
      expect(await spent("ada")).toEqual([110, 110]);
    });
  });

  test("lists end users newest first, and pages of their usage end where the examined rows end", async () => {
    const { store, account } = stage;
    const days = { fromDay: dayOf(NOW_MS), toDay: dayOf(NOW_MS) };
    for (const name of ["a", "b", "c", "d"]) {
      const mutation = await admit(store, account, labelled(name));
      if (name === "a") await capture(mutation);
      else if (name === "d") await store.commit([releasedMutation(mutation.seq, 1)]);
      else if (name === "c") await capture(mutation, NOW_MS + DAY_MS);
    }
    const all = await store.endUsers(account.seq, NOW_MS, null, 10);
    expect(all.map(({ name }) => name)).toEqual(["d", "c", "b", "a"]);
    const [, , third] = await store.endUsers(account.seq, NOW_MS, null, 3);
    expect((await store.endUsers(account.seq, NOW_MS, third?.seq ?? 0, 3)).map(({ name }) => name)).toEqual(["a"]);

    const usage = (beforeSeq: number | null, limit: number, maxExamined: number) =>
      store.endUserUsage({ accountSeq: account.seq, ...days, beforeSeq, limit, maxExamined });
    const [d, a] = [
      { name: "d", succeeded: 0, failed: 1, chargedCredits: 0 },
      { name: "a", succeeded: 1, failed: 0, chargedCredits: PRICES.a },
    ];
    expect(await usage(null, 10, 100)).toMatchObject({ rows: [d, a], next: null });
    const first = await usage(null, 1, 100);
    expect(first).toMatchObject({ rows: [d], next: all[0]?.seq });
    expect(await usage(first.next, 1, 100)).toMatchObject({ rows: [a], next: null });
    const seqs = all.map(({ seq }) => seq);
    const byDay = { accountSeq: account.seq, seqs, ...days };
    expect(await store.endUserDays(byDay)).toEqual(
      [a, d].map(({ name: _, ...sums }, n) => ({ seq: seqs.at(n === 0 ? -1 : 0) ?? 0, day: dayOf(NOW_MS), ...sums })),
    );
    expect(await store.endUserDays({ ...byDay, seqs: [] })).toEqual([]);
    // The end users of another account are not counted.
    expect(await store.endUserDays({ ...byDay, accountSeq: account.seq + 1 })).toEqual([]);
    const list = (endUser: string, accountSeq = account.seq) =>
      store.generationsStep({
        ...{ accountSeq, endUser, fromMs: null, toMs: null, status: null, models: null, keyId: null, from: null },
        ...{ limit: 10, maxExamined: 100 },
      });
    expect((await list("a")).found.map(({ record }) => record.labels?.endUser)).toEqual(["a"]);
    expect(await list("unknown")).toEqual({ found: [], examined: 0, next: null });
    expect((await list("a", account.seq + 1)).found).toEqual([]);
    // b and c have no usage on this day.
    const examined = await usage(first.next, 10, 2);
    expect(examined).toEqual({ rows: [], next: third?.seq ?? null });
    expect(await usage(examined.next, 10, 2)).toMatchObject({ rows: [a], next: null });
  });
};
