// S12: words of a provider are no proof that nothing was made, and a file of an operator that takes them for one is refused.
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
/** Every word that some dialect looks for among what a provider says, in the places where its rules look. */
const WORDS =
  "invalid param from the scheduler, please query later: rate limit, too many, credit balance, quota, auth api key, sensitive nsfw content moderation policy violation, not found, is invalid";

describe("S12: an unknown code in an HTTP 200 is ambiguous, whatever the words beside it say", () => {
  for (const [provider, { adapter, dialect }] of dialects) {
    // Each pointer of its rules leads to a code that nobody knows, with all the words in it.
    const bodies = dialect.failures.flatMap(({ at = [] }) => [at].flat()).filter((pointer) => pointer.startsWith("/"));
    test(provider, () => {
      for (const pointer of new Set(bodies)) {
        const body = pointer
          .slice(1)
          .split("/")
          .reduceRight<unknown>((inner, step) => (/^[\d*]/.test(step) ? [inner] : { [step]: inner }), `zz ${WORDS}`);
        // Its answer is the work: where a candidate is there without a picture, there is no job that could exist.
        if (dialect.submit.empty !== undefined && pointer.startsWith("/candidates/")) continue;
        const outcome = adapter.readSubmit(answer(200, body), contextOf(provider));
        expect([pointer, outcome.kind]).toEqual([pointer, "ambiguous"]);
      }
    });
  }
});

test("S12: no shipped dialect takes a pattern for proof, and an own one that does is refused by its place", () => {
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
    /providers\/mine\.json#\/failures: proves_not_accepted cannot stand beside matches: only a code that is known \(is\) proves/,
  );
});

test("S12: a job whose acceptance was answered with strange words is not bought a second time", async () => {
  const clock = testClock(100);
  const simulator = await createSimulator({ clock });
  let answered = 0;
  // The job is made, and what is told of it is a code that nobody has heard of.
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
  // It was found by its key, and nobody else was sent it.
  expect(simulator.jobs().map(({ provider }) => provider)).toEqual(["pixverse"]);
  await harness.close();
  await simulator.stop();
  clock.stop();
});
