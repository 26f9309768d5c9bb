// Store contract of webhooks: the outbox is written with the event, and results, redeliveries and retention change it.
import { expect, test } from "bun:test";
import { newId } from "../../../src/domain/ids.ts";
import type { CreateWebhookEndpoint, TryResult, WebhookTry } from "../../../src/domain/webhooks.ts";
import type { Store } from "../../../src/store/store.ts";
import type { Stage } from "../conformance.ts";
import {
  type Account,
  admit,
  admitMutation,
  capturedMutation,
  commitOne,
  NOW_MS,
  openAccount,
  releasedMutation,
  startedMutation,
  stepMutation,
} from "../fixture.ts";
import { buy, payMutation } from "../purchases.ts";

export const endpointMutation = (account: Account, more: Partial<CreateWebhookEndpoint> = {}): CreateWebhookEndpoint => ({
  ...{ mutation: "create-webhook-endpoint", id: newId("whe"), accountSeq: account.seq, keySeq: account.keySeq },
  ...{ url: "https://example.com/hook", events: "*", description: "", enabled: true, atMs: NOW_MS, ...more },
});
const openEndpoint = async (store: Store, account: Account, events = "*"): Promise<number> => {
  const outcome = await commitOne(store, endpointMutation(account, { events }));
  if (outcome.kind !== "done" || outcome.seq === undefined) throw new Error(JSON.stringify(outcome));
  return outcome.seq;
};

export const MADE: WebhookTry = { atMs: NOW_MS + 5000, status: 500, answer: "no", error: null, durationMs: 12 };
export const failedTry = (seq: number, triesBefore = 0): TryResult => ({
  ...{ seq, triesBefore, made: MADE, state: "pending", retryNo: triesBefore + 1, dueAtMs: NOW_MS + 10_000 },
});
const record = (store: Store, results: TryResult[], endpoints: Parameters<typeof recordMutation>[1] = []) =>
  commitOne(store, recordMutation(results, endpoints));
const recordMutation = (
  results: TryResult[],
  endpoints: {
    endpointSeq: number;
    failingSinceMs: number | null;
    lastFailureAtMs: number | null;
    disabledReason: string | null;
  }[],
) => ({ mutation: "record-webhook-tries", results, endpoints }) as const;

/** The step after the first that fails its attempt and ends the generation. */
const failedMutation = (seq: number) => releasedMutation(seq, 2, { attemptChanges: [{ n: 1, state: "failed" }] });

const types = async (store: Store, { seq }: Account) =>
  (await store.webhookDeliveries(seq, null, 100)).map(({ type, state }) => `${type} ${state}`);

