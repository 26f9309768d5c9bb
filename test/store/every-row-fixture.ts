// Fixture for verify: every kind of generation, attempt and transfer, written by mutations over two openings.
import { expect } from "bun:test";
import { hashApiKey, newApiKey, newId } from "../../src/domain/ids.ts";
import type { ApplyTransition } from "../../src/domain/transition.ts";
import type { Store } from "../../src/store/store.ts";
import {
  type Account,
  admit,
  capturedMutation,
  NOW_MS,
  openAccount,
  PRICES,
  releasedMutation,
  startedMutation,
  stepMutation,
  succeed,
  violations,
} from "./fixture.ts";
import { openHere } from "./open-store.ts";
import { buy, decideMutation, foreignMutation, openPurchaseMutation, reversalMutation } from "./purchases.ts";

const commitAll = async (store: Store, ...mutations: ApplyTransition[]): Promise<void> => {
  for (const outcome of await store.commit(mutations))
    if (outcome.kind !== "stepped") throw new Error(`a step of the world was ${JSON.stringify(outcome)}`);
};

/** Route a was lost and delivered late, route b was charged, and the attempt on c became superseded when b delivered. */
const eventful = async (store: Store, account: Account): Promise<void> => {
  const mutation = await admit(store, account);
  const watchUntilMs = NOW_MS + 900_000;
  await commitAll(
    store,
    { ...startedMutation(mutation), event: { type: "slotTaken", n: 1 } },
    stepMutation(mutation.seq, 2, { attemptChanges: [{ n: 1, state: "lost", watchUntilMs }] }),
    startedMutation(mutation, 3, 2, "b"),
    stepMutation(mutation.seq, 4, { attemptChanges: [{ n: 2, state: "capped", watchUntilMs }] }),
    startedMutation(mutation, 5, 3, "c"),
    {
      ...capturedMutation(mutation.seq, 6, 2, PRICES.b),
      attemptChanges: [
        { n: 2, state: "delivered", watchUntilMs: null },
        { n: 3, state: "superseded", watchUntilMs },
      ],
    },
  );
  const change = { n: 1, state: "late", watchUntilMs: null } as const;
  await store.commit([{ mutation: "mark-attempt", seq: mutation.seq, atMs: NOW_MS + 9000, change }]);
};

/** An account with two keys: one with a limit that is half spent, one without a limit. Both make generations for one end user. */
const limited = async (store: Store): Promise<void> => {
  const account = await openAccount(store, 500);
  const [key] = await store.keys(account.id);
  const limits = { day: 200, week: null, month: null };
  await store.commit([{ mutation: "set-key", keyId: key?.id ?? "", limits, atMs: NOW_MS }]);
  const other = { id: newId("key"), hash: hashApiKey(newApiKey("test")), start: "gr_test_efgh" };
  const terms = { expiresAtMs: null, models: ["vidmodel-2.0"], limits: { day: null, week: null, month: null } };
  const made = await store.commit([
    { mutation: "create-key", ...other, accountSeq: account.seq, scope: "generate", name: "", terms, atMs: NOW_MS },
  ]);
  const labels = { metadata: null, endUser: "ada" };
  await succeed(store, account, { labels });
  await succeed(store, { ...account, keySeq: made[0]?.kind === "done" ? (made[0].seq ?? 0) : 0 }, { labels });
};

/**
 * Three purchases. A dispute of `a` took more than the balance, and the payment of `b` repaid that debt. `b` is partly refunded
 * and has two reversals in another currency. `c` stays open.
 */
const buyAndDispute = async (store: Store, { seq }: Account): Promise<void> => {
  await buy(store, seq, "a", 1000);
  await store.commit([
    { mutation: "credit", accountSeq: seq, kind: "adjust", credits: -200, note: "spent", reference: null, atMs: NOW_MS },
    reversalMutation("dp_a", "a", 1000, { kind: "dispute" }),
  ]);
  await buy(store, seq, "b", 2500);
  await store.commit([reversalMutation("re_b", "b", 700), openPurchaseMutation(seq, "c", 1000)]);
  // One reversal in another currency is decided, another is not.
  await store.commit([
    foreignMutation("re_f", "b", 92),
    decideMutation("re_f", 100),
    foreignMutation("dp_f", "b", 10, { kind: "dispute" }),
  ]);
};

/**
 * Fills a new database: accounts 1 (most of it), 2 (one success and a debt), 3 (two keys, one with a limit) and 4 (purchases).
 */
export const makeWorldOver = async (open: () => Promise<Store>): Promise<void> => {
  const store = await open();
  const account = await openAccount(store, 5000);
  const other = await openAccount(store, 500);
  await succeed(store, account, { idempotencyKey: "k1" });
  await succeed(store, other, { idempotencyKey: "k1" });
  const failed = await admit(store, account);
  await commitAll(
    store,
    startedMutation(failed),
    stepMutation(failed.seq, 2, { attemptChanges: [{ n: 1, state: "failed" }] }),
    startedMutation(failed, 3, 2, "b"),
    releasedMutation(failed.seq, 4, { attemptChanges: [{ n: 2, state: "capped" }] }),
  );
  await eventful(store, account);
  const confirming = await admit(store, account);
  await commitAll(
    store,
    startedMutation(confirming),
    stepMutation(confirming.seq, 2, { stateAfter: "running.confirming.acceptance", message: "Confirming." }),
  );
  await commitAll(store, startedMutation(await admit(store, account, { idempotencyKey: "k2" })));
  const queued = await admit(store, account);
  expect(queued.seq).toBeGreaterThan(confirming.seq);
  await store.commit([
    { mutation: "credit", accountSeq: 2, kind: "adjust", credits: -900, note: "dispute", reference: "d", atMs: NOW_MS },
  ]);
  await limited(store);
  await buyAndDispute(store, await openAccount(store, 0));
  expect(await violations(store)).toEqual([]);
  await store.close();
  // A second opening, so that there are two epochs.
  const again = await open();
  await succeed(again, account);
  await again.close();
};

/** Fills a new database file. */
export const makeWorld = (path: string): Promise<void> => makeWorldOver(() => openHere({ path, mode: "test", nowMs: NOW_MS }));
