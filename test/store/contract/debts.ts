// Store contract of debts and reversals: repayment, changed disputes, and reversals in other currencies.
import { describe, expect, test } from "bun:test";
import type { Mutation, MutationResult } from "../../../src/domain/mutations.ts";
import type { ReversalState } from "../../../src/domain/purchase-mutations.ts";
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
  topUp,
} from "../fixture.ts";
import { buy, decideMutation, foreignMutation, openPurchaseMutation, payMutation, reversalMutation } from "../purchases.ts";

export const debtPromises = (stage: Stage): void => {
  const adjust = (credits: number): Mutation => ({
    mutation: "credit",
    accountSeq: stage.account.seq,
    kind: "adjust",
    credits,
    note: "operator",
    reference: null,
    atMs: NOW_MS,
  });
  const all = (...mutations: Mutation[]): Promise<MutationResult[]> => stage.store.commit(mutations);
  /** Available credits, debt and paused flag of the account. */
  const standing = async () => {
    const row = await stage.store.account(stage.account.id);
    return [row?.availableCredits, row?.owedCredits, row?.paused];
  };

  describe("an account with a debt", () => {
    const notes = async (most: number) =>
      (await stage.store.transfers(stage.account.id, null, most)).map(({ kind, credits, note }) => [kind, credits, note]);

    test("repays it from released credits in the transaction of the settlement, and is unpaused at zero", async () => {
      const { store, account } = stage;
      const one = await admit(store, account);
      const other = await admit(store, account);
      await all(adjust(-900));
      expect(await standing()).toEqual([0, 120, true]);
      expect(await commitOne(store, releasedMutation(one.seq, 1))).toMatchObject({ kind: "stepped", settledCredits: 110 });
      expect(await standing()).toEqual([0, 10, true]);
      expect(await commitOne(store, releasedMutation(other.seq, 1))).toMatchObject({ kind: "stepped", settledCredits: 10 });
      expect(await standing()).toEqual([100, 0, false]);
      expect(await notes(4)).toEqual([
        ["adjust", 10, "settles what was owed"],
        ["release", 110, null],
        ["adjust", 110, "settles what was owed"],
        ["release", 110, null],
      ]);
    });

    test("repays it from the rest of a hold, and is charged in full for the delivered result", async () => {
      const { store, account } = stage;
      const mutation = await admit(store, account);
      await all(startedMutation(mutation), adjust(-900));
      expect(await standing()).toEqual([0, 10, true]);
      const captured = capturedMutation(mutation.seq, 2, 1, PRICES.a);
      expect(await commitOne(store, captured)).toMatchObject({ kind: "stepped", settledCredits: 10 });
      expect(await stage.balance()).toEqual([25, 0, 75, 0]);
      expect(await standing()).toEqual([25, 0, false]);
    });

    test("repays it once when several generations end in one batch with mutations of other accounts", async () => {
      const { store, account } = stage;
      const other = await openAccount(store, 1000);
      const mine = [await admit(store, account), await admit(store, account), await admit(store, account)];
      const theirs = await admit(store, other);
      await all(adjust(-900));
      expect(await standing()).toEqual([0, 230, true]);
      const reported = await store.commit([
        ...[theirs, ...mine].map(({ seq }) => releasedMutation(seq, 1)),
        admitMutation(other),
        admitMutation(account),
      ]);
      expect(reported.map((one) => [one.kind, "settledCredits" in one ? one.settledCredits : 0])).toEqual([
        ["stepped", 0],
        ["stepped", 110],
        ["stepped", 110],
        ["stepped", 10],
        ["admitted", 0],
        // The debt is zero by then, and 100 credits are available.
        ["insufficient_credits", 0],
      ]);
      expect(await standing()).toEqual([100, 0, false]);
    });

    test("has its submissions rejected until the debt is zero, even after it was unpaused", async () => {
      const { store, account } = stage;
      await all(adjust(-1200), { mutation: "set-account", accountSeq: account.seq, paused: false });
      expect(await standing()).toEqual([0, 200, false]);
      expect(await commitOne(store, admitMutation(account))).toEqual({ kind: "owed", owedCredits: 200 });
      await topUp(store, account.seq, 150);
      expect(await commitOne(store, admitMutation(account))).toEqual({ kind: "owed", owedCredits: 50 });
      await topUp(store, account.seq, 160);
      expect(await commitOne(store, admitMutation(account))).toMatchObject({ kind: "admitted" });
    });
  });

  test("applies the newest state of a dispute, and ignores older states that arrive later", async () => {
    const { store, account } = stage;
    await buy(store, account.seq, "a", 1000);
    const reported = (state: ReversalState, second: number) =>
      commitOne(store, reversalMutation("dp_1", "a", 1000, { kind: "dispute", state, reportedAtMs: NOW_MS + second * 1000 }));
    expect(await reported("taken", 1)).toMatchObject({ transferredCredits: -1000 });
    expect(await reported("returned", 10)).toMatchObject({ transferredCredits: 1000 });
    expect(await reported("lost", 20)).toMatchObject({ transferredCredits: -1000 });
    // Older states arrive again, late.
    for (const [state, second] of [
      ["returned", 10],
      ["taken", 1],
      ["lost", 20],
    ] as const)
      expect(await reported(state, second)).toMatchObject({ changed: false, transferredCredits: 0 });
    expect(await standing()).toEqual([1000, 0, false]);
    expect(await reported("returned", 30)).toMatchObject({ transferredCredits: 1000 });
    // The store also remembers the time of a newer report of the same state.
    await reported("returned", 40);
    expect(await reported("lost", 35)).toMatchObject({ changed: false });
    // A refund that failed stays failed.
    const refund = (state: ReversalState, second: number) =>
      commitOne(store, reversalMutation("re_1", "a", 300, { state, reportedAtMs: NOW_MS + second * 1000 }));
    await refund("returned", 1);
    expect(await refund("taken", 99)).toMatchObject({ changed: false });
    expect(await standing()).toEqual([2000, 0, false]);
  });

  describe("a refund or dispute in another currency", () => {
    const undecided = async () => (await stage.store.undecidedReversals(9)).map(({ id }) => id);

    test("pauses the account until an operator decides, once, how many credits to reverse", async () => {
      const { store, account } = stage;
      await buy(store, account.seq, "a", 1000);
      expect(await commitOne(store, foreignMutation("re_1", "a", 460))).toMatchObject({
        changed: true,
        transferredCredits: 0,
        undecided: 1,
      });
      expect(await commitOne(store, foreignMutation("re_1", "a", 460))).toMatchObject({ changed: false });
      expect(await standing()).toEqual([2000, 0, true]);
      const [one, ...none] = await store.undecidedReversals(9);
      expect([{ ...one }, none]).toMatchObject([
        {
          ...{ id: "re_1", kind: "refund", amount: 460, currency: "eur", state: "taken", paymentIntent: "pi_a" },
          ...{ purchaseId: "pur_a", accountId: account.id, boughtCredits: 1000, reversedCredits: 0 },
        },
        [],
      ]);
      for (const credits of [-1, 1001, 0.5])
        expect((await commitOne(store, decideMutation("re_1", credits))).kind).toBe("refused");
      expect((await commitOne(store, decideMutation("re_9", 1))).kind).toBe("refused");
      expect(await commitOne(store, decideMutation("re_1", 500))).toEqual({ kind: "done", credits: -500 });
      expect(await commitOne(store, decideMutation("re_1", 500))).toEqual({ kind: "done", credits: 0 });
      expect((await commitOne(store, decideMutation("re_1", 400))).kind).toBe("refused");
      expect(await standing()).toEqual([1500, 0, false]);
      expect(await undecided()).toEqual([]);
      expect(await store.purchase("pur_a")).toMatchObject({ refundedCredits: 500, reversedCredits: 500 });
      // The refund fails afterwards.
      expect(await commitOne(store, foreignMutation("re_1", "a", 460, { state: "returned" }))).toMatchObject({
        transferredCredits: 500,
      });
      expect(await standing()).toEqual([2000, 0, false]);
    });

    test("can be decided with zero credits, and requires a new decision when its amount grows", async () => {
      const { store, account } = stage;
      await buy(store, account.seq, "a", 1000);
      const dispute = (amount: number, second: number, state: ReversalState = "taken") =>
        foreignMutation("dp_1", "a", amount, { kind: "dispute", state, reportedAtMs: NOW_MS + second * 1000 });
      await all(dispute(100, 1), decideMutation("dp_1", 0));
      expect(await standing()).toEqual([2000, 0, false]);
      expect(await commitOne(store, dispute(900, 2))).toMatchObject({ undecided: 1 });
      expect(await standing()).toEqual([2000, 0, true]);
      await all(decideMutation("dp_1", 970), dispute(900, 3, "returned"), dispute(900, 4, "lost"), dispute(900, 3, "returned"));
      expect(await standing()).toEqual([1030, 0, false]);
      expect(await undecided()).toEqual([]);
    });

    test("requires no decision when it is won first, or while it is only an inquiry", async () => {
      const { store, account } = stage;
      await buy(store, account.seq, "a", 1000);
      const dispute = { kind: "dispute" } as const;
      await all(foreignMutation("dp_1", "a", 900, { ...dispute, state: "asked" }));
      expect(await standing()).toEqual([2000, 0, false]);
      await all(foreignMutation("dp_1", "a", 900, { ...dispute, reportedAtMs: NOW_MS + 5000 }));
      expect(await standing()).toEqual([2000, 0, true]);
      await all(foreignMutation("dp_1", "a", 900, { ...dispute, state: "returned", reportedAtMs: NOW_MS + 9000 }));
      expect(await standing()).toEqual([2000, 0, false]);
      expect((await commitOne(store, decideMutation("dp_1", 900))).kind).toBe("refused");
    });

    test("waits for its payment, and ignores payments of other products on the same Stripe account", async () => {
      const { store, account } = stage;
      await all(
        openPurchaseMutation(account.seq, "a", 1000),
        foreignMutation("re_1", "a", 900),
        foreignMutation("re_x", "shop", 5),
      );
      expect([await standing(), await undecided()]).toEqual([[1000, 0, false], []]);
      expect(await commitOne(store, payMutation("a", 1000))).toMatchObject({ transferredCredits: 1000, undecided: 1 });
      expect([await standing(), await undecided()]).toEqual([[2000, 0, true], ["re_1"]]);
      // A payment that did not match its order was never credited, so its refund reverses nothing.
      await all(openPurchaseMutation(account.seq, "b", 1000), payMutation("b", 950, "eur"), foreignMutation("re_2", "b", 950));
      expect(await undecided()).toEqual(["re_1"]);
    });

    test("keeps the account paused until the debt is zero and every reversal is decided", async () => {
      const { store, account } = stage;
      await buy(store, account.seq, "a", 1000);
      await all(foreignMutation("re_1", "a", 900), adjust(-1800), decideMutation("re_1", 1000));
      expect(await standing()).toEqual([0, 800, true]);
      await all(foreignMutation("re_2", "a", 50));
      await topUp(store, account.seq, 900);
      expect(await standing()).toEqual([100, 0, true]);
      await all(decideMutation("re_2", 0));
      expect(await standing()).toEqual([100, 0, false]);
    });
  });
};
