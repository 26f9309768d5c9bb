// The admin service gives the same results through the control socket of a running service and on a store that the process owns.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type AdminService, createAdminService, lastTransfers } from "../../src/admin/admin-service.ts";
import { createRuntimeStats } from "../../src/app/runtime-stats.ts";
import { openControl } from "../../src/cli/control.ts";
import { adminOverSocket, requestFor } from "../../src/cli/control-client.ts";
import { demoAccount, demoKey } from "../../src/cli/demo.ts";
import { messageOf } from "../../src/cli/exit-codes.ts";
import { findSocketPath } from "../../src/cli/socket-path.ts";
import { systemClock } from "../../src/domain/clock.ts";
import { hashApiKey, isWellFormedApiKey } from "../../src/domain/ids.ts";
import type { AdminMutation } from "../../src/domain/mutations.ts";
import type { Mode, Store } from "../../src/store/store.ts";
import { openDirectory } from "../store/open-store.ts";
import { inventoryOver } from "./catalogue-fixture.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

afterAll(dropDirs);

type Way = { store: Store; admin: AdminService; dir: string; posts: AdminMutation[]; close: () => Promise<void> };

const COUNTS = { queued: 0, running: 0, live: 0, deadlines: 0, tasks: 0, writes: 0 };
const ABOUT = { url: "http://127.0.0.1:1", mode: "test", version: "0.0.0", pid: process.pid } as const;

const openWay = async (dir: string, overSocket: boolean, mode: Mode = "test"): Promise<Way> => {
  const store = await openDirectory({ dir, mode });
  const posts: AdminMutation[] = [];
  const here = createAdminService({
    reads: store,
    post: async (mutation) => {
      posts.push(mutation);
      const [outcome] = await store.commit([mutation]);
      if (outcome?.kind !== "done" && outcome?.kind !== "refused") throw new Error("no outcome");
      return outcome;
    },
    mode,
    clock: systemClock(),
    ...inventoryOver(store, dir),
  });
  if (!overSocket) return { store, admin: here, dir, posts, close: () => store.close() };
  const closeControl = openControl(
    dir,
    here,
    ABOUT,
    () => undefined,
    createRuntimeStats(() => COUNTS),
  );
  const close = async () => {
    await closeControl();
    await store.close();
  };
  return { store, admin: adminOverSocket(dir), dir, posts, close };
};

/** The fault as a command reports it, in the same form for both connections. */
const faultOf = async (promise: Promise<unknown>) => {
  const fault = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  const { exit, code, lines, expected } = await messageOf(fault);
  if (!expected) throw new Error(`expected a fault that a command reports, got ${fault}`);
  return { exit, code, message: lines.join(" "), fix: lines[1] };
};

