// A data directory with at least one row in every table, and texts that PostgreSQL cannot store unchanged.
import { Database } from "bun:sqlite";
import { expect } from "bun:test";
import { join } from "node:path";
import { hashApiKey, newId } from "../../src/domain/ids.ts";
import { MIGRATED_TABLES } from "../../src/store/migrate-to-postgres/tables.ts";
import { DATABASE_FILE } from "../../src/store/sqlite/open.ts";
import type { Store } from "../../src/store/store.ts";
import { erasure } from "../store/contract/erasure.ts";
import { endpointMutation, failedTry } from "../store/contract/webhooks.ts";
import { makeWorld } from "../store/every-row-fixture.ts";
import {
  type Account,
  admit,
  COPY,
  NOW_MS,
  openAccount,
  PIN,
  pinnedMutation,
  releasedMutation,
  startedMutation,
  stepMutation,
  succeed,
} from "../store/fixture.ts";
import { openHere } from "../store/open-store.ts";
import { BUYER } from "../store/purchases.ts";
import { append, createResumable, deletion, inputOf, upload } from "../store/uploads.ts";

const HOUR_MS = 3_600_000;
const by = { kind: "command", id: "0", name: "root" } as const;
export const INVITATION = hashApiKey("the link");
export const SESSION = hashApiKey("the session");
/** A provider's text, and the form of it that both databases can store. */
export const SAID = "bad\0news \ud800 and \u{1f98a}";
export const KEPT = "bad\ufffdnews \ufffd and \u{1f98a}";

export const OPEN_UPLOAD = "upl_open";
export const ENDED_UPLOAD = "upl_ended";

/** An open upload with a stored part, and one that ended with a part whose bytes are not deleted yet. */
const resumableUploads = async (store: Store, accountSeq: number): Promise<void> => {
  for (const uploadId of [OPEN_UPLOAD, ENDED_UPLOAD]) {
    await store.commit([createResumable(accountSeq, { uploadId, metadata: "filename Y2xpcA==" })]);
    await append(store, uploadId, 0, 60);
  }
  const error = { code: "invalid_input", status: 422, message: "file: the media cannot be read" };
  await store.commit([{ mutation: "end-resumable-upload", accountSeq, uploadId: ENDED_UPLOAD, error, atMs: NOW_MS + 9 }]);
};

const users = async (store: Store, accountSeq: number): Promise<void> => {
  const session = { id: newId("ses"), hash: SESSION, expiresAtMs: NOW_MS + HOUR_MS, agent: "Firefox", address: "::1" };
  const link = { id: newId("inv"), hash: INVITATION, expiresAtMs: NOW_MS + HOUR_MS, atMs: NOW_MS, by } as const;
  const newUser = { accountSeq: null, accountName: null, email: null, userId: null } as const;
  const outcomes = await store.commit([
    { mutation: "invite", ...link, ...newUser, kind: "setup", role: "operator" },
    {
      ...{ mutation: "accept-invitation", hash: INVITATION, userId: newId("per"), email: "ada@example.com", name: "Ada" },
      ...{ password: "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaA", account: null, session, atMs: NOW_MS },
    },
    { mutation: "make-console-key", accountSeq, id: newId("key"), atMs: NOW_MS },
    { mutation: "set-low-balance", accountSeq, credits: 70, by: BUYER, atMs: NOW_MS },
    { mutation: "set-spend-alert", accountSeq, credits: 9000, by: BUYER, atMs: NOW_MS },
    { mutation: "set-provider-key", account: "fal", id: "k1", sealed: "sealed\tsecret\\n", atMs: NOW_MS, by },
    { mutation: "switch-route", routeId: "a", reason: "too dear:\n\\.", atMs: NOW_MS, by },
    { mutation: "save-route-health", routeId: "b", snapshot: '{"open":1}', atMs: NOW_MS },
    { mutation: "note-recovery", text: "far" },
    { mutation: "beat", atMs: NOW_MS + 77 },
  ]);
  expect(outcomes.filter(({ kind }) => kind === "refused")).toEqual([]);
};

