// Sign-in during a password attack: throttling, known devices, hash queue, audit.
import { afterAll, describe, expect, spyOn, test } from "bun:test";
import { createKnownDevices } from "../../src/console/known-devices.ts";
import { createPasswords } from "../../src/console/passwords.ts";
import { createSignInThrottle } from "../../src/console/sign-in-throttle.ts";
import { createTokenBucket } from "../../src/console/token-bucket.ts";
import type { EventFields } from "../../src/logging/events.ts";
import { testClock } from "../clock.ts";
import { join, PASSWORD, setUp, visit } from "../console/visitor.ts";
import { CHEAP_PASSWORDS, type Harness, openHarness } from "../harness.ts";

const harnesses: Harness[] = [];
const open = async (env: Record<string, string> = {}): Promise<Harness> => {
  const harness = await openHarness({ factor: 0, env: { GENROUTER_SERVER__TRUSTED_PROXIES: "127.0.0.1", ...env } });
  harnesses.push(harness);
  return harness;
};
afterAll(async () => {
  for (const harness of harnesses) await harness.close();
});

const SESSION = "/console/api/session";
const ADA = "ada@example.com";
const WRONG = "wrong horse battery";

/** The cookies that a response sets, in the form in which a browser sends them back. */
const cookiesOf = (headers: Headers): string =>
  headers
    .getSetCookie()
    .map((line) => line.split(";")[0] ?? "")
    .join("; ");

type From = { address: string; cookie?: string; email?: string };
const signIn = (harness: Harness, password: string, { address, cookie, email = ADA }: From) =>
  visit(harness).ask("POST", SESSION, { email, password }, { "x-forwarded-for": address, ...(cookie ? { cookie } : {}) });
/** Sends `count` wrong passwords, 60 at a time, from `networks` different networks. */
const attack = async (harness: Harness, count: number, networks: number): Promise<number[]> => {
  const statuses: number[] = [];
  for (let at = 0; at < count; at += 60) {
    const tries = Array.from({ length: Math.min(60, count - at) }, (_, n) =>
      signIn(harness, WRONG, { address: `100.${64 + (((at + n) % networks) >> 8)}.${((at + n) % networks) & 255}.7` }),
    );
    statuses.push(...(await Promise.all(tries)).map(({ status }) => status));
  }
  return statuses;
};

describe("a user under a password attack from many networks", () => {
  test("can sign in from a known browser and from a network outside the attack", async () => {
    const harness = await open();
    await setUp(harness);
    const before = await signIn(harness, PASSWORD, { address: "198.51.100.4" });
    const cookie = cookiesOf(before.headers);
    const statuses = await attack(harness, 240, 12);
    expect(statuses.filter((status) => status === 422)).toHaveLength(120);
    expect(statuses.filter((status) => status === 429)).toHaveLength(120);
    expect((await signIn(harness, PASSWORD, { address: "203.0.113.9" })).status).toBe(200);
    // A known browser can sign in from a throttled address, even after a wrong password of its own.
    expect((await signIn(harness, PASSWORD, { address: "100.64.0.7" })).status).toBe(429);
    expect((await signIn(harness, WRONG, { address: "100.64.0.7", cookie })).status).toBe(422);
    expect((await signIn(harness, PASSWORD, { address: "100.64.0.7", cookie })).status).toBe(200);
    // After one minute, unknown browsers can sign in from that address again.
    await harness.clock.skip(60_000);
    expect((await signIn(harness, PASSWORD, { address: "100.64.0.7" })).status).toBe(200);
  }, 60_000);

  test("is throttled from a browser with a forged device cookie and signs in with a genuine one", async () => {
    const harness = await open();
    await setUp(harness);
    const cookie = cookiesOf((await signIn(harness, PASSWORD, { address: "198.51.100.4" })).headers);
    const [, mark = ""] = /__Host-genrouter-device=([^;]+)/.exec(cookie) ?? [];
    await attack(harness, 12, 1);
    const address = "100.64.0.7";
    for (const [wrong, why] of [
      [mark.replace(/\.[^.]+$/, `.${"A".repeat(43)}`), "another signature"],
      [mark.replace(/^per_[0-9a-z]+/, "per_00000000000000000000000000"), "another user"],
      ["", "none"],
    ])
      expect([why, (await signIn(harness, PASSWORD, { address, cookie: `__Host-genrouter-device=${wrong}` })).status]).toEqual([
        why,
        429,
      ]);
    expect((await signIn(harness, PASSWORD, { address, cookie: `__Host-genrouter-device=${mark}` })).status).toBe(200);
  }, 60_000);

  test("is throttled after wrong passwords from a known browser, too", async () => {
    const harness = await open();
    await setUp(harness);
    const cookie = cookiesOf((await signIn(harness, PASSWORD, { address: "198.51.100.4" })).headers);
    const tries = await Promise.all(
      Array.from({ length: 12 }, () => signIn(harness, WRONG, { address: "198.51.100.4", cookie })),
    );
    expect(tries.filter(({ status }) => status === 429)).toHaveLength(2);
    const waits = await signIn(harness, PASSWORD, { address: "198.51.100.4", cookie });
    expect([waits.status, waits.headers.get("retry-after")]).toEqual([429, "60"]);
  });
});