describe.each([
  ["the admin service on its own directory", false],
  ["the admin service over the control socket", true],
] as const)("%s", (_, overSocket) => {
  let way: Way;
  beforeAll(async () => {
    way = await openWay(freshDir(), overSocket);
  });
  afterAll(() => way.close());

  test("creates an account with its first credits, lists it, pauses and resumes it, and sets its limits", async () => {
    const made = await way.admin.createAccount({ reference: "r-1", name: "acme", creditCredits: 2500 });
    expect(made).toEqual({ id: expect.stringMatching(/^acc_[0-9a-z]{26}$/), name: "acme", availableCredits: 2500 });
    expect((await way.admin.listAccounts({})).map((row) => row.id)).toContain(made.id);
    expect((await way.admin.setAccount({ id: made.id, paused: true })).paused).toBe(true);
    const limited = await way.admin.setAccount({ id: made.id, burstPerS: 50, inProgressLimit: 7 });
    expect(limited).toMatchObject({ paused: true, burstPerS: 50, inProgressLimit: 7 });
    const back = await way.admin.setAccount({ id: made.id, paused: false, burstPerS: null });
    expect(back).toMatchObject({ paused: false, burstPerS: null, inProgressLimit: 7, promptRetentionS: null });
    for (const promptRetentionS of [86_400, 0, "forever", null] as const)
      expect((await way.admin.setAccount({ id: made.id, promptRetentionS })).promptRetentionS).toBe(promptRetentionS);
  });

  test("creates and credits an account once when the same reference is sent several times", async () => {
    const ask = { reference: "r-2", name: "twice", creditCredits: 1000 };
    const [one, two] = await Promise.all([way.admin.createAccount(ask), way.admin.createAccount(ask)]);
    const again = await way.admin.createAccount(ask);
    expect([one.id, two.id]).toEqual([again.id, again.id]);
    expect(again.availableCredits).toBe(1000);
    expect((await way.admin.listAccounts({})).filter((row) => row.name === "twice")).toHaveLength(1);
  });

  test("adds credits once per reference, and rejects the reference for another account or amount", async () => {
    const { id } = await way.admin.createAccount({ reference: "r-3", name: "c", creditCredits: 0 });
    const ask = { reference: "invoice 1", accountId: id, credits: 1230, note: "invoice 1" };
    expect((await way.admin.addCredits(ask)).transferredCredits).toBe(1230);
    await way.admin.addCredits(ask);
    await way.admin.addCredits({ ...ask, note: "again" });
    expect((await way.admin.showCredits({ accountId: id, last: 10 })).account.availableCredits).toBe(1230);
    const other = await way.admin.createAccount({ reference: "r-3b", name: "d", creditCredits: 0 });
    for (const clash of [
      { ...ask, accountId: other.id },
      { ...ask, credits: 1231 },
    ])
      expect((await faultOf(way.admin.addCredits(clash))).message).toContain("invoice 1");
    const direct = createAdminService({
      reads: way.store,
      post: async (mutation) => (await way.store.commit([mutation]))[0] as never,
      mode: "test",
      clock: systemClock(),
      ...inventoryOver(way.store, way.dir),
    });
    expect((await faultOf(direct.addCredits({ ...ask, accountId: other.id }))).message).toMatch(/already used/);
  });

  test("takes at most the available balance, records the rest as debt and pauses the account", async () => {
    const { id } = await way.admin.createAccount({ reference: "r-4", name: "e", creditCredits: 1000 });
    const taken = await way.admin.takeCredits({ reference: "dispute", accountId: id, credits: 1500, note: "dispute" });
    expect(taken.transferredCredits).toBe(-1000);
    expect(taken.account).toMatchObject({ availableCredits: 0, owedCredits: 500, paused: true });
  });

  test("creates a key that authenticates its account, lists only the start of the key, and revokes it once", async () => {
    const { id } = await way.admin.createAccount({ reference: "r-5", name: "f", creditCredits: 0 });
    const made = await way.admin.createKey({ reference: "k-1", accountId: id, scope: "read", name: "reports" });
    expect(isWellFormedApiKey(made.key)).toBe(true);
    expect(made.key).toStartWith("gr_test_");
    expect(await way.store.callerByKeyHash(hashApiKey(made.key))).toMatchObject({ accountId: id, scope: "read" });
    const [row] = await way.admin.listKeys({ accountId: id });
    expect(row).toMatchObject({ id: made.id, start: made.key.slice(0, 12), revokedAtMs: null });
    expect(JSON.stringify(row)).not.toContain(made.key.slice(0, 20));
    const revoked = await way.admin.revokeKey({ id: made.id });
    expect(revoked.revokedAtMs).toBeNumber();
    expect(await way.admin.revokeKey({ id: made.id })).toEqual(revoked);
    expect(await way.store.callerByKeyHash(hashApiKey(made.key))).toBeUndefined();
  });

  test.each<[string, (admin: AdminService) => Promise<unknown>]>([
    ["setAccount", (admin) => admin.setAccount({ id: "acc_none", paused: true })],
    ["createKey", (admin) => admin.createKey({ reference: "k", accountId: "acc_none", scope: "read", name: "" })],
    ["addCredits", (admin) => admin.addCredits({ reference: "c", accountId: "acc_none", credits: 5, note: "" })],
    ["showCredits", (admin) => admin.showCredits({ accountId: "acc_none", last: 0 })],
    ["listKeys", (admin) => admin.listKeys({ accountId: "acc_none" })],
    ["revokeKey", (admin) => admin.revokeKey({ id: "key_none" })],
  ])("%s fails with not_found and commits nothing when the account or key does not exist", async (_name, ask) => {
    const before = way.posts.length;
    const fault = await faultOf(ask(way.admin));
    expect([fault.exit as number, fault.code]).toEqual([4, "not_found"]);
    expect(fault.fix).toMatch(/genrouter (accounts|keys) list/);
    expect(way.posts).toHaveLength(before);
  });

  test("returns the requested number of last transfers, oldest first, from a history of 57", async () => {
    const { id } = await way.admin.createAccount({ reference: "r-6", name: "g", creditCredits: 0 });
    const account = await way.store.account(id);
    const top = (n: number): AdminMutation => ({
      mutation: "credit",
      accountSeq: account?.seq ?? 0,
      kind: "topup",
      credits: n,
      note: `${n}`,
      reference: null,
      atMs: n,
    });
    await way.store.commit(Array.from({ length: 57 }, (_, at) => top(at + 1)));
    const notes = async (last: number) =>
      (await way.admin.showCredits({ accountId: id, last })).transfers.map((row) => Number(row.note));
    expect(await notes(3)).toEqual([55, 56, 57]);
    expect(await notes(57)).toHaveLength(57);
    expect(await notes(200)).toHaveLength(57);
    expect(await notes(0)).toEqual([]);
    expect((await lastTransfers(way.store, id, 1)).map((row) => row.chainSeq)).toEqual([57]);
  });
});

