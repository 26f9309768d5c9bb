// Store contract of low balances: the event is in the transaction that makes the balance low, once.
import { describe, expect, test } from "bun:test";
import type { MutationResult } from "../../../src/domain/mutations.ts";
import type { Credits } from "../../../src/domain/types.ts";
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
import { BUYER, buy, reversalMutation } from "../purchases.ts";
import { endpointMutation } from "./webhooks.ts";

const lowOf = (outcome: MutationResult) => ("lowBalance" in outcome ? outcome.lowBalance : undefined);

export const lowBalancePromises = (stage: Stage): void => {
  const threshold = (credits: Credits | null) =>
    ({ mutation: "set-low-balance", accountSeq: stage.account.seq, credits, by: BUYER, atMs: NOW_MS }) as const;
  const adjust = (credits: Credits) =>
    // biome-ignore format: one line
    ({ mutation: "credit", accountSeq: stage.account.seq, kind: "adjust", credits, note: "", reference: null, atMs: NOW_MS }) as const;
  /** Events in the outbox, newest first. */
  const events = async () =>
    (await stage.store.webhookDeliveries(stage.account.seq, null, 100)).filter(({ type }) => type === "credits.low");

  describe("low balance", () => {
    test("is announced by the hold that falls below the threshold, and again only after it was reached", async () => {
      const { store, account } = stage;
      await store.commit([endpointMutation(account, { events: "credits.low" }), threshold(890)]);
      const reached = await commitOne(store, admitMutation(account));
      expect(lowOf(reached)).toBeUndefined();
      const fallen = admitMutation(account);
      const low = lowOf(await commitOne(store, fallen));
      expect(low).toMatchObject({ accountSeq: account.seq, availableCredits: 780, thresholdCredits: 890 });
      expect(low?.deliveries).toMatchObject([
        {
          ...{ type: "credits.low", generationSeq: null, url: null, sequence: 3, createdAtMs: NOW_MS },
          data: JSON.stringify({
            ...{ object: "balance", balance_usd: 10, held_usd: 2.2, available_usd: 7.8, owed_usd: 0, limits: [] },
          }),
        },
      ]);
      expect((await events()).map(({ seq }) => seq)).toEqual(low?.deliveries.map(({ seq }) => seq) ?? []);
      expect(lowOf(await commitOne(store, admitMutation(account)))).toBeUndefined();
      await store.commit([releasedMutation(fallen.seq, 1)]);
      expect(lowOf(await commitOne(store, admitMutation(account)))).toBeUndefined();
      await topUp(store, account.seq, 500);
      expect(await events()).toHaveLength(1);
      const again = await store.commit([
        admitMutation(account),
        admitMutation(account),
        admitMutation(account),
        admitMutation(account),
      ]);
      expect(again.map((one) => lowOf(one)?.availableCredits)).toEqual([undefined, undefined, 840, undefined]);
      expect(await events()).toHaveLength(2);
    });

    test("adjustments of transfers have the debt after each, and whether it is a repayment", async () => {
      const { store, account } = stage;
      const kept = await openAccount(store, 100);
      await commitOne(store, { ...adjust(-30), accountSeq: kept.seq });
      for (const credits of [-1300, 200, -50, 500, -40]) await commitOne(store, adjust(credits));
      const factsOf = async (accountId: string) => {
        const transfers = (await store.transfers(accountId, null, 100)).reverse();
        const facts = await store.adjustmentsOfTransfers(transfers.map(({ seq }) => seq));
        return transfers.map(({ seq, from, credits }) => {
          const { isRepayment, owedCredits } = facts.get(seq) ?? {};
          return [from === "available" ? -credits : credits, isRepayment, owedCredits];
        });
      };
      expect(await factsOf(account.id)).toEqual([
        [1000, false, 0],
        [-1000, false, 300],
        [200, false, 300],
        [-200, true, 100],
        [500, false, 150],
        [-150, true, 0],
        [-40, false, 0],
      ]);
      expect(await factsOf(kept.id)).toEqual([
        [100, false, 0],
        [-30, false, 0],
      ]);
      expect(await store.adjustmentsOfTransfers([])).toEqual(new Map());
    });

    test("is announced for accounts with and without an endpoint that receives it, and never by default or for 0", async () => {
      const { store, account } = stage;
      await store.commit([endpointMutation(account, { events: "generation.failed purchase.completed" })]);
      expect(lowOf(await commitOne(store, admitMutation(account)))).toBeUndefined();
      await commitOne(store, threshold(0));
      expect(lowOf(await commitOne(store, admitMutation(account)))).toBeUndefined();
      await commitOne(store, threshold(700));
      expect(lowOf(await commitOne(store, admitMutation(account)))).toMatchObject({ availableCredits: 670, deliveries: [] });
    });

    test("is announced by an adjustment and by a refund, and not by a capture or a top-up", async () => {
      const { store, account } = stage;
      await buy(store, account.seq, "a", 1000);
      await store.commit([endpointMutation(account, { events: "*" }), threshold(1900)]);
      const mutation = await admit(store, account);
      expect(await events()).toHaveLength(1);
      await store.commit([startedMutation(mutation), capturedMutation(mutation.seq, 2, 1, PRICES.a)]);
      expect(lowOf(await commitOne(store, adjust(-100)))).toMatchObject({ availableCredits: 1825, thresholdCredits: 1900 });
      expect(lowOf(await commitOne(store, adjust(-1)))).toBeUndefined();
      expect(lowOf(await commitOne(store, adjust(76)))).toBeUndefined();
      const refund = lowOf(await commitOne(store, reversalMutation("re_a", "a", 10)));
      expect(refund).toMatchObject({ availableCredits: 1890 });
      expect(await events()).toHaveLength(3);
    });

    test("shows the debt of a refund that takes more than there is", async () => {
      const { store, account } = stage;
      await store.commit([endpointMutation(account, { events: "*" }), threshold(1)]);
      const low = lowOf(await commitOne(store, adjust(-1300)));
      expect(JSON.parse(low?.deliveries[0]?.data ?? "{}")).toMatchObject({ available_usd: 0, owed_usd: 3 });
    });

    test("is announced when the threshold is set above the balance, once", async () => {
      const { store, account } = stage;
      await store.commit([endpointMutation(account, { events: "*" })]);
      const set = await store.commit([
        threshold(1000),
        threshold(1001),
        threshold(2000),
        threshold(1000),
        threshold(null),
        threshold(5000),
      ]);
      expect(set.map((one) => lowOf(one)?.thresholdCredits)).toEqual([undefined, 1001, undefined, undefined, undefined, 5000]);
      expect(await events()).toHaveLength(2);
    });

    test("is not announced by a rejected mutation, nor by the one after it", async () => {
      const { store, account } = stage;
      await store.commit([endpointMutation(account, { events: "*" }), threshold(1000)]);
      const outcomes = await store.commit([
        { ...adjust(-10), reference: "x", by: BUYER, atMs: undefined } as never,
        { ...threshold(400) },
        adjust(-10),
      ]);
      expect(outcomes.map(({ kind }) => kind)).toEqual(["refused", "purchase", "done"]);
      expect(outcomes.map(lowOf)).toEqual([undefined, undefined, undefined]);
      expect(await events()).toEqual([]);
    });
  });
};
