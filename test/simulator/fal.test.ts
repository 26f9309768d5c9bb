// Tests that the simulator's fal dialect responds as fal's documentation describes, pitfalls included.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Bed, call, openBed, START_MS } from "./fixture.ts";

const ENDPOINT = "bytedance/seedance-2.0/text-to-video";
let bed: Bed;
beforeAll(async () => {
  bed = await openBed();
});
afterAll(() => bed.simulator.stop());

const submit = async (input: Record<string, unknown> = { prompt: "a fox" }, endpoint = ENDPOINT) =>
  (await bed.fal(endpoint, input)).body;

test("returns IN_QUEUE and URLs with owner and app only for a submission", async () => {
  const { status, body, headers } = await bed.fal(ENDPOINT, { prompt: "a fox", duration: "5" });
  const base = `${bed.simulator.falUrl}/bytedance/seedance-2.0/requests/${body.request_id}`;
  expect(status).toBe(200);
  expect(headers.get("x-fal-request-id")).toBe(String(body.request_id));
  expect(body).toEqual({
    status: "IN_QUEUE",
    request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    response_url: base,
    status_url: `${base}/status`,
    cancel_url: `${base}/cancel`,
    queue_position: 0,
  });
});

test("reports IN_QUEUE (202), IN_PROGRESS (202) and COMPLETED (200) within about 6 s for a 5 s clip", async () => {
  const body = await submit({ prompt: "a fox", duration: "5" });
  const url = String(body.status_url);
  const seen: [number, unknown][] = [];
  for (const ms of [0, 1000, 3900, 2100]) {
    bed.clock.pass(ms);
    const answer = await call(url);
    seen.push([answer.status, answer.body.status]);
  }
  expect(seen).toEqual([
    [202, "IN_QUEUE"],
    [202, "IN_PROGRESS"],
    [202, "IN_PROGRESS"],
    [200, "COMPLETED"],
  ]);
  const { body: done } = await call(url);
  const { inference_time } = done.metrics as { inference_time: number };
  expect(inference_time).toBeGreaterThan(4.5);
  expect(inference_time).toBeLessThan(6.5);
});

test.each([
  ["fal-ai/nano-picture", { prompt: "p", num_images: 2 }, "images", 2],
  ["fal-ai/some-upscaler", { image_url: "https://pictures.example/a.png" }, "image", 1],
  [ENDPOINT, { prompt: "p", duration: 4 }, "video", 1],
  ["fal-ai/good-speech", { text: "Hello there" }, "audio", 1],
] as const)("returns the result of %s in the shape of its kind", async (endpoint, input, member, count) => {
  const submitted = await submit(input, endpoint);
  bed.clock.pass(60_000);
  const { status, body } = await call(String(submitted.response_url));
  expect(status).toBe(200);
  const files = [body[member]].flat() as { url: string; content_type: string; file_name: string; file_size: number }[];
  expect(files).toHaveLength(count);
  for (const file of files) {
    const fetched = await fetch(file.url);
    expect(fetched.headers.get("content-type")).toBe(file.content_type);
    expect((await fetched.bytes()).length).toBe(file.file_size);
  }
});

test("returns 400 for the result of a running request and 404 an hour after its end", async () => {
  const submitted = await submit();
  const early = await call(String(submitted.response_url));
  expect([early.status, early.body]).toEqual([400, { detail: "Request is still in progress" }]);
  bed.clock.pass(7000);
  expect((await call(String(submitted.response_url))).status).toBe(200);
  bed.clock.pass(3_600_000);
  expect((await call(String(submitted.response_url))).status).toBe(404);
});

test("returns 404 for a status URL with the endpoint's sub-path and for an unknown request", async () => {
  const submitted = await submit();
  for (const path of [`${ENDPOINT}/requests/${submitted.request_id}/status`, "bytedance/seedance-2.0/requests/none/status"])
    expect((await call(`${bed.simulator.falUrl}/${path}`)).status).toBe(404);
  expect((await call(`${bed.simulator.falUrl}/other/app/requests/${submitted.request_id}/status`)).status).toBe(404);
});

test("cancels a running request with 202; returns 400 for an ended request and 404 for an unknown one", async () => {
  const submitted = await submit();
  const cancel = String(submitted.cancel_url);
  const asked = await call(cancel, "PUT");
  expect([asked.status, asked.body]).toEqual([202, { status: "CANCELLATION_REQUESTED" }]);
  const { status, body } = await call(String(submitted.status_url));
  expect([status, body.status, body.error_type]).toEqual([200, "COMPLETED", "client_cancelled"]);
  expect((await call(String(submitted.response_url))).status).toBe(499);
  const again = await call(cancel, "PUT");
  expect([again.status, again.body]).toEqual([400, { status: "ALREADY_COMPLETED" }]);
  const none = await call(cancel.replace(String(submitted.request_id), "none"), "PUT");
  expect([none.status, none.body]).toEqual([404, { status: "NOT_FOUND" }]);
});

