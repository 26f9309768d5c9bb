// Access control of the console: removed operators, and password guessing behind a shared proxy.
import { afterAll, expect, test } from "bun:test";
import { createProxies } from "../../src/http/proxies.ts";
import { dropDirs } from "../cli/fresh-dir.ts";
import { type Harness, openHarness } from "../harness.ts";
import { join, PASSWORD, setUp, tokenOf, visit } from "./visitor.ts";

const harnesses: Harness[] = [];
const open = async (): Promise<Harness> => {
  const harness = await openHarness({ factor: 0, env: { GENROUTER_SERVER__TRUSTED_PROXIES: "127.0.0.1" } });
  harnesses.push(harness);
  return harness;
};
afterAll(async () => {
  for (const harness of harnesses) await harness.close();
  dropDirs();
});

const USERS = "/console/api/operator/users";
const idOf = async (who: ReturnType<typeof visit>): Promise<string> =>
  ((await who.ok("GET", "/console/api/me")).signedIn as { userId: string }).userId;

test.each([
  ["disabled", { disabled: true }],
  ["made a viewer", { role: "viewer" }],
] as const)("links that an operator made before the operator was %s are rejected", async (_, change) => {
  const harness = await open();
  const ada = await setUp(harness);
  const eve = await join(harness, ada, { email: "eve@example.com", role: "operator" });
  const { url } = await eve.ok("POST", "/console/api/operator/invitations", {
    ...{ email: "eve2@example.com", role: "operator", accountId: null, accountName: null },
  });
  const { url: reset } = await eve.ok("POST", `${USERS}/${await idOf(ada)}/reset`);
  await ada.ok("PATCH", `${USERS}/${await idOf(eve)}`, change);
  for (const link of [url, reset])
    expect(
      await visit(harness).no("POST", "/console/api/link/accept", { token: tokenOf(link), name: "Eve", password: PASSWORD }),
    ).toBe("refused");
  // Links of other operators remain valid.
  const ben = await join(harness, ada, { email: "ben@example.com", role: "viewer" });
  expect(await idOf(ben)).toStartWith("per_");
});

test("throttles password guesses from one address, and no other client behind the same proxy", async () => {
  const harness = await open();
  await setUp(harness);
  const signIn = (from: string, email: string, password: string) =>
    visit(harness).ask("POST", "/console/api/session", { email, password }, { "x-forwarded-for": `10.9.9.9, ${from}` });
  const tries = Array.from({ length: 52 }, (_, n) => signIn("203.0.113.9", `unknown${n}@example.com`, "wrong horse battery"));
  const statuses = (await Promise.all(tries)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(2);
  expect((await signIn("203.0.113.9", "ada@example.com", PASSWORD)).status).toBe(429);
  expect((await signIn("203.0.113.10", "ada@example.com", PASSWORD)).status).toBe(200);
}, 60_000);

test("password guesses from one address throttle neither another address nor a password change, and guesses at a password change do not throttle sign-in", async () => {
  const harness = await open();
  const ada = await setUp(harness);
  const signIn = (from: string, password: string) =>
    visit(harness).ask("POST", "/console/api/session", { email: "ada@example.com", password }, { "x-forwarded-for": from });
  const guesses = await Promise.all(Array.from({ length: 12 }, () => signIn("203.0.113.9", "wrong horse battery")));
  expect(guesses.filter(({ status }) => status === 429)).toHaveLength(2);
  expect((await signIn("203.0.113.9", PASSWORD)).status).toBe(429);
  expect((await signIn("203.0.113.10", PASSWORD)).status).toBe(200);
  const change = (old: string) => ada.ask("POST", "/console/api/me/password", { old, password: PASSWORD });
  expect((await change(PASSWORD)).status).toBe(200);
  const tries = await Promise.all(Array.from({ length: 12 }, () => change("wrong horse battery")));
  expect(tries.filter(({ status }) => status === 429)).toHaveLength(2);
  expect((await change(PASSWORD)).status).toBe(429);
  expect((await signIn("203.0.113.10", PASSWORD)).status).toBe(200);
});

test.each([
  ["203.0.113.9", undefined, "203.0.113.9"],
  ["10.1.0.5", "198.51.100.1, 203.0.113.7", "203.0.113.7"],
  ["127.0.0.1", "198.51.100.1, 203.0.113.7, 10.1.0.5, ::ffff:10.2.0.9", "203.0.113.7"],
  ["fd00::1", "203.0.113.7", "203.0.113.7"],
  ["10.1.0.5", "10.1.0.6", "10.1.0.6"],
  ["11.1.0.5", "203.0.113.7", "11.1.0.5"],
  ["203.0.113.9", "198.51.100.1", "203.0.113.9"],
  ["127.0.0.1", "198.51.100.1, 203.0.113.7", "203.0.113.7"],
  ["::1", "not an address", "0:0:0:0::/64"],
  ["127.0.0.1", "1.2.3.4, 203.0.113.7:80", "203.0.113.7"],
  ["127.0.0.1", "1.2.3.4, 203.0.113.7:", "127.0.0.1"],
  ["::ffff:127.0.0.1", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8::1", undefined, "2001:db8:0:0::/64"],
  [undefined, "203.0.113.7", ""],
] as const)("a connection from %s with X-Forwarded-For %s: attempts are counted for %s", (peer, forwarded, counted) => {
  const headers = forwarded === undefined ? {} : { "x-forwarded-for": forwarded };
  const proxies = createProxies({ public_url: "", trusted_proxies: "10.0.0.0/8, fd00::1, 127.0.0.1" }, () => undefined);
  expect(proxies.callerOf(new Request("http://127.0.0.1/", { headers }), peer)).toBe(counted);
});
