// Tests of §4.2 to §4.5: polling, downloads by position and the model list, in every status of a generation.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/domain/types.ts";
import type { GenerationResource, Harness } from "../harness.ts";
import { codeOf, KEYLESS, openApiHarness, wideCatalogue } from "./harness.ts";

let harness: Harness;
/** One generation in each state. */
let of: Record<"queued" | "running" | "succeeded" | "failed" | "video" | "speech", GenerationResource>;

beforeAll(async () => {
  harness = await openApiHarness({ factor: 0, catalogue: wideCatalogue(), env: { GENROUTER_LIMITS__MAX_RUNNING: "1" } });
  const { submit, simulator, show, clock, eventually } = harness;
  const ended = async ({ id }: GenerationResource) =>
    eventually(async () => {
      clock.skip(1000);
      const shown = await show(id);
      return shown.completed_at !== null && shown;
    }, "the end");
  simulator.script({ fault: "stuck", prompt: "never ends" });
  simulator.script({ fault: "fail", prompt: "fails" });
  const failed = await ended(await submit("sim-edit-1", { prompt: "fails", image_url: `${simulator.url}/samples/picture.png` }));
  const succeeded = await ended(await submit("sim-image-1", { prompt: "two pictures" }));
  const video = await ended(await submit("vidmodel-2.0-mini", { prompt: "x", duration: 4, resolution: "480p", audio: true }));
  const speech = await ended(await submit("sim-speech-1", { prompt: "one two three" }));
  const takers: GenerationResource[] = [];
  for (let slot = 0; slot < harness.nodes; slot += 1) takers.push(await submit("vidmodel-2.0-mini", { prompt: "never ends" }));
  for (const { id } of takers) await harness.until(id, (shown) => shown.status === "running");
  const running = await show(takers[0]?.id ?? "");
  const queued = await submit("sim-image-1", { prompt: "waits" });
  of = { queued, running, succeeded, failed, video, speech };
});
afterAll(() => harness.close());

type State = keyof typeof of;
const outcome = async (state: State, path: string, method = "GET") => {
  const answered = await harness.request(method, `/v1/generations/${of[state].id}${path}`);
  return `${answered.status} ${codeOf(answered)}`.trim();
};