const outboxPromises = (stage: Stage): void => {
  test("adds a delivery for each event of a generation, in the transaction of its step", async () => {
    const { store, account } = stage;
    const endpointSeq = await openEndpoint(store, account);
    const mutation = await admit(store, account);
    const started = await commitOne(store, startedMutation(mutation));
    expect(started).toMatchObject({
      deliveries: [{ endpointSeq, url: null, type: "generation.running", generationSeq: mutation.seq, sequence: 1, tries: 0 }],
    });
    expect(await commitOne(store, stepMutation(mutation.seq, 2))).not.toHaveProperty("deliveries");
    await store.commit([capturedMutation(mutation.seq, 3, 1, 75)]);
    expect(await types(store, account)).toEqual(["generation.succeeded pending", "generation.running pending"]);
    expect(await store.nextWebhooks(endpointSeq, 10)).toMatchObject([
      { sequence: 1 },
      { sequence: 3, createdAtMs: NOW_MS + 3000 },
    ]);
    expect(await store.webhookLanes()).toEqual([{ lane: endpointSeq, accountSeq: account.seq }]);
  });

  test("adds nothing for a rejected step, for other accounts, and for events that no endpoint subscribes to", async () => {
    const { store, account } = stage;
    await openEndpoint(store, account, "generation.failed");
    const other = await openAccount(store, 1000);
    const mutation = await admit(store, account);
    const foreign = await admit(store, other);
    await store.commit([startedMutation(mutation), startedMutation(foreign)]);
    const refused = await commitOne(store, capturedMutation(mutation.seq, 2, 1, 76));
    expect(refused.kind).toBe("refused");
    expect(await types(store, account)).toEqual([]);
    await store.commit([failedMutation(mutation.seq), failedMutation(foreign.seq)]);
    expect(await types(store, account)).toEqual(["generation.failed pending"]);
    expect(await types(store, other)).toEqual([]);
  });

  test("adds a delivery for the address of a submission, beside those of endpoints", async () => {
    const { store, account } = stage;
    const url = "https://example.com/once?job=7";
    const named = admitMutation(account, { webhookUrl: url });
    const plain = admitMutation(account);
    await store.commit([named, plain]);
    await store.commit([startedMutation(named), startedMutation(plain)]);
    expect(await store.nextWebhooks(-account.seq, 10)).toMatchObject([{ endpointSeq: null, url, generationSeq: named.seq }]);
    const endpointSeq = await openEndpoint(store, account);
    await store.commit([failedMutation(named.seq)]);
    expect((await store.webhookDeliveries(account.seq, null, 10)).map((row) => [row.type, row.url])).toEqual([
      ["generation.failed", url],
      ["generation.failed", "https://example.com/hook"],
      ["generation.running", url],
    ]);
    expect((await store.webhookLanes()).map(({ lane }) => lane)).toEqual([-account.seq, endpointSeq]);
  });

  test("adds a delivery for a paid purchase, and none for the same payment again", async () => {
    const { store, account } = stage;
    await buy(store, account.seq, "before", 1000);
    const endpointSeq = await openEndpoint(store, account, "purchase.completed generation.failed");
    const bought = await buy(store, account.seq, "a", 2500);
    expect(bought).toMatchObject({ kind: "purchase", deliveries: [{ endpointSeq, type: "purchase.completed", sequence: 1 }] });
    expect(await commitOne(store, payMutation("a", 2500))).not.toHaveProperty("deliveries");
    const [delivery, ...others] = await store.nextWebhooks(endpointSeq, 10);
    expect(JSON.parse(delivery?.data ?? "")).toMatchObject({ id: "pur_a", object: "purchase", amount_usd: 25 });
    expect(others).toEqual([]);
  });

  test("adds nothing after an endpoint is disabled or deleted", async () => {
    const { store, account } = stage;
    const [first, second] = [endpointMutation(account), endpointMutation(account)];
    await store.commit([first, second]);
    const atMs = NOW_MS + 1;
    await store.commit([
      { mutation: "set-webhook-endpoint", id: first.id, accountSeq: account.seq, keySeq: null, enabled: false, atMs },
      { mutation: "delete-webhook-endpoint", id: second.id, accountSeq: account.seq, atMs },
    ]);
    const mutation = await admit(store, account);
    await store.commit([startedMutation(mutation)]);
    expect(await types(store, account)).toEqual([]);
    expect((await store.webhookEndpoints(account.seq)).map(({ id, enabled }) => [id, enabled])).toEqual([[first.id, false]]);
  });
};