test("the device cookie remembers at most four users and drops the oldest", () => {
  const devices = createKnownDevices("00".repeat(32));
  const users = ["a", "b", "c", "d", "e"].map((letter) => `per_${letter.repeat(26)}`);
  let cookie = "";
  for (const user of users)
    cookie = devices.setCookie(new Request("http://x/", { headers: { cookie } }), user).split(";")[0] ?? "";
  const request = new Request("http://x/", { headers: { cookie: `other=1; ${cookie}` } });
  expect(users.map((user) => devices.nameOf(request, user) !== null)).toEqual([false, true, true, true, true]);
  expect(createKnownDevices("11".repeat(32)).nameOf(request, users[4] ?? "")).toBeNull();
});

test("a token bucket refills one token per interval up to its capacity, and giveBack returns a token", () => {
  const clock = testClock();
  const throttle = createTokenBucket(clock, { burst: 3, refillMs: 10_000 });
  const takes = (times: number) =>
    Array.from({ length: times }, () => {
      try {
        throttle.take("a");
        return true;
      } catch {
        return false;
      }
    }).filter(Boolean).length;
  expect(takes(5)).toBe(3);
  clock.skip(9_999);
  expect(takes(1)).toBe(0);
  clock.skip(1);
  expect(takes(2)).toBe(1);
  clock.skip(3_600_000);
  expect(takes(5)).toBe(3);
  throttle.giveBack("a");
  expect([throttle.used("a"), takes(2)]).toEqual([2, 1]);
  throttle.giveBack("unknown");
  expect(throttle.used("unknown")).toBe(0);
});

test("createPasswords hashes with argon2id at OWASP's minimum of memory and passes", async () => {
  const kept = await createPasswords().hash(PASSWORD, { rank: 0, whose: "setup" });
  expect(kept).toStartWith("$argon2id$v=19$m=19456,t=2,p=1$");
});

/** Records names in the order in which their hashes start. Two run at a time, and either can end first. */
const lineOf = (passwords: ReturnType<typeof createPasswords>, kept: string) => {
  const order: string[] = [];
  const verify = Bun.password.verify.bind(Bun.password);
  const spy = spyOn(Bun.password, "verify").mockImplementation((name, hash) => {
    order.push(String(name));
    return verify(name, hash);
  });
  return {
    order,
    check: (name: string, rank: number, whose = name) =>
      passwords.isRight(name, kept, { rank, whose }).catch(() => void order.push(`${name} rejected`)),
    done: () => spy.mockRestore(),
  };
};

test("the hash queue serves known users first and rejects the last strangers when it is full", async () => {
  const passwords = createPasswords(CHEAP_PASSWORDS);
  const kept = await passwords.hash(PASSWORD, { rank: 0, whose: "setup" });
  const { order, check, done } = lineOf(passwords, kept);
  const strangers = Array.from({ length: 62 }, (_, n) => check(`stranger ${n}`, 5));
  await Promise.all([...strangers, check("new", 1), check("known", 0)]);
  done();
  // Two hashes were running already.
  expect(order.filter((name) => !name.endsWith("rejected")).slice(2, 4)).toEqual(["known", "new"]);
  expect(order.filter((name) => name.endsWith("rejected"))).toEqual(["stranger 61 rejected", "stranger 60 rejected"]);
}, 60_000);

test("one user cannot fill the hash queue, even with the right password and from known browsers", async () => {
  const passwords = createPasswords(CHEAP_PASSWORDS);
  const kept = await passwords.hash(PASSWORD, { rank: 0, whose: "setup" });
  const { order, check, done } = lineOf(passwords, kept);
  const greedy = Array.from({ length: 80 }, (_, n) => check(`greedy ${n}`, 0, "greedy"));
  await Promise.all([...greedy, check("known", 0), check("new", 1)]);
  done();
  const looked = order.filter((name) => !name.endsWith("rejected"));
  expect(looked.indexOf("known")).toBe(2);
  expect(looked.indexOf("new")).toBe(3);
  expect(order.filter((name) => name.endsWith("rejected"))).toHaveLength(20);
}, 60_000);

