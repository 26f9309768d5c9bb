// Usage and keys in the console: every day of a range, names, order by charge, and consistent CSV.
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { KeyView, UsageDto, UsageSeriesDto } from "../../src/console/keys-dto.ts";
import { DAY_MS, dayOf } from "../../src/domain/calendar.ts";
import { hashApiKey, newApiKey, newId } from "../../src/domain/ids.ts";
import { dayOfText, dayText } from "../../src/reports/usage.ts";
import { testClock } from "../clock.ts";
import { type Harness, openHarness } from "../harness.ts";
import {
  type Account,
  admit,
  capturedMutation,
  NOW_MS,
  openAccount,
  releasedMutation,
  startedMutation,
  submittedAt,
  succeed,
} from "../store/fixture.ts";
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

const series = async (more: string, who = viewer, range = RANGE) =>
  (await who.ask("GET", `/console/api/usage/series?${range}&${more}`)).reported as unknown as UsageSeriesDto;
const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);

test("the days of the groups add up to the days of all, with every day of the range", async () => {
  for (const by of ["model", "key", "account"]) {
    const { days, groups, groupCount, total, series: shown } = await series(`by=${by}`);
    expect(days.map(({ of }) => of)).toEqual(["2026-09-20", "2026-09-21", "2026-09-22", "2026-09-23"]);
    expect([groupCount, shown.map(({ of }) => of)]).toEqual([groups.length, groups.map(({ of }) => of)]);
    for (const [n, day] of days.entries()) {
      expect([by, sum(shown.map(({ chargedCredits }) => chargedCredits[n] ?? 0))]).toEqual([by, day.chargedCredits]);
      expect([by, sum(shown.map(({ counts }) => counts[n] ?? 0))]).toEqual([by, day.count]);
    }
    expect(sum(groups.map(({ chargedCredits }) => chargedCredits))).toBe(total.chargedCredits);
  }
});

test("a filter by model or key selects its part of the days, of the groups and of the CSV", async () => {
  const { days, groups, total } = await series("by=account&model=vidmodel-2.0");
  expect([total.chargedCredits, groups.map(({ of }) => of)]).toEqual([225, [account.id]]);
  expect(days.map(({ chargedCredits }) => chargedCredits)).toEqual([0, 225, 0, 0]);
  const [key] = (await series(`by=key&account=${other.id}`)).groups;
  expect((await series(`by=model&key=${key?.of}`)).groups.map(({ chargedCredits }) => chargedCredits)).toEqual([75]);
  const { text } = await viewer.ask("GET", `/console/api/usage.csv?${RANGE}&by=model&key=${key?.of}`);
  expect(text.trimEnd().split("\r\n")).toHaveLength(2);
});

test("shows usage by end user of an account, what has none, and the days of one end user", async () => {
  const { store } = harness;
  const shop = await openAccount(store, 10_000);
  // On another day than the generations of the other tests.
  const atMs = NOW_MS + 30 * DAY_MS;
  for (const endUser of ["ada", "ada", "ben & co", null]) {
    const labels = endUser === null ? {} : { labels: { metadata: null, endUser } };
    const made = await admit(store, shop, { ...submittedAt(atMs), ...labels });
    await store.commit([startedMutation(made), { ...capturedMutation(made.seq, 2, 1, 75), atMs: atMs + 2000 }]);
  }
  const later = `from=${dayText(DAY + 29)}&to=${dayText(DAY + 32)}`;
  const all = await series(`by=end_user&account=${shop.id}`, viewer, later);
  expect(all.groups.map(({ name, count, chargedCredits }) => [name, count, chargedCredits])).toEqual([
    ["ada", 2, 150],
    ["ben & co", 1, 75],
  ]);
  expect([all.groupCount, all.total.chargedCredits, all.series[0]?.chargedCredits]).toEqual([2, 300, [0, 150, 0, 0]]);
  const one = await series(`by=end_user&account=${shop.id}&end_user=${encodeURIComponent("ben & co")}`, viewer, later);
  expect([one.total.chargedCredits, one.days.map(({ count }) => count)]).toEqual([75, [0, 1, 0, 0]]);
  expect((await series(`by=end_user&account=${shop.id}&end_user=unknown`)).groups).toEqual([]);
  const listed = (await viewer.ask("GET", `/console/api/generations?account=${shop.id}&end_user=ada`)).reported;
  expect(listed.generations).toHaveLength(2);
});

test("an operator with an account sees the usage of that account, and of all accounts by a switch", async () => {
  const operator = await openVisitor(harness, "operator", { accountSeq: other.seq });
  for (const path of ["usage", "usage/series"]) {
    const total = async (query: string) => {
      const { reported } = await operator.ask("GET", `/console/api/${path}?${RANGE}&by=model${query}`);
      return (reported as unknown as UsageSeriesDto).total.chargedCredits;
    };
    expect([path, await total(""), (await total("&account=*")) >= 300]).toEqual([path, 75, true]);
    expect(await total(`&account=${account.id}`)).toBe(225);
  }
});

test.each([
  ["by=day", 400, "by: one of model, key, account, end_user."],
  ["by=end_user", 400, "account: end users belong to one account; name one."],
  ["by=end_user&model=vidmodel-2.0", 400, "end_user: cannot be combined with model or key"],
  ["by=model&end_user=ada&key=key_x", 400, "end_user: cannot be combined with model or key"],
  ["by=model&from=yesterday", 400, "from: a day as 2026-10-19."],
  ["by=model&account=acc_none", 404, "There is no account acc_none."],
])("rejects the usage query %s with a sentence that names the field", async (query, status, message) => {
  const found = await viewer.ask("GET", `/console/api/usage/series?${query}`);
  expect([found.status, (found.reported.error as { message: string }).message]).toEqual([
    status,
    expect.stringContaining(message) as unknown as string,
  ]);
});

test("a member sees no usage of other accounts and no groups by account", async () => {
  const member = await openVisitor(harness, "member", { accountSeq: other.seq });
  expect((await series("by=model", member)).total.chargedCredits).toBe(75);
  for (const query of [`by=model&account=${account.id}`, "by=model&account=*"])
    expect((await member.ask("GET", `/console/api/usage/series?${query}`)).status).toBe(404);
  expect((await member.ask("GET", "/console/api/usage/series?by=account")).status).toBe(400);
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
