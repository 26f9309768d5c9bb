// Roles of all console endpoints: each rejects visitors without its role.
import { afterAll, expect, test } from "bun:test";
import { readSettings } from "../../src/config/load.ts";
import { tablesOf } from "../../src/console/console.ts";
import { createSessions } from "../../src/console/sessions.ts";
import { type Harness, openHarness } from "../harness.ts";
import { join, setUp, visit } from "./visitor.ts";

let harness: Harness | undefined;
afterAll(async () => {
  await harness?.close();
});

test("every endpoint rejects visitors who are signed out or have a lower role", async () => {
  harness = await openHarness({ factor: 0 });
  const { store, components, clock } = harness;
  const settings = readSettings({});
  const routes = await tablesOf({
    ...{
      settings,
      clock,
      reads: store,
      post: components.post,
      checkout: components.checkout,
      issueToken: components.issueToken,
      isAtHome: () => false,
      operating: components.operating,
    },
    ...{ log: () => undefined, rollUpUsage: components.upkeep.rollUpUsage, models: () => [] },
    ...{
      sessions: createSessions({ reads: store, post: components.post, clock }),
      generationService: components.generationService,
      webhookService: components.webhookService,
      sentRequestOf: components.sentRequestOf,
    },
    admin: components.admin,
  });
  const ada = await setUp(harness);
  const member = await join(harness, ada, { email: "ben@example.com", role: "member" });
  // Has no account.
  const viewer = await join(harness, ada, { email: "vi@example.com", role: "viewer" });
  const below = { user: [], member: [viewer], viewer: [member], operator: [member, viewer] };
  const open: string[] = [];
  let refused = 0;
  for (const { method, path, who } of routes) {
    if (who === "anyone") {
      open.push(`${method} ${path}`);
      continue;
    }
    const where = path.replaceAll(/:\w+/g, "x_1");
    expect([method, path, await visit(harness).no(method, where)]).toEqual([method, path, "signed_out"]);
    for (const one of below[who]) {
      expect([method, path, await one.no(method, where)]).toEqual([method, path, "forbidden"]);
      refused += 1;
    }
  }
  expect(refused).toBeGreaterThan(8);
  // The complete list of public endpoints. Add a new one here on purpose.
  expect(open.sort()).toEqual([
    "GET /console/api/me",
    // For signed-in users, and with the simulator for this machine: test/inspector/home.test.ts.
    "GET /inspector/api/generations/:id",
    "POST /console/api/link",
    "POST /console/api/link/accept",
    "POST /console/api/session",
    "POST /console/api/sign-up",
  ]);
});
