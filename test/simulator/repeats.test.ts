// Tests idempotency keys and job ids that a caller chooses, in each simulated provider's own rules.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createSimulator, type Simulator } from "../../src/simulator/simulator.ts";
import { movableClock } from "./fixture.ts";

let simulator: Simulator;
beforeAll(async () => {
  simulator = await createSimulator({ clock: movableClock(), seed: 7 });
});
afterAll(() => simulator.stop());

/** Members of the four providers' responses that these tests read. */
type Said = {
  request_id?: string;
  status?: string;
  errors?: { code: string }[];
  ErrCode?: number;
  Resp?: { video_id: number; status: number };
  data?: { items?: Record<string, unknown>[] };
};
const ask = async (provider: string, path: string, headers: Record<string, string>, body?: unknown, method?: string) => {
  const answer = await fetch(`${simulator.baseUrls[provider]}${path}`, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as Said };
};
const jobsWith = (ref: string) => simulator.jobs().filter((job) => job.ref === ref).length;

const higgsfield = (key: string, body: unknown, path = "/bytedance/seedance-2.0/text-to-video") =>
  ask("higgsfield", path, { authorization: "Key id:secret", "idempotency-key": key }, body);

test("Higgsfield returns the existing request for a known key, in any order of the body's members", async () => {
  const first = await higgsfield("k1", { prompt: "a fox", duration: 5 });
  expect(await higgsfield("k1", { duration: 5, prompt: "a fox" })).toEqual(first);
  expect(jobsWith("k1")).toBe(1);
  expect(simulator.submissions().filter(({ ref }) => ref === "k1")).toMatchObject([{ accepted: true }, { accepted: false }]);
});

test.each([
  ["another body", { prompt: "a hare", duration: 5 }, undefined],
  ["another endpoint", { prompt: "a fox", duration: 5 }, "/higgsfield-ai/dop/standard"],
])("Higgsfield rejects a known key with %s with 422", async (name, body, path) => {
  await higgsfield(name.replace(" ", "-"), { prompt: "a fox", duration: 5 });
  expect((await higgsfield(name.replace(" ", "-"), body, path)).status).toBe(422);
  expect(jobsWith(name.replace(" ", "-"))).toBe(1);
});

test("Higgsfield creates one job for two concurrent submissions with one key", async () => {
  const both = await Promise.all([1, 2].map(() => higgsfield("k2", { prompt: "a fox" })));
  expect(both[0]).toEqual(both[1] ?? both[0]);
  expect(jobsWith("k2")).toBe(1);
});

test("Higgsfield does not bind a key to a rejected submission", async () => {
  expect((await higgsfield("k3", { duration: 5 })).status).toBe(422);
  expect((await higgsfield("k3", { prompt: "a fox" })).body).toMatchObject({ status: "queued" });
});

test("Higgsfield cancels a queued request and returns 400 for a cancelled one", async () => {
  const { body } = await higgsfield("k4", { prompt: "a fox" });
  const key = { authorization: "Key id:secret" };
  expect((await ask("higgsfield", `/requests/${body.request_id}/cancel`, key, undefined, "POST")).status).toBe(202);
  expect((await ask("higgsfield", `/requests/${body.request_id}/status`, key)).body.status).toBe("canceled");
  expect((await ask("higgsfield", `/requests/${body.request_id}/cancel`, key, undefined, "POST")).status).toBe(400);
});

test("Higgsfield returns 401 for a key without two parts", async () => {
  expect((await ask("higgsfield", "/a/b", { authorization: "Key secret" }, { prompt: "a fox" })).status).toBe(401);
});

const task = (taskUUID: string, more: object = {}) => [
  { taskType: "videoInference", taskUUID, model: "bytedance:seedance@2.0", positivePrompt: "a fox", duration: 5, ...more },
];
const bearer = { authorization: "Bearer secret" };

