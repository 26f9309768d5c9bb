// Usage and keys in the console: every day of a range, names, order by charge, and consistent CSV.
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { KeyView, UsageDto } from "../../src/console/keys-dto.ts";
import { DAY_MS, dayOf } from "../../src/domain/calendar.ts";
import { hashApiKey, newApiKey, newId } from "../../src/domain/ids.ts";
import { dayOfText, dayText } from "../../src/reports/usage.ts";
import { testClock } from "../clock.ts";
import { type Harness, openHarness } from "../harness.ts";
import { type Account, admit, NOW_MS, openAccount, releasedMutation, submittedAt, succeed } from "../store/fixture.ts";
import { openVisitor, type Visitor } from "./signed-in.ts";

let harness: Harness;
let viewer: Visitor;
const clock = testClock(0, NOW_MS + 1000);
let account: Account;
let other: Account;
const DAY = dayOf(NOW_MS);
beforeAll(async () => {
  harness = await openHarness({ clock });
  viewer = await openVisitor(harness, "viewer", null);
  const { store } = harness;
  account = await openAccount(store, 10_000);
  other = await openAccount(store, 10_000);
  for (let n = 0; n < 3; n++) await succeed(store, account);
  await succeed(store, other, { model: '=cmd|"x"' });
  const failed = await admit(store, account, submittedAt(NOW_MS + DAY_MS));
  await store.commit([releasedMutation(failed.seq, 1, { atMs: NOW_MS + 2 * DAY_MS })]);
});
afterAll(async () => {
  await harness.close();
  clock.stop();
});

const RANGE = `from=${dayText(DAY - 1)}&to=${dayText(DAY + 2)}`;
const ask = async (more = "by=day") =>
  (await viewer.ask("GET", `/console/api/usage?${RANGE}&${more}`)).reported as unknown as UsageDto;

test("returns every day of the range, with zeros for days without a completed generation", async () => {
  const { lines, total, from, to } = await ask();
  expect([from, to]).toEqual(["2026-09-20", "2026-09-23"]);
  expect(lines.map(({ of, count, failed, chargedCredits }) => [of, count, failed, chargedCredits])).toEqual([
    ["2026-09-20", 0, 0, 0],
    ["2026-09-21", 4, 0, 300],
    ["2026-09-22", 0, 0, 0],
    ["2026-09-23", 1, 1, 0],
  ]);
  expect(total).toMatchObject({ count: 5, succeeded: 4, failed: 1, chargedCredits: 300 });
  // Two seconds each; a generation that failed after a day does not count as waiting time.
  expect(total.medianWaitMs).toBeGreaterThanOrEqual(2000);
  expect(total.medianWaitMs).toBeLessThan(3000);
  expect(lines[3]?.medianWaitMs).toBeNull();
});

test("lists accounts and keys by charge, with names, and a filter by account excludes all others", async () => {
  expect((await ask("by=account")).lines.map(({ of, name, chargedCredits }) => [of, name, chargedCredits])).toEqual([
    [account.id, "Ada", 225],
    [other.id, "Ada", 75],
  ]);
  expect((await ask(`by=key&account=${other.id}`)).lines).toMatchObject([{ name: "laptop", count: 1 }]);
  expect(JSON.stringify(await ask(`by=model&account=${account.id}`))).not.toContain("cmd");
});

test("exports the same values as CSV without formulas", async () => {
  const { text } = await viewer.ask("GET", `/console/api/usage.csv?${RANGE}&by=model`);
  const [head, ...rows] = text.trimEnd().split("\r\n");
  expect(head).toBe("model,name,generations,succeeded,failed,charged_usd,median_wait_s");
  expect(rows[0]).toMatch(/^vidmodel-2\.0,vidmodel-2\.0,4,3,1,2\.25,2\.\d$/);
  expect(rows[1]).toStartWith(`"'=cmd|""x""","'=cmd|""x""",1,1,0,0.75,`);
});

test.each([
  ["2026-02-28", true],
  ["2026-02-29", false],
  ["2026-2-1", false],
  ["yesterday", false],
  ["2026-09-21T00:00", false],
])("%j is a valid day: %p", (text, is) => {
  const day = dayOfText(text);
  expect(day === undefined ? text : dayText(day)).toBe(text);
  expect(day !== undefined).toBe(is);
});

test("returns a key with its state, the keys it was rotated from and to, and the spend of each limit", async () => {
  const hash = () => hashApiKey(newApiKey("test"));
  const limits = { day: null, week: 300, month: 1000 };
  const made = { accountSeq: account.seq, scope: "generate", name: "ci", start: "gr_test_wxyz", atMs: NOW_MS } as const;
  const [old, next, gone] = [newId("key"), newId("key"), newId("key")];
  await harness.store.commit([
    { mutation: "create-key", id: old, hash: hash(), ...made, terms: { expiresAtMs: null, models: null, limits } },
    { mutation: "rotate-key", keyId: old, overlapMs: 1000, id: next, hash: hash(), start: "gr_test_next", atMs: NOW_MS + 1 },
    { mutation: "create-key", id: gone, hash: hash(), ...made },
    { mutation: "revoke-key", keyId: gone, atMs: NOW_MS },
  ]);
  const view = async () =>
    (await viewer.ask("GET", `/console/api/keys?account=${account.id}`)).reported.keys as unknown as KeyView[];
  const [first, ...others] = await view();
  expect(first).toMatchObject({
    ...{ id: next, state: "active", rotatedFrom: old, rotatedTo: null, expiresAtMs: null },
    limits: { day: null, week: { limitCredits: 300, spentCredits: 0, resetsAtMs: Date.UTC(2026, 8, 28) } },
  });
  const states = new Map([first, ...others].flatMap((one) => (one ? [[one.id, one.state]] : [])));
  expect([states.get(old), states.get(next), states.get(gone)]).toEqual(["active", "active", "revoked"]);
  clock.skip(1);
  const later = await view();
  expect(later.find(({ id }) => id === old)).toMatchObject({ state: "expired", rotatedTo: next });
});
