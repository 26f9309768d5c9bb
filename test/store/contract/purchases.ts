// Store contract of purchases: payments, refunds, disputes, debts and receipts, repeated and in any order.
import { expect, test } from "bun:test";
import type { Mutation, MutationResult } from "../../../src/domain/mutations.ts";
import type { Stage } from "../conformance.ts";
import { admit, commitOne, NOW_MS, openAccount, releasedMutation, topUp } from "../fixture.ts";
import { BUYER, buy, openPurchaseMutation, payMutation, reversalMutation } from "../purchases.ts";

export const purchasePromises = (stage: Stage): void => {
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

  test("credits a purchase once when its payment is reported repeatedly", async () => {
    const { store, account } = stage;
    await all(openPurchaseMutation(account.seq, "a", 2500));
    expect(await store.purchase("pur_a")).toMatchObject({ state: "open", sessionId: null, receipt: null });
    const reported = await all(payMutation("a", 2500), payMutation("a", 2500));
    expect([...reported, await commitOne(store, payMutation("a", 2500))]).toMatchObject([
      { changed: true, transferredCredits: 2500, purchase: { id: "pur_a", accountId: account.id, state: "paid" } },
      { changed: false, transferredCredits: 0 },
      { changed: false, transferredCredits: 0 },
    ]);
    expect(await standing()).toEqual([3500, 0, false]);
    expect(await store.purchase("pur_a")).toMatchObject({
      ...{ state: "paid", credits: 2500, sessionId: "cs_a", paymentIntent: "pi_a", receipt: 1, paidAtMs: NOW_MS + 1000 },
    });
    const [top] = await store.transfers(account.id, null, 1);
    expect(await store.purchasesOfTransfers([top?.seq ?? 0, 1])).toEqual(new Map([[top?.seq ?? 0, "pur_a"]]));
  });

  test("credits nothing when the amount, currency or checkout of a payment differs", async () => {
    const { store, account } = stage;
    await all(openPurchaseMutation(account.seq, "a", 2500), openPurchaseMutation(account.seq, "b", 1000));
    await all({ mutation: "name-checkout", id: "pur_b", sessionId: "cs_b", atMs: NOW_MS });
    expect(await commitOne(store, payMutation("a", 2499))).toMatchObject({
      transferredCredits: 0,
      purchase: { state: "mismatched" },
    });
    expect(await commitOne(store, payMutation("a", 2500))).toMatchObject({ changed: false, purchase: { state: "mismatched" } });
    const { payment } = payMutation("c", 1000);
    expect((await commitOne(store, { ...payMutation("b", 1000), payment })).kind).toBe("refused");
    expect(await commitOne(store, payMutation("b", 1000, "eur"))).toMatchObject({ purchase: { state: "mismatched" } });
    expect((await commitOne(store, payMutation("none", 1000))).kind).toBe("refused");
    expect(await standing()).toEqual([1000, 0, false]);
    expect(await store.purchase("pur_a")).toMatchObject({ found: "2499 usd" });
    const found = async (sinceMs: number) => (await store.mismatchedPurchases(sinceMs, 9)).map(({ id }) => id).sort();
    expect([await found(NOW_MS), await found(NOW_MS + 1)]).toEqual([["pur_a", "pur_b"], []]);
  });

  test("credits a purchase that is paid after it expired, and never expires a paid purchase", async () => {
    const { store, account } = stage;
    await all(openPurchaseMutation(account.seq, "a", 1000));
    const expire = { mutation: "expire-purchase", id: "pur_a", atMs: NOW_MS } as const;
    expect(await all(expire, expire)).toMatchObject([{ changed: true }, { changed: false }]);
    expect(await store.openPurchases(NOW_MS + 1, 10)).toEqual([]);
    await all(payMutation("a", 1000), expire);
    expect(await store.purchase("pur_a")).toMatchObject({ state: "paid" });
    expect(await standing()).toEqual([2000, 0, false]);
  });

  test("lists open purchases by their last query to the payment provider, oldest first", async () => {
    const { store, account } = stage;
    for (const name of ["a", "b", "c"]) await all(openPurchaseMutation(account.seq, name, 1000));
    const next = async (beforeMs: number, limit = 9) => (await store.openPurchases(beforeMs, limit)).map(({ id }) => id);
    const asked = (name: string, atMs: number) => commitOne(store, { mutation: "note-asked", id: `pur_${name}`, atMs });
    expect([await next(NOW_MS), await next(NOW_MS + 1, 2)]).toEqual([[], ["pur_a", "pur_b"]]);
    await asked("a", NOW_MS + 20);
    await asked("b", NOW_MS + 10);
    expect([await next(NOW_MS + 99), await next(NOW_MS + 20)]).toEqual([
      ["pur_c", "pur_b", "pur_a"],
      ["pur_c", "pur_b"],
    ]);
    // A note that arrives late does not move a purchase forward.
    expect(await asked("a", NOW_MS + 5)).toMatchObject({ changed: false });
    for (const name of ["a", "b", "c"]) await all(payMutation(name, 1000));
    await asked("a", NOW_MS + 30);
    expect(await next(NOW_MS + 99)).toEqual([]);
    expect((await store.uninvoicedPurchases(NOW_MS, 2)).map(({ id }) => id)).toEqual(["pur_c", "pur_b"]);
  });

  test.each([900, 1050, 500_100, 0, -1000])("rejects a purchase of %d credits", async (credits) => {
    expect((await commitOne(stage.store, openPurchaseMutation(stage.account.seq, "a", credits))).kind).toBe("refused");
  });

  test("reverses the difference for each refund, never more than was paid, and undoes a refund that failed", async () => {
    const { store, account } = stage;
    await buy(store, account.seq, "a", 1000);
    expect(await commitOne(store, reversalMutation("re_1", "a", 300))).toMatchObject({ transferredCredits: -300 });
    expect(await commitOne(store, reversalMutation("re_1", "a", 300))).toMatchObject({ changed: false, transferredCredits: 0 });
    expect(await commitOne(store, reversalMutation("re_2", "a", 200))).toMatchObject({ transferredCredits: -200 });
    expect(await commitOne(store, reversalMutation("dp_1", "a", 900, { kind: "dispute" }))).toMatchObject({
      transferredCredits: -500,
    });
    expect(await standing()).toEqual([1000, 0, false]);
    expect(await store.purchase("pur_a")).toMatchObject({ refundedCredits: 500, disputedCredits: 900, reversedCredits: 1000 });
    await all(reversalMutation("dp_1", "a", 900, { kind: "dispute", state: "returned" }));
    expect(await commitOne(store, reversalMutation("re_2", "a", 200, { state: "returned" }))).toMatchObject({
      transferredCredits: 200,
    });
    // A report from before the failure arrives late.
    expect(await commitOne(store, reversalMutation("re_2", "a", 200))).toMatchObject({ changed: false });
    expect(await standing()).toEqual([1700, 0, false]);
    expect(await store.purchase("pur_a")).toMatchObject({ refundedCredits: 300, disputedCredits: 0, reversedCredits: 300 });
  });

  test("applies a refund that arrives before its payment when the payment arrives", async () => {
    const { store, account } = stage;
    await all(openPurchaseMutation(account.seq, "a", 1000), reversalMutation("re_1", "a", 400));
    expect(await standing()).toEqual([1000, 0, false]);
    expect(await commitOne(store, payMutation("a", 1000))).toMatchObject({
      transferredCredits: 600,
      purchase: { state: "paid" },
    });
    expect(await standing()).toEqual([1600, 0, false]);
    expect(await store.purchase("pur_a")).toMatchObject({ refundedCredits: 400, reversedCredits: 400 });
  });

  test("reverses nothing for an inquiry until it becomes a dispute", async () => {
    const { store, account } = stage;
    await buy(store, account.seq, "a", 1000);
    const stands = (state: "asked" | "taken" | "lost") => reversalMutation("dp_1", "a", 1000, { kind: "dispute", state });
    expect(await all(stands("asked"), stands("taken"), stands("asked"), stands("lost"))).toMatchObject([
      { transferredCredits: 0 },
      { transferredCredits: -1000 },
      { changed: false },
      { changed: true, transferredCredits: 0 },
    ]);
  });

  test("records a debt and a pause when a dispute exceeds the balance, and undoes both when it is won", async () => {
    const { store, account } = stage;
    await buy(store, account.seq, "a", 1000);
    const running = await admit(store, account);
    await all(adjust(-1500));
    expect(await standing()).toEqual([390, 0, false]);
    const dispute = reversalMutation("dp_1", "a", 1000, { kind: "dispute" });
    expect(await commitOne(store, dispute)).toMatchObject({ transferredCredits: -390, purchase: { owedCredits: 610 } });
    expect(await standing()).toEqual([0, 610, true]);
    expect(await commitOne(store, { ...dispute, state: "returned" })).toMatchObject({ transferredCredits: 1000 });
    expect(await standing()).toEqual([390, 0, false]);
    await all(releasedMutation(running.seq, 1));
    expect(await standing()).toEqual([500, 0, false]);
  });

  test("repays a debt from incoming credits first, and unpauses the account when the debt is zero", async () => {
    const { store, account } = stage;
    await all(adjust(-1300));
    expect(await standing()).toEqual([0, 300, true]);
    expect(await topUp(store, account.seq, 100)).toMatchObject({ kind: "done", credits: 100 });
    expect(await standing()).toEqual([0, 200, true]);
    expect(await buy(store, account.seq, "a", 1000)).toMatchObject({ transferredCredits: 1000 });
    expect(await standing()).toEqual([800, 0, false]);
    const notes = (await store.transfers(account.id, null, 4)).map(({ kind, credits, note }) => [kind, credits, note]);
    expect(notes).toEqual([
      ["adjust", 200, "settles what was owed"],
      ["topup", 1000, "purchase pur_a"],
      ["adjust", 100, "settles what was owed"],
      ["topup", 100, "pack"],
    ]);
  });

  test("keeps an explicit pause of the account when its debt is repaid", async () => {
    const { store, account } = stage;
    const pause = { mutation: "set-account", accountSeq: account.seq, paused: true } as const;
    await all(pause, adjust(-1300));
    await topUp(store, account.seq, 500);
    expect(await standing()).toEqual([200, 0, true]);
    // The same holds for an explicit pause that follows the pause by the debt.
    await all({ ...pause, paused: false }, adjust(-300), pause);
    await topUp(store, account.seq, 100);
    expect(await standing()).toEqual([0, 0, true]);
    // A limit that is set meanwhile is not an explicit pause.
    await all({ ...pause, paused: false }, adjust(-50), { mutation: "set-account", accountSeq: account.seq, burstPerS: 3 });
    await topUp(store, account.seq, 60);
    expect(await standing()).toEqual([10, 0, false]);
  });

  test("returns purchases in pages, newest first, of one account or of all accounts", async () => {
    const { store, account } = stage;
    const other = await openAccount(store, 0);
    for (const name of ["a", "b", "c"]) await buy(store, account.seq, name, 1000);
    await buy(store, other.seq, "d", 1000);
    const ids = async (...of: Parameters<typeof store.purchases>) => (await store.purchases(...of)).map(({ id }) => id);
    expect(await ids(account.id, null, 10)).toEqual(["pur_c", "pur_b", "pur_a"]);
    expect(await ids(account.id, "pur_c", 1)).toEqual(["pur_b"]);
    expect(await ids(null, null, 2)).toEqual(["pur_d", "pur_c"]);
    expect((await store.purchases(null, null, 9)).map(({ receipt }) => receipt)).toEqual([4, 3, 2, 1]);
  });

  test("stores an invoice once, and lists purchases without an invoice", async () => {
    const { store, account } = stage;
    await buy(store, account.seq, "a", 1000);
    expect((await store.uninvoicedPurchases(NOW_MS, 5)).map(({ id }) => id)).toEqual(["pur_a"]);
    expect(await store.uninvoicedPurchases(NOW_MS + 2000, 5)).toEqual([]);
    const invoice = { mutation: "note-invoice", id: "pur_a", number: "R-1", url: "https://pay.example/1", atMs: NOW_MS } as const;
    expect(await all(invoice, { ...invoice, url: "https://pay.example/2" })).toMatchObject([
      { changed: true },
      { changed: false },
    ]);
    expect(await store.purchase("pur_a")).toMatchObject({ invoiceUrl: "https://pay.example/1", invoiceNumber: "R-1" });
    expect(await store.uninvoicedPurchases(NOW_MS, 5)).toEqual([]);
  });

  test("stores and clears the low-balance alert threshold of an account", async () => {
    const { store, account } = stage;
    const mark = { mutation: "set-low-balance", accountSeq: account.seq, by: BUYER, atMs: NOW_MS } as const;
    expect(await store.lowBalance(account.seq)).toBeNull();
    await all({ ...mark, credits: 700 }, { ...mark, credits: 0 });
    expect(await store.lowBalance(account.seq)).toBe(0);
    await all({ ...mark, credits: null });
    expect(await store.lowBalance(account.seq)).toBeNull();
  });
};
