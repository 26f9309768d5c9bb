// Provider keys that a provider repeats in every response appear in no log, response, row or file.
import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { builtInCatalogue } from "../../catalogue/load.ts";
import { providerSetting } from "../../src/config/schema.ts";
import { readDialects } from "../../src/providers/dialect/load.ts";
import { knownProviders } from "../../src/providers/providers.ts";
import { DIALECT_IDS } from "../../src/simulator/dialect-ids.ts";
import { casesOfShare } from "../case-share.ts";
import { openHarness } from "../harness.ts";
import { leastInput } from "../least-input.ts";
import { dropScratch, makeScratch } from "../scratch.ts";
import { openEcho } from "./echo.ts";

const CANARY = "key-canary-5b1e";
const SECRET = "result-canary-5b1e";
const FAULTS = ["", "refuse", "fail", "rubbish", "poll-5xx", "invalid", "429", "5xx", "402", "401"];
const CATALOGUE = builtInCatalogue();
const ACCOUNTS = knownProviders(readDialects(null));
const scratch = makeScratch("provider-keys-");
afterAll(() => dropScratch(scratch));

const filesIn = (dir: string): string =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
    .join("\n");

describe("the key of a provider that repeats it in every response", () => {
  /** The other providers have no built-in model. Their routes come from an operator and use the same provider client. */
  const SOLD = DIALECT_IDS.filter((id) =>
    CATALOGUE.models.some(({ fields, routes }) => fields.prompt && routes.some(({ provider }) => provider === id)),
  );
  test("is tested for at least all but three of the dialects", () =>
    expect(SOLD.length).toBeGreaterThanOrEqual(DIALECT_IDS.length - 3));
  for (const provider of casesOfShare("providers", SOLD, (provider) => provider))
    test(`${provider}: appears in no log line, response, row or file`, async () => {
      const echo = await openEcho(SECRET, 1_000);
      const heard: string[] = [];
      const dir = join(scratch, provider);
      mkdirSync(dir);
      const account = ACCOUNTS.get(provider)?.account ?? provider;
      // The key is a pair, so that values derived from its halves are searched for, too.
      const harness = await openHarness({
        ...{ dir, providers: [], catalogue: CATALOGUE, onResponse: ({ text }) => void heard.push(text) },
        env: {
          [`${providerSetting(account)}__KEY`]: `${CANARY}:${CANARY}-secret`,
          [`${providerSetting(provider)}__BASE_URL`]: echo.baseUrls[provider] ?? "",
          GENROUTER_MEDIA__ALLOW: new URL(echo.url).host,
        },
      });
      const model = CATALOGUE.models.find(
        ({ fields, routes }) => fields.prompt && routes.some((route) => route.provider === provider),
      );
      if (!model) throw new Error(`no model of ${provider} accepts a prompt`);
      const least = leastInput(model, `${echo.url}/samples`);
      const ids: string[] = [];
      for (const fault of FAULTS) {
        const body = { model: model.id, input: { ...least, prompt: `a kite [sim:${fault}]`.replace(" [sim:]", "") } };
        const answered = await harness.request("POST", "/v1/generations", { body });
        if (answered.status === 202) ids.push(String(answered.body.id));
      }
      for (const id of ids.slice(0, 3)) await harness.until(id);
      expect(echo.credentials.size).toBeGreaterThan(0);
      const db = new Database(join(dir, "genrouter.db"), { readonly: true });
      const tables = db.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
      const rows = tables.flatMap(({ name }) =>
        db
          .query(`SELECT * FROM "${name}"`)
          .all()
          .map((row) => `${name} ${JSON.stringify(row)}`),
      );
      db.close();
      const places = { log: harness.lines.map((line) => JSON.stringify(line)), answers: heard, rows, files: [filesIn(dir)] };
      const made = [...echo.credentials].flatMap((value) => value.split(" ")).filter((word) => word.length >= 8);
      for (const [place, texts] of Object.entries(places))
        for (const secret of [CANARY, ...made]) {
          const reported = texts.find((text) => text.includes(secret));
          expect([place, reported?.slice(0, 400)]).toEqual([place, undefined]);
        }
      await harness.crash();
      await echo.stop();
    }, 60_000);
});
