// First use of an API key from a new network: audit log and service log.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { MAX_KEY_NETWORKS } from "../../src/config/cidr-list.ts";
import { hashApiKey } from "../../src/domain/ids.ts";
import { type Harness, openHarness } from "../harness.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await openHarness({ env: { GENROUTER_SERVER__TRUSTED_PROXIES: "127.0.0.1" } });
});
afterEach(() => harness.close());

/** Submits without a body from an address behind the local proxy; the key is checked before the body is rejected. */
const submitFrom = async (address: string) =>
  (await harness.request("POST", "/v1/generations", { headers: { "x-forwarded-for": address } })).status;
const readFrom = async (address: string) =>
  (await harness.request("GET", "/v1/generations/gen_none", { headers: { "x-forwarded-for": address } })).status;
const reported = async () => {
  await harness.components.upkeep.noteKeyUse();
  const found = await harness.store.audit(null, 200, { action: "note-key-network" });
  return found.reverse().map(({ actor, target, detail }) => [actor.name, target, detail.address, detail.network]);
};

test("records each network of a key once, with the first address used", async () => {
  const { keyId } = harness.tenant;
  for (const address of ["192.0.2.7", "192.0.2.8", "203.0.113.9", "192.0.2.7", "2001:db8:1:2::3", "2001:db8:1:9::3"])
    expect(await submitFrom(address)).toBe(400);
  const once = [
    ["API", keyId, "192.0.2.7", "192.0.2.0/24"],
    ["API", keyId, "203.0.113.9", "203.0.113.0/24"],
    ["API", keyId, "2001:db8:1:2::/64", "2001:db8:1::/48"],
  ];
  expect(await reported()).toEqual(once);
  expect(await submitFrom("203.0.113.10")).toBe(400);
  expect(await reported()).toEqual(once);
  expect(harness.lines.filter(({ event }) => event === "key used from new network").map(({ fields }) => fields)).toEqual(
    once.map(([, key_id = "", address = ""]) => ({ key_id, address })),
  );
});

test("records the network of reads at most once per ten seconds for each key", async () => {
  // The second request finds the key in the cache; the first one reads it from the store.
  for (const address of ["192.0.2.7", "192.0.2.7", "203.0.113.9"]) expect(await readFrom(address)).toBe(404);
  expect((await reported()).map(([, , address]) => address)).toEqual(["192.0.2.7"]);
  harness.clock.skip(10_000);
  expect(await readFrom("203.0.113.9")).toBe(404);
  expect((await reported()).map(([, , address]) => address)).toEqual(["192.0.2.7", "203.0.113.9"]);
});

test("does not record a network again that another process has recorded", async () => {
  expect(await submitFrom("192.0.2.7")).toBe(400);
  const before = await reported();
  const by = { kind: "service", id: "genrouter", name: "API" } as const;
  const keySeq = (await harness.store.callerByKeyHash(hashApiKey(harness.tenant.key)))?.keySeq ?? 0;
  const seen = { keySeq, network: "192.0.2.0/24", address: "192.0.2.99" };
  expect(await harness.components.post({ mutation: "note-key-network", ...seen, by, atMs: harness.clock.nowMs() })).toEqual({
    kind: "done",
  });
  expect(await reported()).toEqual(before);
});

test("stops recording at the maximum of networks for a key, and the key still works", async () => {
  for (let n = 0; n < MAX_KEY_NETWORKS + 5; n += 1) expect(await submitFrom(`10.1.${n}.1`)).toBe(400);
  expect((await reported()).length).toBe(MAX_KEY_NETWORKS);
});

test("records nothing for a wrong key", async () => {
  expect(await submitFrom("192.0.2.7")).toBe(400);
  const before = await reported();
  const { key } = harness.tenant;
  const { status } = await harness.request("GET", "/v1/generations/gen_none", {
    key: `${key.slice(0, -1)}${key.endsWith("x") ? "y" : "x"}`,
    headers: { "x-forwarded-for": "198.51.100.1" },
  });
  expect([status, await reported()]).toEqual([401, before]);
});