describe("polling (§2.1, §3, §4.2)", () => {
  const SHOWN: [State, JsonObject][] = [
    [
      "queued",
      { status: "queued", output: null, cost_usd: null, attempts: 0, error: null, completed_at: null, reserved_usd: 0.07 },
    ],
    ["running", { status: "running", output: null, cost_usd: null, attempts: 1, error: null, completed_at: null }],
    ["succeeded", { status: "succeeded", cost_usd: 0.06, reserved_usd: null, attempts: 1, error: null, quoted_usd: 0.06 }],
    ["failed", { status: "failed", output: null, cost_usd: 0, reserved_usd: null, attempts: 2 }],
  ];
  test.each(SHOWN)("returns the resource of a %s generation", async (state, shown) => {
    const answered = await harness.request("GET", `/v1/generations/${of[state].id}`);
    expect(answered.status).toBe(200);
    expect(answered.body).toMatchObject({ ...shown, object: "generation", id: of[state].id });
    expect(answered.body).not.toHaveProperty("message");
    expect(answered.headers.get("cache-control")).toBe("no-store");
    expect((await harness.request("HEAD", `/v1/generations/${of[state].id}`)).status).toBe(200);
  });
  test("returns the error of a failed generation without the name of a provider", () => {
    expect(of.failed.error?.code).toBe("provider_failed");
    expect(of.failed.error?.message).not.toMatch(/fal|replicate|sim\//i);
  });
  test("returns the output fields of the kind", () => {
    expect(Object.keys(of.succeeded.output ?? {}).sort()).toEqual(["height", "urls", "width"]);
    expect(of.video.output).toMatchObject({ width: 864, height: 480, duration_s: 4, has_audio: true });
    expect(Object.keys(of.speech.output ?? {})).toEqual(["urls"]);
  });

  const IDS: [id: string, what: string][] = [
    ["a".repeat(80), "80 characters"],
    ["a".repeat(81), "81 characters"],
    ["gen_-_09azAZ", "word characters and hyphens"],
    ["gen.x", "a dot"],
    ["gen%20x", "a space"],
    ["g%C3%A9n", "a letter outside ASCII"],
    ["gen_%2e%2e", "dots"],
  ];
  test.each(IDS)("returns 404 for the id %s with %p", async (id) => {
    for (const path of ["", "/content", "/content/2"]) {
      const answered = await harness.request("GET", `/v1/generations/${id}${path}`);
      expect([answered.status, codeOf(answered)]).toEqual([404, "not_found"]);
    }
  });
});

describe("a download (§4.3, §4.4)", () => {
  const OK = "200";
  const NONE = "404 not_found";
  const SOON = "409 not_ready";
  const ROWS: [State, path: string, expected: string][] = [
    ["queued", "/content", SOON],
    ["queued", "/content/2", SOON],
    ["queued", "/content/99", SOON],
    ["queued", "/content/1", NONE],
    ["queued", "/content/100", NONE],
    ["running", "/content", SOON],
    ["running", "/content/2", SOON],
    ["failed", "/content", NONE],
    ["failed", "/content/2", NONE],
    ["succeeded", "/content", OK],
    ["succeeded", "/content/2", OK],
    ["succeeded", "/content/3", NONE],
    ["succeeded", "/content/99", NONE],
    ["succeeded", "/content/100", NONE],
    ["succeeded", "/content/1", NONE],
    ["succeeded", "/content/0", NONE],
    ["succeeded", "/content/-2", NONE],
    ["succeeded", "/content/02", NONE],
    ["succeeded", "/content/2.0", NONE],
    ["succeeded", "/content/+2", NONE],
    ["succeeded", "/content/%32", OK],
    ["succeeded", "/content/two", NONE],
    ["video", "/content", OK],
    ["video", "/content/2", NONE],
    ["speech", "/content", OK],
  ];
  test.each(ROWS)("of a %s generation at %s returns %s", async (state, path, expected) => {
    expect(await outcome(state, path)).toBe(expected);
    expect((await outcome(state, path, "HEAD")).slice(0, 3)).toBe(expected.slice(0, 3));
  });

  test("serves files with the content type of their kind, and the same file by its link without a key", async () => {
    const TYPES: [State, RegExp][] = [
      ["succeeded", /^image\/(png|jpeg|webp)$/],
      ["video", /^video\/mp4$/],
      ["speech", /^audio\/(mpeg|wav)$/],
    ];
    for (const [state, type] of TYPES) {
      const byKey = await harness.request("GET", `/v1/generations/${of[state].id}/content`);
      expect(byKey.headers.get("content-type")).toMatch(type);
      const url = new URL(of[state].output?.urls[0] ?? "");
      const byLink = await harness.request("GET", `${url.pathname}${url.search}`, { key: null });
      expect([byLink.status, byLink.text === byKey.text]).toEqual([200, true]);
    }
  });

  test("supports ranges and conditions, and rejects an altered link", async () => {
    const path = `/v1/generations/${of.video.id}/content`;
    const whole = await harness.request("GET", path);
    const etag = whole.headers.get("etag") ?? "";
    const url = new URL(of.video.output?.urls[0] ?? "");
    const spoiled = `${url.pathname}${url.search.replace("sig=", "sig=x")}`;
    const ROWS: [string, Record<string, string>, number][] = [
      [path, { range: "bytes=0-9" }, 206],
      [path, { range: "bytes=99999999-" }, 416],
      [path, { "if-none-match": etag }, 304],
      [`${url.pathname}${url.search}`, { range: "bytes=0-9" }, 206],
      [spoiled, {}, 403],
      ["/v1/models", { "if-none-match": "*" }, 304],
    ];
    for (const [at, headers, status] of ROWS) expect((await harness.request("GET", at, { headers })).status).toBe(status);
  });
});

describe("the model list (§4.5)", () => {
  test("needs no key and lists exactly the models that a submission accepts", async () => {
    const { body } = await harness.request("GET", "/v1/models", { key: null });
    expect(body.object).toBe("list");
    const ids = (body.data as JsonObject[]).map((entry) => String(entry.id));
    expect(ids).toContain("vidmodel-2.5");
    expect(ids).not.toContain(KEYLESS);
    for (const model of [...ids, KEYLESS, "vidmodel-3", "vidmodel"]) {
      const answered = await harness.request("POST", "/v1/generations", { body: { model, input: { nonsense: 1 } } });
      expect([model, codeOf(answered)]).toEqual([model, ids.includes(model) ? "invalid_input" : "model_not_available"]);
    }
  });
});
