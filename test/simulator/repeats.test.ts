// Keys and names that a caller chooses: sent again they make nothing new, and another request may not have them.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createSimulator, type Simulator } from "../../src/simulator/simulator.ts";
import { movableClock } from "./fixture.ts";

let simulator: Simulator;
beforeAll(async () => {
  simulator = await createSimulator({ clock: movableClock(), seed: 7 });
});
afterAll(() => simulator.stop());

/** Members of the answers of all four that are looked at here. */
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

test("Higgsfield answers a key that it knows with its request, whatever the order of the body's members", async () => {
  const first = await higgsfield("k1", { prompt: "a fox", duration: 5 });
  expect(await higgsfield("k1", { duration: 5, prompt: "a fox" })).toEqual(first);
  expect(jobsWith("k1")).toBe(1);
  expect(simulator.submissions().filter(({ ref }) => ref === "k1")).toMatchObject([{ accepted: true }, { accepted: false }]);
});

test.each([
  ["another body", { prompt: "a hare", duration: 5 }, undefined],
  ["another endpoint", { prompt: "a fox", duration: 5 }, "/higgsfield-ai/dop/standard"],
])("Higgsfield turns a known key with %s down", async (name, body, path) => {
  await higgsfield(name.replace(" ", "-"), { prompt: "a fox", duration: 5 });
  expect((await higgsfield(name.replace(" ", "-"), body, path)).status).toBe(422);
  expect(jobsWith(name.replace(" ", "-"))).toBe(1);
});

test("Higgsfield takes two submissions under one key at one time for one", async () => {
  const both = await Promise.all([1, 2].map(() => higgsfield("k2", { prompt: "a fox" })));
  expect(both[0]).toEqual(both[1] ?? both[0]);
  expect(jobsWith("k2")).toBe(1);
});

test("Higgsfield does not use a key up on what it refuses", async () => {
  expect((await higgsfield("k3", { duration: 5 })).status).toBe(422);
  expect((await higgsfield("k3", { prompt: "a fox" })).body).toMatchObject({ status: "queued" });
});

test("Higgsfield cancels what is queued, and nothing else", async () => {
  const { body } = await higgsfield("k4", { prompt: "a fox" });
  const key = { authorization: "Key id:secret" };
  expect((await ask("higgsfield", `/requests/${body.request_id}/cancel`, key, undefined, "POST")).status).toBe(202);
  expect((await ask("higgsfield", `/requests/${body.request_id}/status`, key)).body.status).toBe("canceled");
  expect((await ask("higgsfield", `/requests/${body.request_id}/cancel`, key, undefined, "POST")).status).toBe(400);
});

test("Higgsfield wants a key of two parts", async () => {
  expect((await ask("higgsfield", "/a/b", { authorization: "Key secret" }, { prompt: "a fox" })).status).toBe(401);
});

const task = (taskUUID: string, more: object = {}) => [
  { taskType: "videoInference", taskUUID, model: "bytedance:seedance@2.0", positivePrompt: "a fox", duration: 5, ...more },
];
const bearer = { authorization: "Bearer secret" };

test("Runware refuses a taskUUID that was used, and still knows the task", async () => {
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

test("Runware refuses a name that is no UUID of version 4", async () => {
  const { status, body } = await ask("runware", "", bearer, task("task-1"));
  expect([status, body.errors?.[0]?.code]).toEqual([400, "invalidTaskUUID"]);
});

const V6 = { model: "v6", duration: 5, quality: "720p", aspect_ratio: "16:9" };
const trace = (id: string) => ({ "api-key": "secret", "ai-trace-id": id });

test("PixVerse answers a trace id that it knows with what it said then, also when asked about a video", async () => {
  const id = crypto.randomUUID();
  const first = await ask("pixverse", "/video/text/generate", trace(id), { prompt: "a fox", ...V6 });
  const again = await ask("pixverse", "/video/text/generate", trace(id), { prompt: "a hare", ...V6 });
  expect(again).toEqual(first);
  expect(jobsWith(id)).toBe(1);
});

test("PixVerse says of the past what is asked under a used trace id", async () => {
  const made = await ask("pixverse", "/video/text/generate", trace(crypto.randomUUID()), {
    ...{ prompt: "a fox [sim:unknown-status=1]", ...V6 },
  });
  const path = `/video/result/${made.body.Resp?.video_id}`;
  const used = crypto.randomUUID();
  expect((await ask("pixverse", path, trace(used))).body.Resp?.status).toBe(9);
  expect((await ask("pixverse", path, trace(crypto.randomUUID()))).body.Resp?.status).toBe(5);
  expect((await ask("pixverse", path, trace(used))).body.Resp?.status).toBe(9);
});

test("PixVerse wants a trace id with every request", async () => {
  expect((await ask("pixverse", "/video/result/1", { "api-key": "secret" })).body.ErrCode).toBe(400_011);
});

test("WaveSpeed lists by page, newest first, what a model made, without saying what was asked for", async () => {
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

test("ModelArk and Volcengine name thousands of tasks of one moment apart", async () => {
  const ids: string[] = [];
  const task = { model: "m", content: [{ type: "text", text: "a fox" }] };
  for (let round = 0; round < 60; round++) {
    const provider = round % 2 ? "modelark" : "volcengine";
    const headers = { authorization: "Bearer key" };
    const told = await Promise.all(Array.from({ length: 50 }, () => ask(provider, "/contents/generations/tasks", headers, task)));
    ids.push(...told.map(({ body }) => (body as { id?: string }).id ?? "none"));
  }
  expect(ids[0]).toMatch(/^cgt-\d{14}-[0-9a-f]{5}$/);
  expect(new Set(ids).size).toBe(3000);
});
