// Wrong passwords of a signed-in user are treated like failed sign-ins.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { openVisitor, type Visitor } from "../console/signed-in.ts";
import { type Harness, openHarness } from "../harness.ts";

let harness: Harness;
let visitor: Visitor;
beforeAll(async () => {
  harness = await openHarness({ factor: 0, env: { GENROUTER_SERVER__TRUSTED_PROXIES: "127.0.0.1" } });
  visitor = await openVisitor(harness, "operator", null);
});
afterAll(() => harness.close());

test("logs, audits and throttles wrong passwords of a signed-in user", async () => {
  const guess = () =>
    visitor.ask(
      "POST",
      "/console/api/me/password",
      { old: "wrong horse battery", password: "another horse battery" },
      { "x-forwarded-for": "203.0.113.9" },
    );
  const statuses: number[] = [];
  for (let n = 0; n < 12; n += 1) statuses.push((await guess()).status);
  expect(statuses).toEqual([...Array.from({ length: 10 }, () => 422), 429, 429]);
  const refused = harness.lines.filter(({ event }) => event === "sign-in rejected").map(({ fields }) => fields);
  expect(refused.map(({ outcome }) => outcome)).toEqual([
    ...Array.from({ length: 10 }, () => "wrong"),
    ...["throttled", "throttled"],
  ]);
  expect(refused[0]).toMatchObject({ address: "203.0.113.9", user_id: visitor.userId });
  const audited = await harness.store.audit(null, 10, { action: "note-refused-sign-ins" });
  expect(audited.map(({ target, detail }) => [target, detail])).toEqual([
    [visitor.userId, { wrong: 1, throttled: 0, networks: 1 }],
  ]);
});
