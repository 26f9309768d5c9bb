// Audit of operator actions: one line with the principal in the same transaction, and none for rejected requests.
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { JsonObject } from "../../src/domain/types.ts";
import { type Harness, openHarness } from "../harness.ts";
import { join, setUp, type Visitor } from "./visitor.ts";

let harness: Harness;
let ada: Visitor;
let vi: Visitor;
beforeAll(async () => {
  harness = await openHarness({ factor: 1000 });
  ada = await setUp(harness);
  vi = await join(harness, ada, { email: "vi@example.com", role: "viewer" });
});
afterAll(() => harness.close());

const API = "/console/api/operator";
const ROUTE = `${API}/routes/${encodeURIComponent("vidmodel-2.0-mini/fal")}`;
const CANARY = "sk-canary-51d0a7e2";
const newestSeq = async () => (await harness.store.audit(null, 1, {}))[0]?.seq ?? 0;
/** The audit lines after `seq`, oldest first. */
const since = async (seq: number) =>
  (await harness.store.audit(null, 100, {}))
    .filter((row) => row.seq > seq)
    .map(({ action, target, detail, actor }) => ({ action, target, detail, by: actor.name }))
    .reverse();

test("writes one line with the principal and the change for each change on the operator pages", async () => {
  const { accountId } = await harness.newTenant(1_000);
  const before = await newestSeq();
  const account = `${API}/accounts/${accountId}`;
  await ada.ok("PATCH", account, { paused: true });
  await ada.ok("PATCH", account, { paused: false, inProgressLimit: 5 });
  await ada.ok("POST", `${account}/credits`, { reference: crypto.randomUUID(), credits: 300, note: "gift" });
  await ada.ok("POST", `${account}/credits`, { reference: crypto.randomUUID(), credits: -100, note: "too much" });
  await ada.ok("POST", `${ROUTE}/switch`, { reason: "too slow" });
  await ada.ok("POST", `${ROUTE}/switch`, { reason: null });
  await ada.ok("POST", `${API}/providers/stability/key`, { key: CANARY });
  await ada.ok("DELETE", `${API}/providers/stability/key`);
  const lines = await since(before);
  expect(lines).toMatchObject([
    { action: "set-account", target: accountId, detail: { paused: true } },
    { action: "set-account", target: accountId, detail: { paused: false, inProgressLimit: 5 } },
    { action: "credit", target: accountId, detail: { kind: "topup", credits: 300, note: "gift", transferredCredits: 300 } },
    {
      action: "credit",
      target: accountId,
      detail: { kind: "adjust", credits: -100, note: "too much", transferredCredits: -100 },
    },
    { action: "switch-route", target: "vidmodel-2.0-mini/fal", detail: { reason: "too slow" } },
    { action: "switch-route", target: "vidmodel-2.0-mini/fal", detail: { reason: null } },
    { action: "set-provider-key", target: "stability" },
    { action: "drop-provider-key", target: "stability" },
  ]);
  expect(new Set(lines.map(({ by }) => by))).toEqual(new Set(["ada@example.com"]));
  expect(JSON.stringify(lines)).not.toContain(CANARY);
});

test("creates and credits an account once when the request is repeated, and writes it to the log once", async () => {
  const before = await newestSeq();
  const request = { reference: crypto.randomUUID(), name: "Studio Nord", creditCredits: 400 };
  const [first, again] = [await ada.ok("POST", `${API}/accounts`, request), await ada.ok("POST", `${API}/accounts`, request)];
  expect([again.id, again.availableCredits]).toEqual([first.id, 400]);
  const lines = await since(before);
  expect(lines.filter(({ action }) => action === "create-account")).toHaveLength(1);
  const moved = lines.filter(({ action }) => action === "credit").map(({ detail }) => (detail as JsonObject).transferredCredits);
  expect(moved.filter((credits) => credits !== 0)).toEqual([400]);
});

test("records test purchases and low-balance thresholds with the user who made them", async () => {
  const { accountId } = await harness.newTenant(0);
  const ben = await join(harness, ada, { email: "ben@example.com", role: "member", accountId });
  const before = await newestSeq();
  const { id } = (await ben.ok("POST", "/console/api/purchases", { amount_usd: 50 })) as { id: string };
  for (let i = 0; i < 2; i++) await ben.ok("POST", `/console/api/purchases/${id}/test`, { how: "pay" });
  for (const usd of [7, 7, 0, null, null]) await ben.ok("POST", "/console/api/credits/low", { usd });
  await ada.ok("POST", `/console/api/credits/low?account=${accountId}`, { usd: 3 });
  const by = "ben@example.com";
  const mark = { action: "set-low-balance", target: accountId, by };
  expect(await since(before)).toMatchObject([
    { action: "open-purchase", target: id, detail: { accountId, credits: 5000, provider: "test" }, by },
    { action: "pay-purchase", target: id, detail: { accountId, credits: 5000, transferredCredits: 5000 }, by },
    { ...mark, detail: { credits: 700 } },
    { ...mark, detail: { credits: 0 } },
    { ...mark, detail: { credits: null } },
    { ...mark, detail: { credits: 300 }, by: "ada@example.com" },
  ]);
  const shown = (await vi.ok("GET", `${API}/audit?target=${id}`)) as { lines: JsonObject[] };
  expect(shown.lines.map(({ action }) => action)).toEqual(["pay-purchase", "open-purchase"]);
});

test("writes no line for rejected or read-only requests", async () => {
  const before = await newestSeq();
  const request = { reference: crypto.randomUUID(), name: "x", creditCredits: 0 };
  expect(await vi.no("POST", `${API}/accounts`, request)).toBe("forbidden");
  expect(await vi.no("POST", `${ROUTE}/switch`, { reason: "x" })).toBe("forbidden");
  expect(await ada.no("POST", `${ROUTE}/switch`, { reason: " " })).toBe("invalid");
  expect((await ada.ask("PATCH", `${API}/accounts/acc_none`, { paused: true })).status).toBe(404);
  for (const path of ["accounts", "routes", "providers", "verification", "service"]) await vi.ok("GET", `${API}/${path}`);
  expect(await since(before)).toEqual([]);
});
