// Keys of providers in the console: a free check after saving, malformed keys, and stored keys that the configuration overrides.
import { afterEach, expect, test } from "bun:test";
import type { KeySet, KeysChecked, ProvidersPage } from "../../src/console/operator-dto.ts";
import { openHarness } from "../harness.ts";
import { type Operators, openOperators } from "./operators.ts";

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

const KEY = "key-id:key-secret";
/** Fal and Replicate have a key in the configuration. */
const open = async () => {
  const harness = await openHarness({ factor: 1000 });
  opened.push(harness);
  return { harness, users: await openOperators(harness) };
};
/** A key that fal does not know. */
const UNKNOWN = "key-id:unknown";
/** A service without a key of fal, whose requests pass a server that knows all keys but one. */
const openWithoutKey = async () => {
  const { simulator } = (await open()).harness;
  const fal = simulator.baseUrls.fal ?? "";
  const guard = Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0 },
    fetch: (request) => {
      if (request.headers.get("authorization")?.includes(UNKNOWN))
        return Response.json({ detail: "Authentication is required." }, { status: 401 });
      const { pathname, search } = new URL(request.url);
      return fetch(`${fal}${pathname}${search}`, { headers: request.headers });
    },
  });
  opened.push({ close: () => guard.stop(true) });
  const env = { GENROUTER_PROVIDERS__FAL__BASE_URL: guard.url.origin };
  const harness = await openHarness({ factor: 1000, providers: ["replicate"], simulator, env });
  opened.push(harness);
  return { harness, users: await openOperators(harness) };
};
const falOf = async (users: Operators) => {
  const { text } = await users.ask("viewer", "GET", "providers");
  const found = (JSON.parse(text) as ProvidersPage).providers.find(({ account }) => account === "fal");
  if (!found) throw new Error("there is no provider account fal");
  return found;
};
const set = (users: Operators, key: string, account = "fal") =>
  users.ask("operator", "POST", `providers/${account}/key`, { key });

test("checks a saved key with a free request, and returns that the provider accepts or rejects it", async () => {
  const { harness: service, users } = await openWithoutKey();
  const before = await service.store.accounts();
  const saved = await set(users, KEY);
  expect([saved.status, JSON.parse(saved.text) as KeySet]).toEqual([
    200,
    { account: "fal", isShadowed: false, checks: [{ provider: "fal", name: "fal", kind: "works", detail: expect.any(String) }] },
  ]);
  const { text } = await users.ask("operator", "POST", "providers/fal/check");
  expect((JSON.parse(text) as KeysChecked).checks).toMatchObject([{ provider: "fal", kind: "works" }]);
  expect((JSON.parse((await set(users, UNKNOWN)).text) as KeySet).checks).toEqual([
    { provider: "fal", name: "fal", kind: "refused", detail: expect.stringContaining("config_fault: 401") },
  ]);
  // Nothing was bought: no generation and no charge.
  expect(await service.store.accounts()).toEqual(before);
  expect((await users.ask("viewer", "POST", "providers/fal/check")).status).toBe(403);
  expect((await users.ask("operator", "POST", "providers/nope/check")).status).toBe(404);
});

test.each([
  ["fal", "a-key-without-a-colon", "ID:SECRET"],
  ["openai", "abc", "sk-…"],
  ["runway", "abc", "key_…"],
])("refuses a key of %s that has another form, and stores nothing", async (account, key, example) => {
  const { harness: service, users } = await open();
  const { status, text } = await set(users, key, account);
  expect([status, JSON.parse(text)]).toEqual([
    400,
    { error: { code: "bad_key", message: `The key is invalid; a key of ${account} looks like ${example}.` } },
  ]);
  expect(await service.store.providerKeys()).toEqual([]);
});

test("shows a stored key that the configuration overrides, without a check, until it is removed", async () => {
  const { users } = await open();
  // The harness configures the key of fal.
  expect(await falOf(users)).toMatchObject({ name: "fal", storedAtMs: null, keyExample: "ID:SECRET" });
  const saved = JSON.parse((await set(users, KEY)).text) as KeySet;
  expect(saved).toEqual({ account: "fal", isShadowed: true, checks: [] });
  const shown = await falOf(users);
  expect([shown.storedAtMs, shown.interfaces[0]?.key]).toEqual([expect.any(Number), { from: "settings", setAtMs: null }]);
  expect((await users.ask("operator", "DELETE", "providers/fal/key")).status).toBe(200);
  expect((await falOf(users)).storedAtMs).toBeNull();
  // The key of the configuration is still in use.
  const { text } = await users.ask("operator", "POST", "providers/fal/check");
  expect((JSON.parse(text) as KeysChecked).checks).toMatchObject([{ provider: "fal", kind: "works" }]);
});