test("Runware rejects a used taskUUID and keeps the first task", async () => {
  const uuid = crypto.randomUUID();
  expect<unknown>((await ask("runware", "", bearer, task(uuid))).body).toEqual({
    data: [{ taskType: "videoInference", taskUUID: uuid }],
  });
  const again = await ask("runware", "", bearer, task(uuid, { positivePrompt: "a hare" }));
  expect(again).toMatchObject({ status: 400, body: { errors: [{ code: "conflictTaskUUID", taskUUID: uuid }] } });
  expect(jobsWith(uuid)).toBe(1);
  const asked = await ask("runware", "/", bearer, [{ taskType: "getResponse", taskUUID: uuid }]);
  expect<unknown>(asked.body).toEqual({ data: [{ taskType: "videoInference", taskUUID: uuid, status: "processing" }] });
});

test("Runware rejects a taskUUID that is not a version 4 UUID", async () => {
  const { status, body } = await ask("runware", "", bearer, task("task-1"));
  expect([status, body.errors?.[0]?.code]).toEqual([400, "invalidTaskUUID"]);
});

const V6 = { model: "v6", duration: 5, quality: "720p", aspect_ratio: "16:9" };
const trace = (id: string) => ({ "api-key": "secret", "ai-trace-id": id });

test("PixVerse returns the first response for a known trace id, even with another prompt", async () => {
  const id = crypto.randomUUID();
  const first = await ask("pixverse", "/video/text/generate", trace(id), { prompt: "a fox", ...V6 });
  const again = await ask("pixverse", "/video/text/generate", trace(id), { prompt: "a hare", ...V6 });
  expect(again).toEqual(first);
  expect(jobsWith(id)).toBe(1);
});

test("PixVerse returns the first status response for a poll with a used trace id", async () => {
  const made = await ask("pixverse", "/video/text/generate", trace(crypto.randomUUID()), {
    ...{ prompt: "a fox [sim:unknown-status=1]", ...V6 },
  });
  const path = `/video/result/${made.body.Resp?.video_id}`;
  const used = crypto.randomUUID();
  expect((await ask("pixverse", path, trace(used))).body.Resp?.status).toBe(9);
  expect((await ask("pixverse", path, trace(crypto.randomUUID()))).body.Resp?.status).toBe(5);
  expect((await ask("pixverse", path, trace(used))).body.Resp?.status).toBe(9);
});

test("PixVerse rejects a request without a trace id with code 400011", async () => {
  expect((await ask("pixverse", "/video/result/1", { "api-key": "secret" })).body.ErrCode).toBe(400_011);
});

test("WaveSpeed lists the predictions of a model in pages, newest first, without their inputs", async () => {
  for (const prompt of ["one", "two", "three"]) await ask("wavespeed", "/bytedance/seedance", bearer, { prompt, duration: 5 });
  await ask("wavespeed", "/wavespeed-ai/flux-dev", bearer, { prompt: "four" });
  const listed = async (body: object) => (await ask("wavespeed", "/predictions", bearer, body)).body.data?.items ?? [];
  const all = await listed({ page: 1, page_size: 100, model: "bytedance/seedance" });
  expect(all.length).toBe(3);
  expect(all.every((item) => !("input" in item) && item.model === "bytedance/seedance")).toBe(true);
  expect(await listed({ page: 2, page_size: 2, model: "bytedance/seedance" })).toEqual(all.slice(2));
  expect(await listed({ page: 1, page_size: 100, created_after: "2999-01-01T00:00:00Z" })).toEqual([]);
  expect((await ask("wavespeed", "/predictions", bearer, { page: 1, page_size: 101 })).status).toBe(400);
});

test("ModelArk and Volcengine give unique ids to 3,000 tasks of the same moment", async () => {
  const ids: string[] = [];
  const task = { model: "m", content: [{ type: "text", text: "a fox" }] };
  for (let round = 0; round < 60; round++) {
    const provider = round % 2 ? "modelark" : "volcengine";
    const headers = { authorization: "Bearer key" };
    const reported = await Promise.all(
      Array.from({ length: 50 }, () => ask(provider, "/contents/generations/tasks", headers, task)),
    );
    ids.push(...reported.map(({ body }) => (body as { id?: string }).id ?? "none"));
  }
  expect(ids[0]).toMatch(/^cgt-\d{14}-[0-9a-f]{5}$/);
  expect(new Set(ids).size).toBe(3000);
});
