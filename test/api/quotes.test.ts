// Quotes over HTTP: the price of a submission, its errors, and nothing stored.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { JsonObject } from "../../src/domain/types.ts";
import type { Tenant } from "../harness.ts";
import { codeOf, messageOf, openApiHarness, openStillHarness, type StillHarness } from "./harness.ts";
import { type Samples, samplesOf } from "./samples.ts";

let harness: StillHarness;
let media: Samples;
beforeAll(async () => {
  harness = await openStillHarness();
  media = samplesOf(harness);
});
afterAll(() => harness.close());

const MODEL = "vidmodel-2.0-mini";
const PICTURE = join(import.meta.dir, "../corpus/files/rgb.png");
const ask = (path: string, body: unknown, { key }: Pick<Tenant, "key"> = harness.rich) =>
  harness.request("POST", path, { body, key });
const quote = (body: unknown, tenant?: Pick<Tenant, "key">) => ask("/v1/quotes", body, tenant);

describe("a quote", () => {
  test.each([
    ["without links", () => ({ model: MODEL, input: { prompt: "a kite", resolution: "480p", duration: 4 } })],
    [
      "with a clip whose length is billed",
      () => ({ model: "vidmodel-2.0", input: { prompt: "a kite", video_url: media.clip(5) } }),
    ],
    ["with limits", () => ({ model: MODEL, input: { prompt: "a kite" }, max_cost_usd: 5, max_wait_s: 86_400 })],
  ])("has the prices of the submission, %s", async (_what, bodyOf) => {
    const body = bodyOf();
    const quoted = await quote(body);
    const submitted = await ask("/v1/generations", body);
    expect([quoted.status, submitted.status]).toEqual([200, 202]);
    const { quoted_usd = null, reserved_usd = null } = submitted.body;
    expect(quoted.body).toEqual({
      object: "quote",
      ...{ quoted_usd, reserved_usd },
      routes: expect.any(Number),
      expected_s: expect.any(Number),
      skipped: expect.any(Array),
    });
    expect(quoted.body.routes).toBeGreaterThan(0);
    expect(quoted.body.expected_s).toBeGreaterThan(0);
  });

  test("stores nothing, holds nothing, and may be requested by a key that only reads", async () => {
    const reader = await harness.newTenant(1000, "read");
    const before = await harness.standing(reader);
    expect((await quote({ model: MODEL, input: { prompt: "a kite" } }, reader)).status).toBe(200);
    expect((await ask("/v1/generations", { model: MODEL, input: { prompt: "a kite" } }, reader)).status).toBe(403);
    expect(await harness.standing(reader)).toEqual(before);
  });

  test("counts the routes that are not planned by reason, and names no route and no provider", async () => {
    const input = { prompt: "a kite", resolution: "480p", duration: 4 };
    const all = (await quote({ model: MODEL, input })).body;
    const cheap = (await quote({ model: MODEL, input, max_cost_usd: all.quoted_usd })).body;
    const dear = Number(all.routes) - Number(cheap.routes);
    expect(dear).toBeGreaterThan(0);
    expect(cheap.skipped).toEqual([...(all.skipped as JsonObject[]), { reason: "over_max_cost", routes: dear }]);
    expect(cheap.reserved_usd).toBe(all.quoted_usd as number);
    expect(JSON.stringify([all, cheap])).not.toMatch(/fal|replicate/i);
  });

  test("does not need credits without links, and is 402 with links before any of them is opened", async () => {
    let opened = 0;
    using server = Bun.serve({
      port: 0,
      fetch: () => {
        opened += 1;
        return new Response(Bun.file(PICTURE));
      },
    });
    const scene = await openApiHarness({ factor: 0, env: { GENROUTER_MEDIA__ALLOW: server.url.host } });
    const { key } = await scene.newTenant(0);
    const post = (input: JsonObject, as?: string) =>
      scene.request("POST", "/v1/quotes", { body: { model: MODEL, input }, ...(as === undefined ? {} : { key: as }) });
    const linked = { prompt: "a kite", image_url: `${server.url.href}a.png` };
    expect((await post({ prompt: "a kite" }, key)).status).toBe(200);
    const refused = await post(linked, key);
    expect([refused.status, codeOf(refused), opened]).toEqual([402, "insufficient_credits", 0]);
    expect([(await post(linked)).status, opened > 0]).toEqual([200, true]);
    await scene.close();
  });
});

describe("a request that a submission rejects is rejected with the same status, code and message", () => {
  const ROWS: readonly (readonly [what: string, body: () => unknown])[] = [
    ["no JSON", () => "{"],
    ["no object", () => "[]"],
    ["an unknown member", () => ({ model: MODEL, input: {}, colour: 1 })],
    ["a max_cost_usd out of range", () => ({ model: MODEL, input: {}, max_cost_usd: 101 })],
    ["an unknown model", () => ({ model: "unknown", input: {} })],
    ["a missing prompt", () => ({ model: MODEL, input: {} })],
    ["a wrong value", () => ({ model: MODEL, input: { prompt: "x", duration: 99 } })],
    ["a low max_cost_usd", () => ({ model: MODEL, input: { prompt: "x" }, max_cost_usd: 0.01 })],
    ["a short max_wait_s", () => ({ model: MODEL, input: { prompt: "x" }, max_wait_s: 1 })],
    ["a link of another kind", () => ({ model: MODEL, input: { prompt: "x", image_url: media.voice } })],
    ["a clip that is too long", () => ({ model: "vidmodel-2.5", input: { prompt: "x", video_url: media.clip(31) } })],
  ];
  test.each(ROWS)("with %s", async (_what, bodyOf) => {
    const body = bodyOf();
    const [quoted, submitted] = [await quote(body), await ask("/v1/generations", body)];
    expect(submitted.status).toBeGreaterThanOrEqual(400);
    expect([quoted.status, codeOf(quoted), messageOf(quoted)]).toEqual([
      submitted.status,
      codeOf(submitted),
      messageOf(submitted),
    ]);
  });
});
