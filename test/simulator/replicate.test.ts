// Tests that the simulator's Replicate dialect responds as Replicate's documentation describes.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Bed, call, openBed } from "./fixture.ts";

const MODEL = "bytedance/seedance-2.0";
let bed: Bed;
beforeAll(async () => {
  bed = await openBed();
});
afterAll(() => bed.simulator.stop());

const pollUrl = (body: Record<string, unknown>) => (body.urls as { get: string }).get;

test("creates a prediction with 201, status starting and no output", async () => {
  const input = { prompt: "a fox", duration: 5, generate_audio: true };
  const { status, body } = await bed.replicate(MODEL, input);
  const base = `${bed.simulator.replicateUrl}/predictions/${body.id}`;
  expect(status).toBe(201);
  expect(body).toEqual({
    id: expect.stringMatching(/^[a-z0-9]{26}$/),
    model: MODEL,
    version: "hidden",
    input,
    logs: "",
    output: null,
    error: null,
    status: "starting",
    source: "api",
    data_removed: false,
    created_at: expect.stringMatching(/^2026-11-2\dT.*Z$/),
    urls: { get: base, cancel: `${base}/cancel`, web: expect.stringContaining(String(body.id)) },
  });
});

test("moves a prediction through starting, processing and succeeded, and removes its data after an hour", async () => {
  const { body } = await bed.replicate(MODEL, { prompt: "a fox", duration: 5 });
  const seen: unknown[] = [];
  let last: Record<string, unknown> = {};
  for (const ms of [0, 1000, 6000]) {
    bed.clock.pass(ms);
    last = (await call(pollUrl(body))).body;
    seen.push(last.status);
  }
  expect(seen).toEqual(["starting", "processing", "succeeded"]);
  expect(last.output).toMatch(/^http.*\.mp4$/);
  expect(last).toMatchObject({
    error: null,
    metrics: { predict_time: expect.any(Number) },
    started_at: expect.any(String),
    completed_at: expect.any(String),
  });
  expect((await fetch(String(last.output))).status).toBe(200);
  bed.clock.pass(3_600_000);
  const removed = (await call(pollUrl(body))).body;
  expect(removed).toMatchObject({ status: "succeeded", data_removed: true, output: null, input: {} });
  expect((await fetch(String(last.output))).status).toBe(404);
});

test.each([
  [{ prompt: "p" }, "string"],
  [{ prompt: "p", num_outputs: 1 }, "list of 1"],
  [{ prompt: "p", num_outputs: 3 }, "list of 3"],
])("returns the pictures for %p as a %s", async (input, shape) => {
  const { body } = await bed.replicate("someone/picture-maker", input);
  bed.clock.pass(60_000);
  const { output } = (await call(pollUrl(body))).body;
  expect(Array.isArray(output) ? `list of ${output.length}` : typeof output).toBe(shape);
});

test.each([
  [{}, "prompt", "missing"],
  [{ prompt: 3 }, "prompt", "string_type"],
  [{ prompt: "p", duration: -3 }, "duration", "value_error"],
])("rejects input %p with 422 naming %s, and creates no prediction", async (input, field, type) => {
  const before = bed.simulator.jobs().length;
  const { status, body } = await bed.replicate(MODEL, input);
  expect([status, body.title, body.status]).toEqual([422, "Input validation failed", 422]);
  expect(body.detail).toStartWith(`- input.${field}: `);
  expect(body.invalid_fields).toEqual([{ type, field, description: expect.any(String) }]);
  expect(bed.simulator.jobs()).toHaveLength(before);
});

test("rejects a body without input with 422", async () => {
  expect((await call(`${bed.simulator.replicateUrl}/models/${MODEL}/predictions`, "POST", { prompt: "p" })).status).toBe(422);
});

test("accepts duration -1, which lets the model decide", async () => {
  expect((await bed.replicate(MODEL, { prompt: "p", duration: -1 })).status).toBe(201);
});

test.each(["", "Key k", "Bearer"])("returns a 401 problem from every endpoint for authorization %p", async (authorization) => {
  for (const [method, path] of [
    ["POST", `/models/${MODEL}/predictions`],
    ["GET", "/predictions"],
    ["GET", "/predictions/x"],
  ] as const) {
    const { status, body } = await call(
      `${bed.simulator.replicateUrl}${path}`,
      method,
      method === "POST" ? { input: { prompt: "p" } } : undefined,
      authorization,
    );
    expect([status, body.title, body.status]).toEqual([401, "Unauthenticated", 401]);
  }
});

test("cancels a running prediction and does not change a finished one", async () => {
  const { body } = await bed.replicate(MODEL, { prompt: "p" });
  bed.clock.pass(1500);
  const cancelled = await call(`${pollUrl(body)}/cancel`, "POST");
  expect([cancelled.status, cancelled.body.status]).toEqual([200, "canceled"]);
  bed.clock.pass(60_000);
  expect((await call(pollUrl(body))).body).toMatchObject({ status: "canceled", output: null });
  const other = await bed.replicate(MODEL, { prompt: "p" });
  bed.clock.pass(60_000);
  expect((await call(`${pollUrl(other.body)}/cancel`, "POST")).body.status).toBe("succeeded");
  expect((await call(`${bed.simulator.replicateUrl}/predictions/none/cancel`, "POST")).status).toBe(404);
});

test("lists predictions in pages of 100, newest first, running ones included; new arrivals do not shift the pages", async () => {
  const own = await openBed();
  const sent: string[] = [];
  for (let n = 0; n < 230; n++) {
    sent.unshift(String((await own.replicate(MODEL, { prompt: `p${n}` })).body.id));
    own.clock.pass(10);
  }
  const pages: string[][] = [];
  let url: unknown = `${own.simulator.replicateUrl}/predictions`;
  while (typeof url === "string") {
    const { body }: { body: Record<string, unknown> } = await call(url);
    pages.push((body.results as { id: string }[]).map(({ id }) => id));
    url = body.next;
    if (pages.length === 1) await own.replicate(MODEL, { prompt: "a late arrival" });
  }
  expect(pages.map((page) => page.length)).toEqual([100, 100, 30]);
  expect(pages.flat()).toEqual(sent);

  const after = new Date(own.clock.nowMs() - 55).toISOString();
  const recent = (await call(`${own.simulator.replicateUrl}/predictions?created_after=${after}`)).body.results as {
    input: unknown;
  }[];
  expect(recent.map(({ input }) => input)).toEqual([
    { prompt: "a late arrival" },
    ...[229, 228, 227, 226, 225].map((n) => ({ prompt: `p${n}` })),
  ]);
  const before = (await call(`${own.simulator.replicateUrl}/predictions?created_before=2026-11-21T09:59:59Z`)).body;
  expect(before).toEqual({ previous: null, next: null, results: [] });
  expect((await call(`${own.simulator.replicateUrl}/predictions?created_after=lately`)).status).toBe(400);
  await own.simulator.stop();
});
