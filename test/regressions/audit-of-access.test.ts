// Audit log of access to other accounts' generations and of inspector tokens.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { openVisitor, type Visitor } from "../console/signed-in.ts";
import { type Harness, openHarness } from "../harness.ts";

let harness: Harness;
let operator: Visitor;
let member: Visitor;
let id: string;
beforeAll(async () => {
  harness = await openHarness({ env: { GENROUTER_INSPECTOR__PROMPTS: "true" } });
  operator = await openVisitor(harness, "operator", null);
  member = await openVisitor(harness, "member", harness.tenant);
  id = (await harness.until((await harness.submit("sim-image-1", { prompt: "a secret kite" })).id)).id;
});
afterAll(() => harness.close());

/** Principal, target and detail of the audit log lines of an action. */
const lines = async (action: string) => {
  const found = await harness.store.audit(null, 50, { action });
  return found.reverse().map(({ actor, target, detail }) => [actor.name, target, detail.what ?? detail.role]);
};
const look = async (who: Visitor) => {
  for (const path of ["?account=*", `?account=${harness.tenant.accountId}`, `/${id}`, `/${id}/files/1`])
    expect((await who.ask("GET", `/console/api/generations${path}`)).status).toBe(200);
  expect((await who.ask("GET", `/inspector/api/generations/${id}`)).status).toBe(200);
};

test("audits the access of an operator to another account once per hour for each target", async () => {
  await look(operator);
  await look(operator);
  const once = [
    [operator.email, null, "generations"],
    [operator.email, harness.tenant.accountId, "generations"],
    [operator.email, id, "generation"],
    [operator.email, id, "files"],
    [operator.email, id, "replay"],
  ];
  await harness.eventually(async () => (await lines("note-look")).length >= once.length, "the audit lines");
  expect(await lines("note-look")).toEqual(once);
  harness.clock.skip(3_600_000);
  await look(operator);
  await harness.eventually(async () => (await lines("note-look")).length >= 2 * once.length, "the audit lines of the next hour");
  expect(await lines("note-look")).toEqual([...once, ...once]);
});

test("does not audit the access of a member to the own account", async () => {
  const before = await lines("note-look");
  for (const path of ["", `/${id}`, `/${id}/files/1`])
    expect((await member.ask("GET", `/console/api/generations${path}`)).status).toBe(200);
  expect((await operator.ask("GET", "/console/api/me")).status).toBe(200);
  expect(await lines("note-look")).toEqual(before);
});

test("audits the creation of an inspector token with its principal", async () => {
  expect((await operator.ask("POST", "/inspector/api/token", {}, { "x-csrf-token": operator.csrf })).status).toBe(200);
  await harness.eventually(async () => (await lines("note-inspector-token")).length === 1, "the audit line");
  expect(await lines("note-inspector-token")).toEqual([[operator.email, null, "operator"]]);
});
