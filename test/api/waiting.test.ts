// `Prefer: wait` over HTTP: the answer of a submission or a poll waits for the end, and its status stays the same.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Harness } from "../harness.ts";
import { openApiHarness, openStillHarness, type StillHarness } from "./harness.ts";

const MODEL = "sim-image-1";
const body = { model: MODEL, input: { prompt: "a kite" } };
const wait = (seconds: number | string) => ({ prefer: `wait=${seconds}` });

describe("a service whose generations end", () => {
  let harness: Harness;
  beforeAll(async () => {
    // A fast clock would count the work of a busy machine as waiting time.
    harness = await openApiHarness({ factor: 20 });
  });
  afterAll(() => harness.close());
  const post = (headers: Record<string, string>) => harness.request("POST", "/v1/generations", { body, headers });

  test("answers a submission with 202 and the ended generation", async () => {
    const { status, headers, body: shown } = await post(wait(30));
    expect([status, headers.get("preference-applied"), shown.status]).toEqual([202, "wait=30", "succeeded"]);
    expect(headers.get("location")).toBe(`/v1/generations/${shown.id}`);
    const failed = await harness.request("POST", "/v1/generations", {
      body: { model: MODEL, input: { prompt: "[sim:fail]" } },
      headers: wait(60),
    });
    expect([failed.status, failed.body.status]).toEqual([202, "failed"]);
  });

  test("answers a replay with 200 and the generation of the first request, with any Prefer", async () => {
    const key = { "idempotency-key": "once" };
    const first = await post({ ...key, ...wait(30) });
    const again = await post({ ...key, ...wait(5) });
    const plain = await post(key);
    expect([first.status, again.status, plain.status]).toEqual([202, 200, 200]);
    expect([again.body.id, plain.body.id]).toEqual([first.body.id as string, first.body.id as string]);
    expect([again.headers.get("preference-applied"), plain.headers.get("preference-applied")]).toEqual(["wait=5", null]);
  });

  test("answers a poll when the generation has ended, whichever node runs it", async () => {
    const { id } = await harness.submit(MODEL, { prompt: "a kite" });
    const polled = await harness.request("GET", `/v1/generations/${id}`, { headers: wait(60) });
    expect([polled.status, polled.body.status, polled.headers.get("preference-applied")]).toEqual([200, "succeeded", "wait=60"]);
    const later = await harness.request("GET", `/v1/generations/${id}`, { headers: wait(60) });
    expect([later.body, later.headers.get("preference-applied")]).toEqual([polled.body, "wait=60"]);
  });

  test.each([
    ["wait=90", "wait=60"],
    ['respond-async, Wait="7"; x=1', "wait=7"],
    ["wait=2, wait=9", "wait=2"],
    ["wait=soon", null],
    ["wait=-1", null],
    ["return=minimal", null],
  ])("applies Prefer: %s as %p", async (prefer, applied) => {
    const { id } = await harness.submit(MODEL, { prompt: "a kite" });
    await harness.until(id);
    const { status, headers } = await harness.request("GET", `/v1/generations/${id}`, { headers: { prefer } });
    expect([status, headers.get("preference-applied")]).toEqual([200, applied]);
  });

  test("rejects as without the preference", async () => {
    const refused = await harness.request("POST", "/v1/generations", { body: { ...body, input: {} }, headers: wait(30) });
    const unknown = await harness.request("GET", "/v1/generations/gen_unknown", { headers: wait(30) });
    expect([refused.status, unknown.status]).toEqual([422, 404]);
  });
});

describe("a service whose generations stay queued", () => {
  let harness: StillHarness;
  beforeAll(async () => {
    harness = await openStillHarness();
  });
  afterAll(() => harness.close());

  test("answers when the time is over, and all waiting requests at once when it drains", async () => {
    const { key } = harness.rich;
    const made = await harness.request("POST", "/v1/generations", { body, key });
    const poll = (seconds: number) => harness.request("GET", `/v1/generations/${made.body.id}`, { key, headers: wait(seconds) });
    expect((await poll(0)).body).toEqual(made.body);
    let isOver = false;
    const short = poll(20).then((answered) => {
      isOver = true;
      return answered;
    });
    await harness.eventually(async () => {
      harness.clock.skip(1000);
      return isOver;
    }, "the end of the waiting time");
    expect((await short).headers.get("preference-applied")).toBe("wait=20");
    const long = poll(60);
    await harness.components.drain(0);
    const drained = await long;
    expect([drained.status, drained.body.status, drained.headers.get("preference-applied")]).toEqual([200, "queued", null]);
  });
});
