// Secrets sent through every endpoint, error and provider fault appear only where they belong.
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runHere } from "../cli/captured.ts";
import { closeScene, openScene, SECRETS, scene } from "./canary.ts";
import { signed } from "./echo.ts";

/** The columns that store text of a client or provider, because the service needs it to continue. */
const BELONGS: Record<string, readonly string[]> = {
  prompt: ["generation_request.body", "attempt_request.request"],
  negative: ["generation_request.body", "attempt_request.request"],
  media: ["generation_request.body", "attempt_request.request"],
  // Each event is stored as it arrived.
  result: ["attempt_answer.results", "generation_event.event"],
};

const { dir, answers, links, ids } = scene;
beforeAll(openScene, 120_000);
afterAll(closeScene);

/** Every secret by name, including the API keys. */
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

test("the scenario sends each provider its credential and gets successes, failures and every error status", () => {
  for (const credential of [`Bearer ${SECRETS.replicate}`, `Key ${SECRETS.fal}`]) expect(scene.credentials).toContain(credential);
  const ends = answers.join("\n");
  for (const status of ["succeeded", "failed"]) expect(ends).toContain(`"status":"${status}"`);
  for (const code of [400, 401, 402, 404, 405, 413, 422]) expect(ends).toMatch(new RegExp(`^\\w+ ${code}$`, "m"));
  expect(links.length).toBeGreaterThan(0);
});

test("no secret appears on standard output or in the log at level debug", () => {
  expect(scene.err.split("\n").filter((line) => line.includes('"level":"debug"')).length).toBeGreaterThan(100);
  expect(saidIn(scene.out)).toEqual([]);
  expect(saidIn(scene.err)).toEqual([]);
  for (const link of new Set(links)) expect(scene.err).not.toContain(new URL(link).searchParams.get("sig") ?? "no link");
});

test("no HTTP response contains a secret", () => {
  // The service repeats an unknown model, an invalid value and a valid request id.
  expect(answers.flatMap((answer) => saidIn(answer, ["guess"]))).toEqual([]);
  expect(answers.filter((answer) => !answer.includes("model_not_available")).flatMap((answer) => saidIn(answer))).toEqual([]);
});

test("the metrics contain no secret and no id of a generation, account, key or request", async () => {
  const answer = await fetch(`${scene.url}/metrics`);
  const text = await answer.text();
  expect([answer.status, text.includes("genrouter_attempts_total{")]).toEqual([200, true]);
  expect(saidIn(text)).toEqual([]);
  for (const id of [...ids, scene.account, "gen_", "acc_", "key_", "req_"]) expect(text).not.toContain(id);
});

describe("operator commands", () => {
  const WORDS: [string, () => string[]][] = [
    ["trace", () => ["trace", ids.at(-1) ?? ""]],
    ["trace of the first generation", () => ["trace", ids[0] ?? ""]],
    ["orphans", () => ["orphans"]],
    ["verify", () => ["verify"]],
    ["accounts", () => ["accounts", "list"]],
    ["keys", () => ["keys", "list", "--account", scene.account]],
    ["credits", () => ["credits", "show", "--account", scene.account]],
    ["models", () => ["models"]],
  ];
  test.each(WORDS)("%s prints no secret as text, with --json or with --debug", async (_name, words) => {
    for (const more of [[], ["--json"], ["--debug"]]) {
      const { out: reported, err: warned } = await runHere([...words(), ...more, "--data", dir]);
      expect(reported.length + warned.length).toBeGreaterThan(0);
      expect(saidIn(reported + warned)).toEqual([]);
    }
  });

  test("trace prints no secret for any generation of any provider fault", async () => {
    for (const id of ids) {
      const { out: reported, err: warned } = await runHere(["trace", id, "--json", "--data", dir]);
      expect(saidIn(reported + warned)).toEqual([]);
    }
  });

  test("explain prints no secret of its input", async () => {
    const input = { prompt: SECRETS.prompt, image_url: signed("https://127.0.0.1/a", SECRETS.media) };
    for (const model of ["sim-edit-1", "sim-image-1"]) {
      const { out: reported, err: warned } = await runHere(["explain", model, JSON.stringify(input), "--data", dir]);
      expect(saidIn(reported + warned)).toEqual([]);
    }
  });
});

describe("on disk", () => {
  test("a column contains a secret only if the service needs it to continue", () => {
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
    // Proves that the search finds secrets.
    expect([...kept]).toEqual(
      expect.arrayContaining([
        "prompt generation_request.body",
        "media generation_request.body",
        "prompt attempt_request.request",
        "result attempt_answer.results",
      ]),
    );
  });

  test("no file of the data directory contains a key, and the database contains only the hash of the API key", () => {
    const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
    expect(files.map(({ name }) => name)).toContain("genrouter.db");
    for (const { parentPath, name } of files) {
      // A file that was being received can be deleted meanwhile.
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
