// `genrouter generations list`, `balance` and `usage`: what the account of an API key has, as a table and as JSON.
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Balance, Generation, Usage } from "../../client/src/client.ts";
import { hashApiKey, newApiKey, newId } from "../../src/domain/ids.ts";
import { type Harness, openHarness } from "../harness.ts";
import { runHere } from "./captured.ts";

let harness: Harness;
let limitedKey: string;
/** Ids in the order of their submission: a kite of order 7, a kite of order 8 for an end user, and a failed one. */
let ids: string[];

const submit = async (prompt: string, headers: Record<string, string>): Promise<string> => {
  const { body } = await harness.request("POST", "/v1/generations", {
    body: { model: "sim-image-1", input: { prompt } },
    headers,
  });
  return (await harness.until(String(body.id))).id;
};
const addLimitedKey = async (): Promise<string> => {
  const [key, { accountSeq }] = [newApiKey("test"), harness.tenant];
  const made = { id: newId("key"), accountSeq, scope: "generate", name: "second", hash: hashApiKey(key) } as const;
  const terms = { expiresAtMs: null, models: null, limits: { day: 500, week: null, month: null } };
  const atMs = harness.clock.nowMs();
  await harness.components.post({ mutation: "create-key", ...made, start: key.slice(0, 12), terms, atMs });
  return key;
};
const typed = (key: string, ...words: string[]) => runHere([...words, "--url", harness.url, "--key", key]);
const run = (...words: string[]) => typed(harness.tenant.key, ...words);
const parsed = async <T>(...words: string[]): Promise<T> => JSON.parse((await run(...words, "--json")).out) as T;
const idsOf = async (...words: string[]) => (await parsed<Generation[]>("generations", "list", ...words)).map(({ id }) => id);

beforeAll(async () => {
  harness = await openHarness();
  limitedKey = await addLimitedKey();
  ids = [
    await submit("a kite", { "genrouter-metadata": '{"order":"7"}' }),
    await submit("a kite", { "genrouter-metadata": '{"order":"8=9"}', "genrouter-end-user": "ada" }),
    await submit("[sim:fail]", {}),
  ];
});
afterAll(() => harness.close());

test("generations list prints the newest generations first, and filters by status, model, metadata and time", async () => {
  const [first = "", second = "", failed = ""] = ids;
  const { exit, out } = await run("generations", "list");
  expect(exit).toBe(0);
  const [head = "", ...rows] = out.trimEnd().split("\n");
  expect(head).toMatch(/^GENERATION +STATUS +MODEL +CHARGED +CREATED +ERROR$/);
  expect(rows.map((row) => row.split(/ {2,}/).slice(0, 3))).toEqual([
    [failed, "failed", "sim-image-1"],
    [second, "succeeded", "sim-image-1"],
    [first, "succeeded", "sim-image-1"],
  ]);
  expect(rows[0]).toMatch(/ {2}2026-10-19T[\d:.]+Z {2}\w+$/);
  expect(rows[1]).toMatch(/ {2}\$\d+\.\d\d {2}2026-10-19T[\d:.]+Z$/);
  expect(await idsOf("--status", "failed")).toEqual([failed]);
  expect(await idsOf("--metadata", "order=8=9")).toEqual([second]);
  expect(await idsOf("--model", "sim-image-1", "--limit", "1")).toEqual([failed]);
  expect(await idsOf("--after", failed, "--limit", "1")).toEqual([second]);
  expect(await idsOf("--since", "2026-10-18")).toHaveLength(3);
  expect((await run("generations", "list", "--model", "vidmodel-2.0")).out).toBe("none\n");
});

test("generations list reads as many pages as the limit needs", async () => {
  const { key } = await harness.newTenant();
  const submissions = Array.from({ length: 103 }, () =>
    harness.request("POST", "/v1/generations", { key, body: { model: "sim-image-1", input: { prompt: "x" } } }),
  );
  expect((await Promise.all(submissions)).filter(({ status }) => status !== 202)).toEqual([]);
  const all = JSON.parse((await typed(key, "generations", "list", "--limit", "1000", "--json")).out) as Generation[];
  expect(new Set(all.map(({ id }) => id)).size).toBe(103);
  const most = JSON.parse((await typed(key, "generations", "list", "--limit", "101", "--json")).out) as Generation[];
  expect(most.map(({ id }) => id)).toEqual(all.slice(0, 101).map(({ id }) => id));
});

