// `genrouter keys`: expiry, limits and models of a key are stored as given, and invalid terms are rejected.
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { JsonObject } from "../../src/domain/types.ts";
import { runHere } from "./captured.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

afterAll(dropDirs);

const dir = freshDir();
let account = "";
const keys = (...words: string[]) => runHere(["keys", ...words, "--data", dir]);
const json = async (...words: string[]) => {
  const { exit, out, err } = await keys(...words, "--json");
  expect([exit as number, err]).toEqual([0, expect.anything()]);
  return JSON.parse(out) as JsonObject;
};
const listed = async (id: unknown) => ((await json("list")) as unknown as JsonObject[]).find((row) => row.id === id);
beforeAll(async () => {
  const made = await runHere(["accounts", "create", "--name", "acme", "--credit-usd", "10", "--json", "--data", dir]);
  account = (JSON.parse(made.out) as { id: string }).id;
});

test("keys create stores expiry, limits and models, and keys list shows them", async () => {
  const terms = [
    "--expires",
    "2099-01-31",
    "--limit-day",
    "1.50",
    "--limit-month",
    "20",
    "--models",
    "vidmodel-2.0, vidmodel-2.5",
  ];
  const { id } = await json("create", "--account", account, ...terms);
  expect(await listed(id)).toMatchObject({
    expires_at: "2099-01-31T00:00:00.000Z",
    limits: { day: { usd: 1.5, spent_usd: 0 }, week: null, month: { usd: 20, spent_usd: 0 } },
    models: ["vidmodel-2.0", "vidmodel-2.5"],
    last_used_at: null,
    rotated_from: null,
    spent_30d_usd: 0,
  });
  const { out } = await keys("list", "--account", account);
  expect(out).toMatch(
    /until 2099-01-31T00:00 +never +\$0\.00 +\$0\.00 of \$1\.50 a day, \$0\.00 of \$20\.00 a month +vidmodel-2\.0,vid/,
  );
});

test("keys create without terms stores no expiry, limits or models", async () => {
  const { id } = await json("create", "--account", account, "--name", "plain");
  expect(await listed(id)).toMatchObject({
    ...{ name: "plain", expires_at: null, models: null, limits: { day: null, week: null, month: null } },
  });
});

test("keys set changes only the given terms, and removes a term with none, never or all", async () => {
  const { id } = await json("create", "--account", account, "--limit-day", "5", "--limit-week", "9", "--models", "vidmodel-2.0");
  const more = await json("set", String(id), "--limit-day", "none", "--name", "server", "--expires", "30d");
  expect(more).toMatchObject({ name: "server", limits: { day: null, week: { usd: 9 } }, models: ["vidmodel-2.0"] });
  const inMs = Date.parse(String(more.expires_at)) - Date.now();
  expect(Math.abs(inMs - 30 * 86_400_000)).toBeLessThan(600_000);
  expect(await json("set", String(id), "--expires", "never", "--models", "all", "--limit-week", "none")).toMatchObject({
    ...{ name: "server", expires_at: null, models: null, limits: { day: null, week: null, month: null } },
  });
});

test("keys rotate creates a successor with the same terms; the former key expires after a day or after --overlap", async () => {
  const { id } = await json("create", "--account", account, "--limit-week", "9", "--name", "ci");
  const made = await json("rotate", String(id));
  expect(made).toMatchObject({ key: expect.stringMatching(/^gr_live_/), account, scope: "generate", rotated_from: id as string });
  const left = Date.parse(String(made.rotated_from_expires_at)) - Date.now();
  expect(Math.abs(left - 86_400_000)).toBeLessThan(600_000);
  expect(await listed(made.id)).toMatchObject({ rotated_from: id as string, name: "ci", limits: { week: { usd: 9 } } });
  const again = await keys("rotate", String(id));
  expect([again.exit as number, again.err]).toEqual([6, expect.stringContaining(`was rotated to ${made.id}`)]);
  const { id: next } = await json("rotate", String(made.id), "--overlap", "0s");
  expect((await keys("list")).out).toMatch(new RegExp(`${made.id}.*expired`));
  expect((await keys("list")).out).toMatch(new RegExp(`${next}.*active`));
});

test.each([
  [["set", "KEY"], 2, "nothing to change"],
  [["set", "KEY", "--limit-day", "0"], 2, "--limit-day"],
  [["set", "KEY", "--limit-week", "1.005"], 2, "--limit-week"],
  [["set", "KEY", "--expires", "soon"], 2, "--expires"],
  [["set", "KEY", "--expires", "2026-02-31"], 2, "--expires"],
  [["set", "KEY", "--expires", "2020-01-01"], 6, "cannot expire in the past"],
  [["set", "KEY", "--models", "a,,b"], 2, "--models"],
  [["set", "KEY", "--models", "no-such-model"], 6, "there is no model no-such-model"],
  [["rotate", "KEY", "--overlap", "31d"], 2, "0s to 30d"],
  [["rotate", "key_none"], 4, "there is no key key_none"],
  [["set", "key_none", "--name", "x"], 4, "there is no key key_none"],
] as const)("keys %j exits with %d, prints %j and changes nothing", async (words, exit, says) => {
  const { id } = await json("create", "--account", account);
  const before = await json("list");
  const ran = await keys(...words.map((word) => (word === "KEY" ? String(id) : word)));
  expect([ran.exit as number, ran.out]).toEqual([exit, ""]);
  expect(ran.err).toContain(says);
  expect(await json("list")).toEqual(before);
});

test("keys set and keys rotate reject a revoked key with exit code 6", async () => {
  const { id } = await json("create", "--account", account);
  await json("revoke", String(id));
  for (const words of [
    ["set", String(id), "--name", "x"],
    ["rotate", String(id)],
  ]) {
    const { exit, err } = await keys(...words);
    expect([exit as number, err]).toEqual([6, expect.stringContaining("was revoked")]);
  }
});