describe("the control socket", () => {
  test("has mode 0600, answers with the address and pid of the service, and is removed when the service stops", async () => {
    const way = await openWay(freshDir(), true);
    const path = findSocketPath(way.dir);
    expect(path).toBe(join(way.dir, "control.sock"));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(await requestFor(way.dir)).toEqual(ABOUT);
    await way.close();
    expect(existsSync(path)).toBe(false);
    expect(await requestFor(way.dir)).toBeUndefined();
  });

  test("moves to a private directory, named in control.path, when the data directory's path is too long for a socket", async () => {
    const dir = join(freshDir(), "long".repeat(30));
    mkdirSync(dir);
    const way = await openWay(dir, true);
    const note = readFileSync(join(dir, "control.path"), "utf8").trim();
    expect(note).toBe(findSocketPath(dir));
    expect(statSync(join(note, "..")).mode & 0o777).toBe(0o700);
    expect(await requestFor(dir)).toEqual(ABOUT);
    expect(await way.admin.listAccounts({})).toEqual([]);
    await way.close();
    expect([existsSync(note), existsSync(join(note, "..")), existsSync(join(dir, "control.path"))]).toEqual([
      false,
      false,
      false,
    ]);
  });

  test("performs concurrent requests with the same reference once and returns the same key to each", async () => {
    const way = await openWay(freshDir(), true);
    const { id } = await way.admin.createAccount({ reference: "a", name: "n", creditCredits: 0 });
    const ask = { reference: "same", accountId: id, scope: "generate", name: "" } as const;
    const keys = await Promise.all([way.admin.createKey(ask), way.admin.createKey(ask), way.admin.createKey(ask)]);
    expect(new Set(keys.map((made) => made.key)).size).toBe(1);
    expect(await way.admin.listKeys({ accountId: id })).toHaveLength(1);
    await way.close();
  });

  test.each<[string, string, RegExp]>([
    ["createAccount", '{"name":"x"}', /reference/],
    ["addCredits", '{"reference":"r","accountId":"a","credits":1.5,"note":""}', /credits/],
    ["addCredits", '{"reference":"r","accountId":"a","credits":-5,"note":""}', /credits/],
    ["setAccount", '{"id":"a","seq":1}', /seq/],
    ["setAccount", '{"id":"a","promptRetentionS":-1}', /promptRetentionS/],
    ["setAccount", '{"id":"a","promptRetentionS":"never"}', /promptRetentionS/],
    ["dropEverything", "{}", /has no operation dropEverything/],
    ["constructor", "{}", /has no operation/],
    ["listAccounts", "not json", /JSON/],
  ])("rejects an invalid request before it reaches the admin service: %s %s", async (operation, body, message) => {
    const way = await openWay(freshDir(), true);
    const response = await fetch(`http://control/${operation}`, { unix: findSocketPath(way.dir), method: "POST", body });
    const answer = (await response.json()) as { fault: { message: string } };
    expect(answer.fault.message).toMatch(message);
    expect(way.posts).toEqual([]);
    await way.close();
  });

  test("replaces a socket file that a killed process left", async () => {
    const dir = freshDir();
    await Bun.write(join(dir, "control.sock"), "");
    const way = await openWay(dir, true);
    expect(await requestFor(dir)).toEqual(ABOUT);
    await way.close();
  });
});

test("demoKey creates one demo account with 100 USD, keeps its key, and replaces the key after it was revoked", async () => {
  const way = await openWay(freshDir(), false);
  const key = await demoKey(way.dir, way.admin, way.store);
  expect(await demoKey(way.dir, way.admin, way.store)).toBe(key);
  expect(statSync(join(way.dir, "demo-key")).mode & 0o777).toBe(0o600);
  const [made] = await way.admin.listKeys({ accountId: null });
  await way.admin.revokeKey({ id: made?.id ?? "" });
  const next = await demoKey(way.dir, way.admin, way.store);
  expect(next).not.toBe(key);
  expect(await way.admin.listAccounts({})).toMatchObject([{ name: "demo", availableCredits: 10_000 }]);
  await way.close();
});

test("demoKey creates one demo account when three nodes start at the same time", async () => {
  const way = await openWay(freshDir(), false);
  const dirs = [freshDir(), freshDir(), freshDir()];
  const keys = await Promise.all(dirs.map((dir) => demoKey(dir, way.admin, way.store)));
  expect(new Set(keys).size).toBe(dirs.length);
  expect(await way.admin.listAccounts({})).toMatchObject([{ name: "demo", availableCredits: 10_000 }]);
  await way.close();
});

test.each([
  ["the demo account of a simulator", "test", true],
  ["no account in live mode, although one has the id of a demo account", "live", true],
  ["no account in a simulator whose start created none", "test", false],
] as const)("setUpLink invites the first operator to %s", async (_, mode, isMade) => {
  const way = await openWay(freshDir(), false, mode);
  const made = isMade ? await demoAccount(way.admin) : null;
  await way.admin.setUpLink({});
  const [invitation] = await way.store.invitations();
  expect(invitation).toMatchObject({ kind: "setup", role: "operator", accountId: mode === "test" ? (made?.id ?? null) : null });
  await way.close();
});