/** An endpoint whose secrets were rotated, a delivery that was tried, and a submission with an address of its own. */
const webhooks = async (store: Store, account: Account): Promise<void> => {
  const endpoint = endpointMutation(account, { url: "https://example.com/\t\\N" });
  const rotate = { mutation: "rotate-webhook-secret", accountSeq: account.seq, overlapMs: HOUR_MS, atMs: NOW_MS } as const;
  await store.commit([endpoint, { ...rotate, endpointId: endpoint.id }, { ...rotate, endpointId: null }]);
  await succeed(store, account, { webhookUrl: "https://example.com/once" });
  const [last] = await store.webhookDeliveries(account.seq, null, 1);
  await store.commit([{ mutation: "record-webhook-tries", results: [failedTry(last?.seq ?? 0)], endpoints: [] }]);
  // No node sends the others, so that both databases return the same.
  const all = await store.webhookDeliveries(account.seq, null, 100);
  const ended = all.map(({ seq, tries }) => ({ ...failedTry(seq, tries.length), state: "failed", dueAtMs: null }) as const);
  await store.commit([{ mutation: "record-webhook-tries", results: ended, endpoints: [] }]);
  await store.commit([{ mutation: "delete-webhook-endpoint", id: endpoint.id, accountSeq: account.seq, atMs: NOW_MS + 1 }]);
};

/** Fails a generation with a provider text that PostgreSQL cannot store as JSON. */
const failBadly = async (store: Store, account: Account): Promise<void> => {
  const prompt = `a fox\0 in the "snow"\t\\N \u{1f98a}\r\n`;
  const mutation = await admit(store, account, {
    body: JSON.stringify({ input: { duration: 5, prompt }, model: "vidmodel-2.0" }),
  });
  await store.commit([
    startedMutation(mutation),
    stepMutation(mutation.seq, 2, {
      attemptChanges: [{ n: 1, state: "failed", failure: { class: "job_failed", detail: SAID } }],
    }),
    releasedMutation(mutation.seq, 3, { settlement: { kind: "release", error: { code: "provider_failed", message: SAID } } }),
  ]);
};

/** @returns the account that owns most of the rows. */
export const makeFullWorld = async (dir: string): Promise<Account> => {
  const path = join(dir, DATABASE_FILE);
  await makeWorld(path);
  const store = await openHere({ path, mode: "test", nowMs: NOW_MS });
  const account = await openAccount(store, 50_000);
  await users(store, account.seq);
  await failBadly(store, account);
  await webhooks(store, account);
  await store.commit([{ mutation: "note-key-use", uses: [[account.keySeq, NOW_MS + 5]] }]);
  const seen = { keySeq: account.keySeq, network: "192.0.2.0/24", address: "192.0.2.7" };
  await store.commit([{ mutation: "note-key-network", ...seen, atMs: NOW_MS + 6 }]);
  const pinned = await admit(store, account, { pins: [PIN], labels: { metadata: { order: "7" }, endUser: "ada" } });
  await store.commit([pinnedMutation(pinned.seq, [COPY])]);
  const file = await upload(store, account.seq, "input");
  const takes = await admit(store, account, { files: { inputs: [inputOf(file)], expireAtMs: NOW_MS + HOUR_MS } });
  await store.commit([releasedMutation(takes.seq, 1)]);
  const deleted = await upload(store, account.seq, "deleted");
  await store.commit([deletion(account.seq, deleted.id)]);
  const erased = await succeed(store, account, { labels: { metadata: { order: "8" }, endUser: null } });
  await store.commit([erasure(account, erased.seq)]);
  await resumableUploads(store, account.seq);
  const expired = await succeed(store, account);
  await store.commit([{ mutation: "roll-up-usage", limit: 1000 }]);
  await store.commit([{ mutation: "expire-files", seq: expired.seq, atMs: NOW_MS + 1000 * HOUR_MS }]);
  // Two further openings; the usage of the last one is not rolled up.
  await store.close();
  for (let n = 0; n < 2; n += 1) {
    const again = await openHere({ path, mode: "test", nowMs: NOW_MS + n });
    await succeed(again, account, { idempotencyKey: `opening ${n}` });
    await admit(again, account);
    if (n === 0) await again.commit([{ mutation: "roll-up-usage", limit: 1000 }]);
    await again.close();
  }
  const db = new Database(path);
  const empty = MIGRATED_TABLES.filter(({ name }) => db.query(`SELECT 1 FROM ${name}`).get() === null);
  db.close();
  expect(empty).toEqual([]);
  return account;
};
