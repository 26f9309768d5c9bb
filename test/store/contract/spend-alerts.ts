// Store contract of spend alerts: a month whose spend reaches the amount is recorded once, whatever the roll-ups are.
import { describe, expect, test } from "bun:test";
import { DAY_MS, dayOf } from "../../../src/domain/calendar.ts";
import type { MutationResult } from "../../../src/domain/mutations.ts";
import { monthDayOf } from "../../../src/domain/spend-alert.ts";
import type { Credits } from "../../../src/domain/types.ts";
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
import { BUYER } from "../purchases.ts";

const reachedIn = (outcome: MutationResult) => ("spendReached" in outcome ? outcome.spendReached : undefined) ?? [];
/** Noon of a day in the month of NOW_MS, or of a later month. */
const at = (day: number, monthsLater = 0): number => {
  const date = new Date(NOW_MS);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + monthsLater, day, 12);
};
const MONTH = monthDayOf(NOW_MS);

export const spendAlertPromises = (stage: Stage): void => {
  const set = (credits: Credits | null, atMs = NOW_MS, accountSeq = stage.account.seq) =>
    commitOne(stage.store, { mutation: "set-spend-alert", accountSeq, credits, by: BUYER, atMs });
  const rollUp = async (limit = 500) => {
    const reached = [];
    for (let behind = await stage.store.usageBehind(); behind > 0; behind = await stage.store.usageBehind())
      reached.push(...reachedIn(await commitOne(stage.store, { mutation: "roll-up-usage", limit })));
    return reached;
  };
  /** Generations of 75 credits each that end at the given times. */
  const spend = async (times: readonly number[], account: Account = stage.account) => {
    await topUp(stage.store, account.seq, 110 * times.length);
    for (const atMs of times) {
      const mutation = await admit(stage.store, account, submittedAt(atMs - 1000));
      await stage.store.commit([startedMutation(mutation), { ...capturedMutation(mutation.seq, 2, 1, 75), atMs }]);
    }
  };
  const alertOf = () => stage.store.spendAlert(stage.account.seq);

  describe("spend alert", () => {
    test("is recorded by the roll-up with which the spend of a month reaches the amount, and once for that month", async () => {
      await set(225);
      await spend([at(2), at(3)]);
      expect(await rollUp()).toEqual([]);
      expect(await alertOf()).toEqual({ credits: 225, reachedMonthDay: null, reachedAtMs: null });
      await spend([at(9)]);
      const reached = { accountSeq: stage.account.seq, monthDay: MONTH, spentCredits: 225, alertCredits: 225 };
      expect(await rollUp()).toEqual([reached]);
      expect(await alertOf()).toEqual({ credits: 225, reachedMonthDay: MONTH, reachedAtMs: at(9) });
      await spend([at(10)]);
      expect(await rollUp()).toEqual([]);
      expect(await alertOf()).toMatchObject({ reachedAtMs: at(9) });
      expect(await stage.store.monthSpend(stage.account.seq, at(1))).toBe(300);
    });

    test.each([1, 2, 500])("counts each month by itself when %d transfers are rolled up at a time", async (limit) => {
      await set(150);
      const months = [at(30), at(1, 1), at(1, 1), at(28, 1), at(1, 2), at(2, 2)];
      await spend(months);
      const found = await rollUp(limit);
      expect(found.map(({ monthDay }) => monthDay)).toEqual([monthDayOf(at(1, 1)), monthDayOf(at(1, 2))]);
      expect(await alertOf()).toMatchObject({ reachedMonthDay: monthDayOf(at(1, 2)) });
      expect(await stage.store.monthSpend(stage.account.seq, at(5, 1))).toBe(225);
    });

    test("does not count holds, failed generations and the spend of other accounts", async () => {
      const { store, account } = stage;
      const other = await openAccount(store, 0);
      await set(75);
      const failed = await admit(store, account, submittedAt(at(2)));
      await store.commit([releasedMutation(failed.seq, 1, { atMs: at(3) })]);
      // Held, and not ended.
      await admit(store, account);
      await spend([at(2), at(4)], other);
      expect(await rollUp()).toEqual([]);
      expect(await store.monthSpend(account.seq, at(9))).toBe(0);
      expect(await store.spendAlert(other.seq)).toBeNull();
    });

    test("an amount that the month has already reached is recorded when it is set, and not again by the roll-up", async () => {
      await spend([at(2), at(3)]);
      await rollUp();
      const spent = { accountSeq: stage.account.seq, monthDay: MONTH, spentCredits: 150, alertCredits: 100 };
      expect(reachedIn(await set(100, at(4)))).toEqual([spent]);
      expect(await alertOf()).toEqual({ credits: 100, reachedMonthDay: MONTH, reachedAtMs: at(4) });
      await spend([at(5)]);
      expect(await rollUp()).toEqual([]);
      // Another amount that is reached as well keeps the record of the month.
      expect(reachedIn(await set(50, at(6)))).toEqual([]);
      expect(await alertOf()).toEqual({ credits: 50, reachedMonthDay: MONTH, reachedAtMs: at(4) });
    });

    test("a raised amount can be reached again in the same month, and a removed one is not", async () => {
      await set(75);
      await spend([at(2)]);
      expect(await rollUp()).toHaveLength(1);
      expect(await set(150, at(3))).toMatchObject({ kind: "purchase", changed: true });
      expect(await alertOf()).toEqual({ credits: 150, reachedMonthDay: null, reachedAtMs: null });
      await spend([at(4)]);
      expect(await rollUp()).toMatchObject([{ spentCredits: 150, alertCredits: 150 }]);
      expect(await set(null)).toMatchObject({ changed: true });
      expect(await alertOf()).toBeNull();
      await spend([at(5)]);
      expect(await rollUp()).toEqual([]);
    });

    test("an unchanged amount changes nothing and writes no audit entry, and an unknown account is refused", async () => {
      const { store, account } = stage;
      const entries = async () => (await store.audit(null, 100, { action: "set-spend-alert" })).map(({ detail }) => detail);
      const before = (await entries()).length;
      expect(await set(100)).toMatchObject({ changed: true });
      expect(await set(100, NOW_MS + DAY_MS)).toMatchObject({ changed: false });
      expect(await set(null)).toMatchObject({ changed: true });
      expect(await set(null)).toMatchObject({ changed: false });
      expect((await entries()).slice(0, (await entries()).length - before)).toEqual([{ credits: null }, { credits: 100 }]);
      expect(await set(100, NOW_MS, account.seq + 1_000_000)).toMatchObject({
        kind: "refused",
        reason: `there is no account ${account.seq + 1_000_000}`,
      });
    });

    test("the spend of a month is the sum over its days, with the first and the last", async () => {
      const last = at(1, 1) - DAY_MS;
      await spend([at(1) - DAY_MS, at(1), last, at(1, 1)]);
      await rollUp();
      expect([dayOf(at(1)), await stage.store.monthSpend(stage.account.seq, last)]).toEqual([MONTH, 150]);
    });
  });
};