const resultPromises = (stage: Stage): void => {
  test("records tries once, and leaves a delivery that another result has changed", async () => {
    const { store, account } = stage;
    const endpointSeq = await openEndpoint(store, account);
    await store.commit([startedMutation(await admit(store, account))]);
    const [delivery] = await store.nextWebhooks(endpointSeq, 1);
    const seq = delivery?.seq ?? 0;
    const condition = { endpointSeq, failingSinceMs: MADE.atMs, lastFailureAtMs: MADE.atMs, disabledReason: null };
    await record(store, [failedTry(seq)], [condition]);
    await record(store, [{ ...failedTry(seq), state: "delivered", dueAtMs: null }]);
    expect(await store.nextWebhooks(endpointSeq, 1)).toMatchObject([{ seq, tries: 1, retryNo: 1, dueAtMs: NOW_MS + 10_000 }]);
    expect((await store.webhookDelivery(account.seq, seq))?.tries).toEqual([MADE]);
    expect(await store.webhookEndpoint(endpointSeq)).toMatchObject({ failingSinceMs: MADE.atMs, enabled: true });
    const made = { ...MADE, status: null, answer: null, error: "it took too long" };
    const last: TryResult = { seq, triesBefore: 1, made, state: "failed", retryNo: 1, dueAtMs: null };
    await record(store, [last], [{ ...condition, disabledReason: "gone" }]);
    expect((await store.webhookDelivery(account.seq, seq))?.tries).toEqual([MADE, made]);
    expect(await types(store, account)).toEqual(["generation.running failed"]);
    expect(await store.webhookEndpoint(endpointSeq)).toMatchObject({ enabled: false, disabledReason: "gone" });
    await store.commit([startedMutation(await admit(store, account))]);
    expect(await types(store, account)).toHaveLength(1);
  });

  test("reports an endpoint as disabled once, by the result that disabled it", async () => {
    const { store, account } = stage;
    const endpointSeq = await openEndpoint(store, account);
    const healthy = { endpointSeq, failingSinceMs: null, lastFailureAtMs: null, disabledReason: null };
    const gone = { ...healthy, failingSinceMs: NOW_MS, lastFailureAtMs: NOW_MS, disabledReason: "gone" };
    expect(await record(store, [], [healthy])).toEqual({ kind: "done" });
    expect(await record(store, [], [gone])).toEqual({ kind: "done", disabled: [endpointSeq] });
    expect(await record(store, [], [{ ...gone, disabledReason: "gone again" }])).toEqual({ kind: "done" });
    expect(await store.webhookEndpoint(endpointSeq)).toMatchObject({ enabled: false, disabledReason: "gone" });
    const { id = "" } = (await store.webhookEndpoint(endpointSeq)) ?? {};
    const change = { mutation: "set-webhook-endpoint", id, accountSeq: account.seq, keySeq: null, atMs: NOW_MS } as const;
    await store.commit([{ ...change, enabled: false }]);
    expect(await record(store, [], [gone])).toEqual({ kind: "done" });
    await store.commit([{ ...change, enabled: true }]);
    expect(await record(store, [], [gone])).toEqual({ kind: "done", disabled: [endpointSeq] });
  });

  test("makes deliveries due again that did not succeed, one or those since a time", async () => {
    const { store, account } = stage;
    const endpointSeq = await openEndpoint(store, account);
    for (let n = 0; n < 3; n += 1) await store.commit([startedMutation(await admit(store, account))]);
    const seqs = (await store.nextWebhooks(endpointSeq, 10)).map(({ seq }) => seq);
    const states = ["delivered", "failed", "failed"] as const;
    await record(
      store,
      seqs.map((seq, at) => ({ ...failedTry(seq), state: states[at] ?? "failed", dueAtMs: null })),
    );
    expect(await store.webhookLanes()).toEqual([]);
    const requeue = { mutation: "requeue-webhooks", accountSeq: account.seq, atMs: NOW_MS + 99 } as const;
    const many = { ...requeue, endpointSeq, limit: 1 } as const;
    expect(await commitOne(store, { ...many, afterSeq: 0 })).toEqual({ kind: "done", count: 1, seq: seqs[1] ?? 0 });
    expect(await commitOne(store, { ...many, afterSeq: seqs[2] ?? 0 })).toEqual({ kind: "done", count: 0 });
    await store.commit([{ ...requeue, endpointSeq, deliverySeq: seqs[0] ?? 0 }]);
    expect(await store.nextWebhooks(endpointSeq, 10)).toMatchObject([
      { seq: seqs[0], tries: 1, retryNo: 0, dueAtMs: NOW_MS + 99 },
      { seq: seqs[1], tries: 1, retryNo: 0, dueAtMs: NOW_MS + 99 },
    ]);
    expect((await commitOne(store, { ...requeue, accountSeq: 999, endpointSeq, deliverySeq: seqs[0] ?? 0 })).kind).toBe(
      "refused",
    );
  });

  test("makes failed and waiting deliveries of one endpoint due, each page once, and no other", async () => {
    const { store, account } = stage;
    const endpointSeq = await openEndpoint(store, account);
    const other = await openEndpoint(store, account);
    for (let n = 0; n < 5; n += 1) await store.commit([startedMutation(await admit(store, account))]);
    const seqs = (await store.nextWebhooks(endpointSeq, 10)).map(({ seq }) => seq);
    const foreign = (await store.nextWebhooks(other, 10)).map(({ seq }) => failedTry(seq));
    const [failed = 0, waiting = 0, gone = 0, delivered = 0, fresh = 0] = seqs;
    await record(store, [
      { ...failedTry(failed), state: "failed", dueAtMs: null },
      failedTry(waiting),
      { ...failedTry(gone), state: "failed", retryNo: 0, dueAtMs: null },
      { ...failedTry(delivered), state: "delivered", dueAtMs: null },
      ...foreign,
    ]);
    const atMs = NOW_MS + 99;
    const page = { mutation: "requeue-webhooks", accountSeq: account.seq, endpointSeq, limit: 2, atMs } as const;
    const first = await commitOne(store, { ...page, afterSeq: 0 });
    expect(first).toEqual({ kind: "done", count: 2, seq: waiting });
    expect(await commitOne(store, { ...page, afterSeq: waiting })).toEqual({ kind: "done", count: 1 });
    expect(await commitOne(store, { ...page, afterSeq: 0 })).toEqual({ kind: "done", count: 0 });
    const due = (await store.nextWebhooks(endpointSeq, 10)).map(({ seq, dueAtMs }) => [seq, dueAtMs - NOW_MS]);
    expect(due.filter(([seq]) => seq !== fresh)).toEqual([failed, waiting, gone].map((seq) => [seq, 99]));
    expect((await store.nextWebhooks(other, 10)).every(({ dueAtMs }) => dueAtMs === NOW_MS + 10_000)).toBe(true);
    expect((await commitOne(store, { ...page, accountSeq: 999, afterSeq: 0 })).kind).toBe("refused");
  });

  test("reads the states of the newest deliveries to endpoints, and an event in any state as it was sent", async () => {
    const { store, account } = stage;
    const other = await openAccount(store, 1000);
    const [first, gone] = [endpointMutation(account), endpointMutation(account)];
    for (const mutation of [first, gone]) await commitOne(store, mutation);
    await openEndpoint(store, other);
    const named = admitMutation(account, { webhookUrl: "https://example.com/once" });
    await store.commit([named]);
    await store.commit([startedMutation(named), startedMutation(await admit(store, other))]);
    await store.commit([failedMutation(named.seq)]);
    await commitOne(store, {
      ...{ mutation: "delete-webhook-endpoint", id: gone.id, accountSeq: account.seq, atMs: NOW_MS + 1 },
    });
    const [endpoint] = await store.webhookEndpoints(account.seq);
    const [pending] = await store.nextWebhooks(endpoint?.seq ?? 0, 1);
    const delivered = { ...failedTry(pending?.seq ?? 0), state: "delivered" as const, dueAtMs: null };
    await record(store, [delivered]);
    expect(await store.webhookOutcomes(account.seq, 100)).toEqual([
      { endpointId: first.id, state: "pending" },
      { endpointId: first.id, state: "delivered" },
    ]);
    // The limit counts deliveries of all receivers.
    expect(await store.webhookOutcomes(account.seq, 3)).toHaveLength(1);
    expect(await store.webhookEvent(account.seq, delivered.seq)).toEqual({
      ...(pending as NonNullable<typeof pending>),
      ...{ tries: 1, retryNo: 1, dueAtMs: NOW_MS + 1000 },
    });
    expect(await store.webhookEvent(other.seq, delivered.seq)).toBeUndefined();
  });

  test("adds a test event for one endpoint", async () => {
    const { store, account } = stage;
    const endpointSeq = await openEndpoint(store, account, "generation.failed");
    await openEndpoint(store, account);
    const send = { mutation: "send-test-webhook", accountSeq: account.seq, endpointSeq, atMs: NOW_MS } as const;
    const sent = await commitOne(store, send);
    expect(sent).toMatchObject({ kind: "done", delivery: { endpointSeq, type: "webhook.test", data: "{}" } });
    expect(await store.nextWebhooks(endpointSeq, 10)).toEqual(sent.kind === "done" && sent.delivery ? [sent.delivery] : []);
    expect(await types(store, account)).toHaveLength(1);
  });

  test("deletes old deliveries with their tries and addresses, and keeps newer ones", async () => {
    const { store, account } = stage;
    const named = admitMutation(account, { webhookUrl: "https://example.com/once" });
    await store.commit([named, startedMutation(named), failedMutation(named.seq)]);
    const [newest, oldest] = await store.webhookDeliveries(account.seq, null, 10);
    await record(store, [failedTry(oldest?.seq ?? 0)]);
    const sweep = { mutation: "sweep-webhooks", limit: 10 } as const;
    expect(await commitOne(store, { ...sweep, beforeSeq: newest?.seq ?? 0 })).toEqual({ kind: "done", count: 1 });
    expect(await types(store, account)).toEqual(["generation.failed pending"]);
    expect((await store.nextWebhooks(-account.seq, 10))[0]?.url).toBe("https://example.com/once");
    expect(await commitOne(store, { ...sweep, beforeSeq: (newest?.seq ?? 0) + 1 })).toEqual({ kind: "done", count: 1 });
    expect(await commitOne(store, { ...sweep, beforeSeq: (newest?.seq ?? 0) + 1 })).toEqual({ kind: "done", count: 0 });
  });
};

