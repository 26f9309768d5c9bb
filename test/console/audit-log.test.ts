// Audit log of the console: names of what an entry mentions, and filters by person, kind and target.
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { AuditView } from "../../src/console/users-dto.ts";
import { type Harness, openHarness } from "../harness.ts";
import { join, setUp, type Visitor } from "./visitor.ts";

let harness: Harness;
let ada: Visitor;
let viewer: Visitor;
let accountId = "";
beforeAll(async () => {
  harness = await openHarness({ factor: 1000 });
  ada = await setUp(harness);
  viewer = await join(harness, ada, { email: "vi@example.com", role: "viewer" });
  const request = { reference: crypto.randomUUID(), name: "Studio Nord", creditCredits: 400 };
  accountId = String((await ada.ok("POST", "/console/api/operator/accounts", request)).id);
  await ada.ok("PATCH", `/console/api/operator/accounts/${accountId}`, { paused: true });
});
afterAll(() => harness.close());

const log = async (query: string) => (await viewer.ok("GET", `/console/api/operator/audit${query}`)) as AuditView;

test("returns the names of accounts and users that entries mention, and the users to filter by", async () => {
  const { names, users, lines } = await log("?action=set-account");
  expect(lines).toMatchObject([{ target: accountId, detail: { paused: true } }]);
  expect(names[accountId]).toEqual({ kind: "account", name: "Studio Nord", accountId });
  const actor = lines[0]?.actor.id ?? "";
  expect(names[actor]).toMatchObject({ kind: "user", name: users.find(({ id }) => id === actor)?.name });
  expect(users.map(({ email }) => email)).toContain("vi@example.com");
});

test("finds a target by its name in any case, and the entries of a user and of the command line", async () => {
  for (const target of ["studio nord", "STUDIO NORD", accountId])
    expect((await log(`?target=${encodeURIComponent(target)}`)).lines.map(({ action }) => action)).toEqual([
      "set-account",
      "credit",
      "create-account",
    ]);
  const { lines, users } = await log("");
  const byAda = users.find(({ email }) => email !== "vi@example.com")?.id ?? "";
  expect((await log(`?actor=${byAda}`)).lines).toEqual(lines.filter(({ actor }) => actor.id === byAda));
  for (const kind of ["user", "command", "service"] as const)
    expect((await log(`?actorKind=${kind}`)).lines).toEqual(lines.filter(({ actor }) => actor.kind === kind));
  expect(lines.some(({ actor }) => actor.kind === "user")).toBe(true);
  expect((await log("?target=absent")).lines).toEqual([]);
});

test("rejects an unknown kind of principal", async () => {
  const { status, body } = await viewer.ask("GET", "/console/api/operator/audit?actorKind=robot");
  expect([status, body]).toMatchObject([400, { error: { message: "actorKind: one of user, command, service." } }]);
});

test("an id finds its own entries although another account has that id as its name", async () => {
  const request = { reference: crypto.randomUUID(), name: accountId, creditCredits: 0 };
  await ada.ok("POST", "/console/api/operator/accounts", request);
  const { lines } = await log(`?target=${accountId}`);
  expect(lines.map(({ target }) => target)).toEqual([accountId, accountId, accountId]);
});

test("records that a viewer has read the ledger of another account, which shows beginnings of prompts", async () => {
  const request = { reference: crypto.randomUUID(), name: "Studio South", creditCredits: 0 };
  const { id } = await ada.ok("POST", "/console/api/operator/accounts", request);
  await viewer.ok("GET", `/console/api/ledger?account=${id}`);
  const found = await harness.eventually(async () => {
    const { lines } = await log("?action=note-look");
    return lines.find(({ detail }) => detail.what === "ledger");
  }, "the entry");
  expect(found).toMatchObject({ target: id, detail: { what: "ledger" } });
});
