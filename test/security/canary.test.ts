// Secrets sent through every endpoint, error and provider fault of a real process at log level debug are found nowhere but where they belong.
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runHere } from "../cli/captured.ts";
import { closeScene, openScene, SECRETS, scene } from "./canary.ts";
import { signed } from "./echo.ts";

/** The columns where what a customer or a provider said is kept, because the work cannot go on without it. */
const BELONGS: Record<string, readonly string[]> = {
  prompt: ["generation.body", "attempt_request.request"],
  negative: ["generation.body", "attempt_request.request"],
  media: ["generation.body", "attempt_request.request"],
  // Each event is stored as it arrived.
  result: ["attempt.results", "generation_event.event"],
};

const { dir, answers, links, ids } = scene;
beforeAll(openScene, 120_000);
afterAll(closeScene);

/** Every secret by name, the keys and what opens a file as well. */
const secrets = (): [name: string, text: string][] => [
  ...Object.entries(SECRETS),
  ["key", scene.key.slice("gr_test_".length + 8)],
  ["other key", scene.otherKey.slice("gr_test_".length + 8)],
];
const saidIn = (text: string, but: readonly string[] = []): string[] =>
  secrets()
    .filter(([name, secret]) => !but.includes(name) && text.includes(secret))
    .map(([name, secret]) => {
      const at = text.indexOf(secret);
      return `${name}: ${text.slice(Math.max(0, at - 120), at + 60)}`;
    });

test("the secrets were there to be told: each provider heard its own and said it back, results were delivered and refused", () => {
  for (const credential of [`Bearer ${SECRETS.replicate}`, `Key ${SECRETS.fal}`]) expect(scene.credentials).toContain(credential);
  const ends = answers.join("\n");
  for (const status of ["succeeded", "failed"]) expect(ends).toContain(`"status":"${status}"`);
  for (const code of [400, 401, 402, 404, 405, 413, 422]) expect(ends).toMatch(new RegExp(`^\\w+ ${code}$`, "m"));
  expect(links.length).toBeGreaterThan(0);
});

test("nothing is told on standard output or in the log at level debug", () => {
  expect(scene.err.split("\n").filter((line) => line.includes('"level":"debug"')).length).toBeGreaterThan(100);
  expect(saidIn(scene.out)).toEqual([]);
  expect(saidIn(scene.err)).toEqual([]);
  for (const link of new Set(links)) expect(scene.err).not.toContain(new URL(link).searchParams.get("sig") ?? "no link");
});

test("no answer tells one, whatever was asked, by whom, and whatever the provider said", () => {
  // The service names a model that it does not know, a word that is no value, and an id of the request that is usable.
  expect(answers.flatMap((answer) => saidIn(answer, ["guess"]))).toEqual([]);
  expect(answers.filter((answer) => !answer.includes("model_not_available")).flatMap((answer) => saidIn(answer))).toEqual([]);
});

test("the metrics tell none, and no generation and no account", async () => {
  const answer = await fetch(`${scene.url}/metrics`);
  const text = await answer.text();
  expect([answer.status, text.includes("genrouter_attempts_total{")]).toEqual([200, true]);
  expect(saidIn(text)).toEqual([]);
  for (const id of [...ids, scene.account, "gen_", "acc_", "key_", "req_"]) expect(text).not.toContain(id);
});

describe("what an operator is shown", () => {
  const WORDS: [string, () => string[]][] = [
    ["trace", () => ["trace", ids.at(-1) ?? ""]],
    ["trace of one that failed", () => ["trace", ids[0] ?? ""]],
    ["orphans", () => ["orphans"]],
    ["verify", () => ["verify"]],
    ["accounts", () => ["accounts", "list"]],
    ["keys", () => ["keys", "list", "--account", scene.account]],
    ["credits", () => ["credits", "show", "--account", scene.account]],
    ["models", () => ["models"]],
  ];
  test.each(WORDS)("%s tells none, as words and as JSON", async (_name, words) => {
    for (const more of [[], ["--json"], ["--debug"]]) {
      const { out: told, err: warned } = await runHere([...words(), ...more, "--data", dir]);
      expect(told.length + warned.length).toBeGreaterThan(0);
      expect(saidIn(told + warned)).toEqual([]);
    }
  });

  test("every trace of every fault tells none", async () => {
    for (const id of ids) {
      const { out: told, err: warned } = await runHere(["trace", id, "--json", "--data", dir]);
      expect(saidIn(told + warned)).toEqual([]);
    }
  });

  test("explain tells none of what it was given", async () => {
    const input = { prompt: SECRETS.prompt, image_url: signed("https://127.0.0.1/a", SECRETS.media) };
    for (const model of ["sim-edit-1", "sim-image-1"]) {
      const { out: told, err: warned } = await runHere(["explain", model, JSON.stringify(input), "--data", dir]);
      expect(saidIn(told + warned)).toEqual([]);
    }
  });
});

describe("on disk", () => {
  test("a column holds a secret only where the work cannot go on without it", () => {
    const db = new Database(join(dir, "genrouter.db"), { readonly: true });
    const tables = db.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    const found: string[] = [];
    const kept = new Set<string>();
    for (const { name: table } of tables)
      for (const row of db.query<Record<string, unknown>, []>(`SELECT * FROM ${table}`).all())
        for (const [column, value] of Object.entries(row))
          for (const [secret, text] of secrets()) {
            if (!String(value).includes(text)) continue;
            const at = `${table}.${column}`;
            if (BELONGS[secret]?.includes(at)) kept.add(`${secret} ${at}`);
            else found.push(`${secret} in ${at}: ${String(value).slice(0, 200)}`);
          }
    db.close();
    expect(found).toEqual([]);
    // The search can find: these have to be there.
    expect([...kept]).toEqual(
      expect.arrayContaining([
        "prompt generation.body",
        "media generation.body",
        "prompt attempt_request.request",
        "result attempt.results",
      ]),
    );
  });

  test("no byte of any file of the data directory holds a key: the API's is a hash, the provider's is not there", () => {
    const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
    expect(files.map(({ name }) => name)).toContain("genrouter.db");
    for (const { parentPath, name } of files) {
      // A file that was being received may be gone by now: then no byte of it is there.
      if (!existsSync(join(parentPath, name))) continue;
      const bytes = readFileSync(join(parentPath, name), "latin1");
      const elsewhere = /^genrouter\.db/.test(name) ? Object.keys(BELONGS) : [];
      expect([name, saidIn(bytes, elsewhere)]).toEqual([name, []]);
    }
    const hash = new Bun.CryptoHasher("sha256").update(scene.key).digest("hex");
    const stored = ["genrouter.db", "genrouter.db-wal"]
      .map((name) => join(dir, name))
      .filter((path) => files.some(({ parentPath, name }) => join(parentPath, name) === path));
    expect(stored.some((path) => readFileSync(path, "latin1").includes(hash))).toBe(true);
  });
});
