// API keys: at most 100 valid keys per account, and a rate limit on console changes.
import { afterAll, describe, expect, test } from "bun:test";
import { join, setUp } from "../console/visitor.ts";
import { type Harness, openHarness } from "../harness.ts";

const harnesses: Harness[] = [];
const open = async (): Promise<Harness> => {
  const harness = await openHarness({ factor: 0 });
  harnesses.push(harness);
  return harness;
};
afterAll(async () => {
  for (const harness of harnesses) await harness.close();
});

const KEYS = "/console/api/keys";
const ask = (name: string) => ({
  name,
  scope: "generate",
  expiresAtMs: null,
  models: null,
  limits: { day: 500, week: null, month: null },
});

describe("a member", () => {
  test("has at most 100 valid keys, and can create one more after a key is revoked or expires", async () => {
    const harness = await open();
    const ada = await setUp(harness);
    const ben = await join(harness, ada, { email: "ben@example.com", role: "member" });
    const made: string[] = [];
    for (let n = 0; n < 100; n += 1) {
      if (n % 50 === 0) await harness.clock.skip(60_000);
      made.push(
        (
          await ben.ok(
            "POST",
            KEYS,
            n === 7 ? { ...ask("short"), expiresAtMs: harness.clock.nowMs() + 3_600_000 } : ask(`key ${n}`),
          )
        ).id as string,
      );
    }
    await harness.clock.skip(60_000);
    const refused = await ben.ask("POST", KEYS, ask("one more"));
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining("100 keys at most")]);
    // A leaked key can be rotated without an overlap. An overlap would make two valid keys.
    expect((await ben.ask("POST", `${KEYS}/${made[1]}/rotate`, { overlapMs: 60_000 })).status).toBe(409);
    await ben.ok("POST", `${KEYS}/${made[1]}/rotate`, { overlapMs: 0 });
    await ben.ok("POST", `${KEYS}/${made[0]}/revoke`);
    await ben.ok("POST", KEYS, ask("instead"));
    expect(await ben.no("POST", KEYS, ask("one more"))).toBe("refused");
    await harness.clock.skip(3_600_000);
    await ben.ok("POST", KEYS, ask("instead of the short one"));
    // The expired key cannot be extended because the limit is reached, but it can be renamed.
    expect((await ben.ask("PATCH", `${KEYS}/${made[7]}`, { expiresAtMs: null })).status).toBe(409);
    await ben.ok("PATCH", `${KEYS}/${made[7]}`, { name: "was short" });
    // The limit does not affect another account.
    await ada.ok("POST", KEYS, ask("of another account"));
  }, 60_000);

  test("is throttled with 429 after many changes in a row but can still read", async () => {
    const harness = await open();
    const ada = await setUp(harness);
    const rename = () => ada.ask("PATCH", "/console/api/me", { name: "Ada L." });
    const statuses: number[] = [];
    for (let n = 0; n < 125; n += 1) statuses.push((await rename()).status);
    expect([statuses.indexOf(429), statuses.filter((status) => status === 429).length]).toEqual([
      expect.any(Number),
      expect.any(Number),
    ]);
    expect(statuses.slice(-3)).toEqual([429, 429, 429]);
    const waits = await rename();
    expect([waits.headers.get("retry-after"), (waits.body.error as { code: string }).code]).toEqual(["1", "throttled"]);
    await ada.ok("GET", "/console/api/sessions");
    await harness.clock.skip(1_000);
    expect((await rename()).status).toBe(200);
  }, 60_000);
});

test("store.key returns a key by its id and undefined for a console key or an unknown id", async () => {
  const harness = await open();
  const { keyId, accountId, accountSeq } = harness.tenant;
  expect(await harness.store.key(keyId)).toEqual((await harness.store.keys(accountId))[0]);
  await harness.store.commit([{ mutation: "make-console-key", accountSeq, id: "key_console", atMs: harness.clock.nowMs() }]);
  expect([await harness.store.key("key_console"), await harness.store.key("key_none")]).toEqual([undefined, undefined]);
});
