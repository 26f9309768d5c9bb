// The text of a provider error never proves that no job exists.
//
// A dialect file of an operator that takes a text pattern as proof is rejected.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { builtInCatalogue, catalogueOver } from "../../catalogue/load.ts";
import { providerSetting } from "../../src/config/schema.ts";
import { readDialects } from "../../src/providers/dialect/load.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { testClock } from "../clock.ts";
import { openHarness } from "../harness.ts";
import { leastInput } from "../least-input.ts";
import { answer, taskFor } from "../providers/task.ts";
import { dropScratch, makeScratch } from "../scratch.ts";
import { openFront } from "./front.ts";

const scratch = makeScratch("s12-");
afterAll(() => dropScratch(scratch));

const dialects = readDialects(null);
const contextOf = (provider: string) => {
  const { input } = taskFor({ provider, endpoint: "x", options: {}, input: { prompt: "x" }, ref: "0k3v9x2m-1" });
  return { ref: "0k3v9x2m-1", endpoint: "x", options: {}, baseUrl: "https://provider.example/base", input };
};
/** All words that the error rules of the dialects match. */
const WORDS =
  "invalid param from the scheduler, please query later: rate limit, too many, credit balance, quota, auth api key, sensitive nsfw content moderation policy violation, not found, is invalid";

describe("an HTTP 200 with an unknown error code is ambiguous for any error text:", () => {
  for (const [provider, { adapter, dialect }] of dialects) {
    // Each pointer of the rules leads to an unknown code that contains all the words.
    const bodies = dialect.failures.flatMap(({ at = [] }) => [at].flat()).filter((pointer) => pointer.startsWith("/"));
    test(provider, () => {
      for (const pointer of new Set(bodies)) {
        const body = pointer
          .slice(1)
          .split("/")
          .reduceRight<unknown>((inner, step) => (/^[\d*]/.test(step) ? [inner] : { [step]: inner }), `zz ${WORDS}`);
        // This response is the result itself: a candidate without an image means that no job exists.
        if (dialect.submit.empty !== undefined && pointer.startsWith("/candidates/")) continue;
        const outcome = adapter.readSubmit(answer(200, body), contextOf(provider));
        expect([pointer, outcome.kind]).toEqual([pointer, "ambiguous"]);
      }
    });
  }
});

test("no built-in dialect takes a pattern as proof, and a custom dialect that does is rejected with its location", () => {
  for (const [provider, { dialect }] of dialects)
    for (const { proves_not_accepted: proves, is, matches } of dialect.failures)
      if (proves === true) expect([provider, is !== undefined && matches === undefined]).toEqual([provider, true]);
  const pixverse = dialects.get("pixverse")?.dialect;
  if (!pixverse) throw new Error("there is no pixverse");
  const rule = { at: "/ErrMsg", matches: "limit|concurren", class: "rate_limited", proves_not_accepted: true };
  mkdirSync(join(scratch, "providers"), { recursive: true });
  writeFileSync(
    join(scratch, "providers", "mine.json"),
    JSON.stringify({ ...pixverse, id: "mine", failures: [...pixverse.failures, rule] }),
  );
  expect(() => readDialects(scratch)).toThrow(
    /providers\/mine\.json#\/failures: proves_not_accepted cannot be combined with matches; only a known code \(is\) proves/,
  );
});

test("a job whose acceptance carries an unknown error code is found by its key and not submitted again", async () => {
  const clock = testClock(100);
  const simulator = await createSimulator({ clock });
  let answered = 0;
  // The simulator creates the job, and the response has an unknown error code.
  await using front = openFront(simulator, (_, asked) => {
    if (asked.method !== "POST" || answered++ > 0) return undefined;
    return Response.json({
      ErrCode: 99_999,
      ErrMsg: "invalid response from the scheduler: limit, please query later",
      Resp: null,
    });
  });
  const shipped = builtInCatalogue().model("pixverse-v6");
  if (!shipped) throw new Error("there is no pixverse-v6");
  const routes = shipped.routes
    .filter(({ provider }) => ["pixverse", "wavespeed"].includes(provider))
    .map((route) => ({ ...route, rates: [{ when: {}, usd: route.provider === "pixverse" ? "0.01" : "0.02" }] }));
  const model = { ...shipped, routes };
  const catalogue = catalogueOver([model]);
  const harness = await openHarness({
    ...{ clock, simulator, catalogue, providers: ["pixverse", "wavespeed"] },
    env: { [`${providerSetting("pixverse")}__BASE_URL`]: front.baseUrl("pixverse") },
  });
  const { id } = await harness.submit(model.id, leastInput(model, `${simulator.url}/samples`));
  expect(await harness.until(id)).toMatchObject({ status: "succeeded", attempts: 1 });
  expect(front.changed).toBe(1);
  // The job was found by its key, and no other provider received a submission.
  expect(simulator.jobs().map(({ provider }) => provider)).toEqual(["pixverse"]);
  await harness.close();
  await simulator.stop();
  clock.stop();
});