test("a user can open sixty sessions at once and then one per second, without an effect on other users", async () => {
  const harness = await open();
  const ada = await setUp(harness);
  await join(harness, ada, { email: "ben@example.com", role: "member" });
  const statuses: number[] = [];
  for (let n = 0; n < 61; n += 1)
    statuses.push((await signIn(harness, PASSWORD, { address: "198.51.100.4", email: "ben@example.com" })).status);
  expect([statuses.indexOf(429), statuses.length]).toEqual([60, 61]);
  expect((await signIn(harness, PASSWORD, { address: "198.51.100.4" })).status).toBe(200);
  await harness.clock.skip(1_000);
  expect((await signIn(harness, PASSWORD, { address: "198.51.100.4", email: "ben@example.com" })).status).toBe(200);
}, 60_000);

test("GET /console/api/me sets the device cookie for a signed-in browser that has none", async () => {
  const harness = await open();
  await setUp(harness);
  const cookie = cookiesOf((await signIn(harness, PASSWORD, { address: "198.51.100.4" })).headers);
  const session = cookie.split("; ").find((pair) => !pair.startsWith("__Host-genrouter-device")) ?? "";
  const me = (cookies: string) => harness.request("GET", "/console/api/me", { key: null, headers: { cookie: cookies } });
  const marked = cookiesOf((await me(session)).headers);
  expect(marked).toStartWith("__Host-genrouter-device=");
  expect(cookiesOf((await me(`${session}; ${marked}`)).headers)).toBe("");
  expect(cookiesOf((await me("")).headers)).toBe("");
  await attack(harness, 12, 1);
  const signedIn = (more: object) => signIn(harness, PASSWORD, { address: "100.64.0.7", ...more });
  expect([(await signedIn({})).status, (await signedIn({ cookie: marked })).status]).toEqual([429, 200]);
}, 60_000);

test("a guess whose password was not checked does not count", async () => {
  const guesses = createSignInThrottle(testClock());
  const guess = { address: "203.0.113.9", email: ADA, device: null, userId: "" };
  for (let n = 0; n < 20; n += 1)
    await expect(guesses.count(guess, () => Promise.reject(new Error("too many wait")))).rejects.toThrow("too many wait");
  expect(await guesses.count(guess, () => Promise.resolve(true))).toBe(true);
});

test("logs and counts every failed sign-in, and audits those of existing users once per minute", async () => {
  const harness = await open({ GENROUTER_OPERATOR__TOKEN: "t".repeat(40) });
  await setUp(harness);
  await attack(harness, 14, 1);
  await signIn(harness, WRONG, { address: "203.0.113.9", email: "unknown@example.com" });
  await signIn(harness, PASSWORD, { address: "203.0.113.10" });
  const refused = harness.lines.filter(({ event }) => event === "sign-in rejected").map(({ fields }) => fields);
  const of = (outcome: string) => refused.filter((fields: EventFields) => fields.outcome === outcome);
  expect([of("wrong").length, of("throttled").length, refused.length]).toEqual([11, 4, 15]);
  expect(refused.at(-1)).toEqual({ outcome: "wrong", address: "203.0.113.9", request_id: expect.stringMatching(/^req_/) });
  expect(of("wrong")[0]).toMatchObject({ address: "100.64.0.7", user_id: expect.stringMatching(/^per_/) });
  expect(JSON.stringify(harness.lines)).not.toContain("unknown@");
  const metrics = await (
    await fetch(`${harness.nodeUrl}/metrics`, { headers: { authorization: `Bearer ${"t".repeat(40)}` } })
  ).text();
  for (const [outcome, count] of [
    ["wrong", 11],
    ["throttled", 4],
    ["busy", 0],
  ])
    expect(metrics).toContain(`genrouter_sign_ins_total{outcome="${outcome}"} ${count}`);
  const audited = async () =>
    (await harness.store.audit(null, 10, { action: "note-refused-sign-ins" })).map(({ detail }) => detail);
  // The first rejection is audited at once. It is a throttled one if no password is checked before it.
  const [first] = await audited();
  expect([first?.networks, Number(first?.wrong) + Number(first?.throttled)]).toEqual([1, 1]);
  await harness.clock.skip(60_000);
  await harness.eventually(async () => (await audited()).length === 2);
  const rest = { wrong: 10 - Number(first?.wrong), throttled: 4 - Number(first?.throttled) };
  expect((await audited())[0]).toEqual({ ...rest, networks: 1 });
  await harness.clock.skip(120_000);
  expect(await audited()).toHaveLength(2);
}, 60_000);