test("usage prints the name of an end user without the control characters that a terminal obeys", async () => {
  const { key } = await harness.newTenant();
  const name = String.fromCharCode(...new TextEncoder().encode("a\u009b2Jb"));
  const { body } = await harness.request("POST", "/v1/generations", {
    key,
    body: { model: "sim-image-1", input: { prompt: "a kite" } },
    headers: { "genrouter-end-user": name },
  });
  await harness.until(String(body.id), undefined, key);
  expect((await typed(key, "usage", "--by", "end_user")).out).toContain("a\ufffd2Jb");
});

test("a list of many pages waits at the rate limit of the account", async () => {
  const { key, accountSeq } = await harness.newTenant();
  const submissions = Array.from({ length: 103 }, () =>
    harness.request("POST", "/v1/generations", { key, body: { model: "sim-image-1", input: { prompt: "x" } } }),
  );
  await Promise.all(submissions);
  await harness.components.post({ mutation: "set-account", accountSeq, burstPerS: 1 });
  const ran = await typed(key, "generations", "list", "--limit", "103", "--json");
  expect([ran.exit, (JSON.parse(ran.out) as unknown[]).length]).toEqual([0, 103]);
});

test("balance prints what is available and held, and the limits of the key with what is left", async () => {
  const { available, held } = await harness.balance();
  const usd = (credits: number) => `$${(credits / 100).toFixed(2)}`;
  const balance = await run("balance");
  expect([balance.exit as number, balance.out]).toEqual([0, expect.stringMatching(/^balance \$\d+\.\d\d {2}held \$/) as string]);
  expect(balance.out.replaceAll(",", "")).toBe(
    `balance ${usd(available + held)}  held ${usd(held)}  available ${usd(available)}\n`,
  );
  expect(await parsed<Balance>("balance")).toMatchObject({ object: "balance", available_usd: available / 100, limits: [] });
  const [, head, row] = (await typed(limitedKey, "balance")).out.split("\n");
  expect(head).toMatch(/^KEY LIMIT +USD +SPENT +LEFT +RESETS$/);
  expect(row).toMatch(/^day +\$5\.00 +\$0\.00 +\$5\.00 +2026-10-20T00:00:00\.000Z$/);
});

test("usage prints the ended generations by day, model, key or end user, with the total", async () => {
  const range = ["--from", "2026-10-18", "--to", "2026-10-19"];
  const { exit, out } = await run("usage", ...range);
  expect(exit).toBe(0);
  const [head, ...rows] = out.trimEnd().split("\n");
  expect(head).toMatch(/^DAY +GENERATIONS +SUCCEEDED +FAILED +CHARGED +MEDIAN WAIT$/);
  expect(rows.map((row) => row.split(/ {2,}/).slice(0, 4))).toEqual([
    ["2026-10-18", "0", "0", "0"],
    ["2026-10-19", "3", "2", "1"],
    ["total", "3", "2", "1"],
  ]);
  expect((await run("usage", "--by", "model", ...range)).out).toMatch(/\nsim-image-1 +3 +2 +1 +\$/);
  expect((await run("usage", "--by", "key", ...range)).out).toContain(`\n${harness.tenant.keyId} `);
  expect((await run("usage", "--by", "end_user", ...range)).out).toMatch(/^END USER .*\nada +1 +1 +0 +\$\d+\.\d\d +–\ntotal +3 /);
  const joined = await parsed<Usage>("usage", "--by", "end_user", "--limit", "1000", ...range);
  expect([joined.data.map((item) => item.end_user), joined.next]).toEqual([["ada"], null]);
});

test.each<[string[], number, string]>([
  [["generations", "list", "--limit", "0"], 2, "--limit"],
  [["generations", "list", "--status", "done"], 2, "--status"],
  [["generations", "list", "--metadata", "order"], 2, "--metadata"],
  [["generations", "list", "--since", "yesterday"], 2, "--since"],
  [["generations", "list", "--after", "gen_unknown"], 6, "after"],
  [["usage", "--limit", "5"], 2, "--limit needs --by end_user"],
  [["usage", "--after", "x"], 2, "--after needs --by end_user"],
  [["usage", "--from", "2026-13-01"], 6, "from"],
])("%p exits with %i and names %s", async (words, exit, named) => {
  const failed = await run(...words);
  expect([failed.exit as number, failed.out, failed.err]).toEqual([exit, "", expect.stringContaining(named) as string]);
});

test("a key with limits has a balance and no usage: exit 3", async () => {
  const refused = await typed(limitedKey, "usage");
  expect([refused.exit as number, refused.err]).toEqual([3, expect.stringContaining("generation_not_enabled") as string]);
  expect((await typed("gr_test_unknown", "balance")).exit as number).toBe(3);
});