test.each(["", "Bearer k", "Key ", "Key"])("returns 401 from every endpoint for authorization %p", async (authorization) => {
  const submitted = await submit();
  const urls = [submitted.status_url, submitted.response_url].map(String);
  for (const url of urls) expect((await call(url, "GET", undefined, authorization)).status).toBe(401);
  const refused = await call(`${bed.simulator.falUrl}/${ENDPOINT}`, "POST", { prompt: "p" }, authorization);
  expect(refused.status).toBe(401);
  expect(refused.body).toEqual({ detail: expect.any(String), error_type: "unauthorized" });
  const list = await call(
    `${bed.simulator.falUrl}/v1/models/requests/by-endpoint?endpoint_id=${ENDPOINT}`,
    "GET",
    undefined,
    authorization,
  );
  expect([list.status, list.body.error]).toEqual([401, expect.objectContaining({ type: "authorization_error" })]);
});

test.each([
  [{}, "prompt", "missing"],
  [{ prompt: 3 }, "prompt", "string_type"],
  [{ prompt: "p", duration: "soon" }, "duration", "value_error"],
  [{ prompt: "p", num_images: 0 }, "num_images", "value_error"],
])("ends a request with input %p at once with a 422 that names %s", async (input, field, type) => {
  const submitted = await submit(input);
  expect((await call(String(submitted.status_url))).body.status).toBe("COMPLETED");
  const { status, body } = await call(String(submitted.response_url));
  expect(status).toBe(422);
  expect(body.detail).toEqual([
    { loc: ["body", field], msg: expect.any(String), type, url: expect.stringContaining(type), input: expect.anything() },
  ]);
});

test("rejects a body that is not a JSON object with 422 and creates no job", async () => {
  const before = bed.simulator.jobs().length;
  expect((await bed.fal(ENDPOINT, "{not json")).status).toBe(422);
  expect((await bed.fal(ENDPOINT, "[1]")).status).toBe(422);
  expect(bed.simulator.jobs()).toHaveLength(before);
});

test("lists finished requests of an endpoint in pages, newest end first, with payloads if expand=payloads is set", async () => {
  const endpoint = "fal-ai/listed-picture";
  const sent: string[] = [];
  for (let n = 0; n < 7; n++) {
    sent.unshift(String((await submit({ prompt: `p${n}`, end_user_id: `ref-${n}` }, endpoint)).request_id));
    bed.clock.pass(5000);
  }
  const running = await submit({ prompt: "still running" }, endpoint);
  const list = async (query: string) =>
    (await call(`${bed.simulator.falUrl}/v1/models/requests/by-endpoint?endpoint_id=${endpoint}${query}`)).body;

  const seen: Record<string, unknown>[] = [];
  let cursor: unknown = null;
  const sizes: number[] = [];
  do {
    const page: Record<string, unknown> = await list(
      `&limit=3&expand=payloads${cursor === null ? "" : `&cursor=${encodeURIComponent(String(cursor))}`}`,
    );
    const items = page.items as Record<string, unknown>[];
    sizes.push(items.length);
    seen.push(...items);
    cursor = page.next_cursor;
    expect(page.has_more).toBe(cursor !== null);
  } while (cursor !== null);
  expect(sizes).toEqual([3, 3, 1]);
  expect(seen.map(({ request_id }) => request_id)).toEqual(sent);
  expect(seen.map(({ request_id }) => request_id)).not.toContain(running.request_id);
  expect(seen[0]).toEqual({
    request_id: String(sent[0]),
    endpoint_id: endpoint,
    sent_at: expect.any(String),
    started_at: expect.any(String),
    ended_at: expect.any(String),
    status_code: 200,
    duration: expect.any(Number),
    json_input: { prompt: "p6", end_user_id: "ref-6" },
    json_output: expect.objectContaining({ images: expect.any(Array) }),
  });
  const [plain] = (await list("")).items as Record<string, unknown>[];
  expect(plain).not.toHaveProperty("json_input");
  expect((await list(`&start=${new Date(bed.clock.nowMs() - 6000).toISOString()}`)).items).toHaveLength(1);
  expect((await list(`&end=${new Date(START_MS - 1).toISOString()}`)).items).toHaveLength(0);
  expect((await list("&status=error")).items).toHaveLength(0);
  expect((await list("&status=success")).items).toHaveLength(7);
});

test.each(["", "?endpoint_id=a/b&limit=101", "?endpoint_id=a/b&start=yesterday", "?endpoint_id=a/b&cursor=%21"])(
  "rejects list query %p with 400",
  async (query) => {
    const { status, body } = await call(`${bed.simulator.falUrl}/v1/models/requests/by-endpoint${query}`);
    expect([status, body.error]).toEqual([
      400,
      expect.objectContaining({ type: "validation_error", message: expect.any(String) }),
    ]);
  },
);
