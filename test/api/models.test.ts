// One model by its id, and the JSON Schema of its input, over HTTP.
import { afterEach, beforeEach, expect, test } from "bun:test";
import Ajv2020 from "ajv/dist/2020";
import type { Harness } from "../harness.ts";
import { codeOf, openApiHarness } from "./harness.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await openApiHarness();
});
afterEach(() => harness.close());

const read = (path: string, headers: Record<string, string> = {}) => harness.request("GET", path, { key: null, headers });

test("returns the entry of the model list without a key, and 304 for its ETag", async () => {
  const { data } = (await read("/v1/models")).body;
  for (const entry of data as { id: string }[]) {
    const { status, body } = await read(`/v1/models/${entry.id}`);
    expect([status, body]).toEqual([200, { ...entry }]);
  }
  const etag = (await read("/v1/models/vidmodel-2.0")).headers.get("etag") ?? "";
  expect((await read("/v1/models/vidmodel-2.0", { "if-none-match": etag })).status).toBe(304);
});

test("returns a JSON Schema that accepts what the service accepts, and rejects what it rejects with 422", async () => {
  const { status, body } = await read("/v1/models/vidmodel-2.0/schema");
  expect([status, body.$schema]).toEqual([200, "https://json-schema.org/draft/2020-12/schema"]);
  const isValid = new Ajv2020().compile(body);
  const picture = `${harness.simulator.url}/samples/picture.png?width=16&height=16`;
  for (const [input, isAccepted] of [
    [{ prompt: "a kite" }, true],
    [{ prompt: "a kite", image_url: picture, end_image_url: picture }, true],
    [{ prompt: "a kite", end_image_url: picture }, false],
    [{ prompt: "a kite", image_url: picture, image_urls: [picture] }, false],
    [{ prompt: "a kite", duration: 16 }, false],
    [{ prompt: "a kite", colour: "red" }, false],
    [{ duration: 5 }, false],
  ] as const) {
    const answered = await harness.request("POST", "/v1/generations", { body: { model: "vidmodel-2.0", input } });
    expect([answered.status, isValid(input)]).toEqual([isAccepted ? 202 : 422, isAccepted]);
  }
});

test.each(["/v1/models/unknown", "/v1/models/unknown/schema", "/v1/models/%2e", "/v1/models/VIDMODEL-2.0"])(
  "returns 404 for %s",
  async (path) => {
    const answered = await read(path);
    expect([answered.status, codeOf(answered)]).toEqual([404, "not_found"]);
  },
);

test("returns 405 for a POST", async () => {
  expect((await harness.request("POST", "/v1/models/vidmodel-2.0", { key: null })).status).toBe(405);
});

test("returns 503 for a model whose routes are all down, as a submission does, and its schema still", async () => {
  harness.simulator.script({ fault: "402" });
  const { id } = await harness.submit("vidmodel-2.0-mini", { prompt: "a kite" });
  await harness.until(id);
  harness.simulator.clearScript();
  const shown = await read("/v1/models/vidmodel-2.0-mini");
  const body = { model: "vidmodel-2.0-mini", input: { prompt: "a kite" } };
  const submitted = await harness.request("POST", "/v1/generations", { body });
  expect([shown.status, codeOf(shown), codeOf(submitted)]).toEqual([503, "model_unavailable", "model_unavailable"]);
  expect(shown.headers.get("retry-after")).toBe("10");
  expect((await read("/v1/models/vidmodel-2.0-mini/schema")).status).toBe(200);
});