const endpointPromises = (stage: Stage): void => {
  test("creates at most 20 endpoints of an account, and again after one was deleted", async () => {
    const { store, account } = stage;
    const first = endpointMutation(account);
    const made = await store.commit([first, ...Array.from({ length: 19 }, () => endpointMutation(account))]);
    expect(made.map(({ kind }) => kind)).toEqual(Array(20).fill("done"));
    expect(await commitOne(store, endpointMutation(account))).toMatchObject({
      ...{ kind: "refused", reason: "an account has at most 20 webhook endpoints; delete one first" },
    });
    await store.commit([{ mutation: "delete-webhook-endpoint", id: first.id, accountSeq: account.seq, atMs: NOW_MS }]);
    expect((await commitOne(store, endpointMutation(account))).kind).toBe("done");
  });

  test("makes a key that changes the URL the creator of an endpoint, and leaves it to an operator otherwise", async () => {
    const { store, account } = stage;
    const { keySeq } = account;
    const made = endpointMutation(account, { keySeq: null });
    await store.commit([made]);
    const set = { mutation: "set-webhook-endpoint", id: made.id, accountSeq: account.seq, atMs: NOW_MS } as const;
    const creator = async () => (await store.webhookEndpoints(account.seq))[0]?.keySeq;
    await store.commit([{ ...set, keySeq, url: made.url, events: "generation.failed", enabled: false }]);
    expect(await creator()).toBe(null);
    await store.commit([{ ...set, keySeq: null, url: "https://example.com/operator" }]);
    expect(await creator()).toBe(null);
    await store.commit([{ ...set, keySeq, url: "https://example.com/account" }]);
    expect(await creator()).toBe(keySeq);
    await store.commit([{ ...set, keySeq: null, url: made.url }]);
    expect(await creator()).toBe(keySeq);
  });

  test("rotates the secret of an endpoint and of an account, and rejects an endpoint of another account", async () => {
    const { store, account } = stage;
    const other = await openAccount(store, 0);
    const endpoint = endpointMutation(account);
    await store.commit([endpoint]);
    const rotate = { mutation: "rotate-webhook-secret", accountSeq: account.seq, overlapMs: 500, atMs: NOW_MS } as const;
    expect(await store.defaultWebhookSecret(account.seq)).toEqual({ accountId: account.id, version: 1, previousUntilMs: null });
    expect(await commitOne(store, { ...rotate, endpointId: endpoint.id })).toMatchObject({ kind: "done", seq: 2 });
    expect(await commitOne(store, { ...rotate, endpointId: null })).toMatchObject({ kind: "done", seq: 2 });
    expect(await commitOne(store, { ...rotate, endpointId: null })).toMatchObject({ kind: "done", seq: 3 });
    expect(await store.defaultWebhookSecret(account.seq)).toMatchObject({ version: 3, previousUntilMs: NOW_MS + 500 });
    expect((await store.webhookEndpoints(account.seq))[0]).toMatchObject({
      secretVersion: 2,
      previousSecretUntilMs: NOW_MS + 500,
    });
    const foreign = await store.commit([
      { ...rotate, accountSeq: other.seq, endpointId: endpoint.id },
      { mutation: "set-webhook-endpoint", id: endpoint.id, accountSeq: other.seq, keySeq: null, enabled: false, atMs: NOW_MS },
      { mutation: "delete-webhook-endpoint", id: endpoint.id, accountSeq: other.seq, atMs: NOW_MS },
    ]);
    expect(foreign.map(({ kind }) => kind)).toEqual(["refused", "refused", "refused"]);
  });
};

export const webhookPromises = (stage: Stage): void => {
  outboxPromises(stage);
  resultPromises(stage);
  endpointPromises(stage);
};
