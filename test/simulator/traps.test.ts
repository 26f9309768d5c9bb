// Tests pitfalls of the simulated Runway, Kling, Luma and Black Forest Labs that the dialects avoid.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { bearerToken } from "../../src/providers/jwt.ts";
import { type Bed, openBed } from "./fixture.ts";

let bed: Bed;
beforeAll(async () => {
  bed = await openBed();
});
afterAll(() => bed.simulator.stop());

type Asked = { status: number; body: Record<string, unknown> };
const ask = async (url: string, headers: Record<string, string>, method = "GET", body?: unknown): Promise<Asked> => {
  const answer = await fetch(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  const text = await answer.text();
  return { status: answer.status, body: text === "" ? {} : JSON.parse(text) };
};
const bearer = { authorization: "Bearer some-credential" };
const at = (provider: string, path: string) => `${bed.simulator.baseUrls[provider]}${path}`;

describe("Kling", () => {
  const submit = (body: object, headers: Record<string, string> = bearer, kind = "text2video") =>
    ask(at("kling", `/v1/videos/${kind}`), headers, "POST", { prompt: "a fox", ...body });
  const jobs = () => bed.simulator.jobs().filter(({ provider }) => provider === "kling").length;

  test("finds a task by our id, under its own task kind only", async () => {
    const { body } = await submit({ external_task_id: "ours-1" });
    const { task_id } = body.data as { task_id: string };
    const found = await ask(at("kling", "/v1/videos/text2video/ours-1"), bearer);
    expect(found).toMatchObject({ status: 200, body: { code: 0, data: { task_id } } });
    for (const id of ["ours-1", task_id])
      expect(await ask(at("kling", `/v1/videos/image2video/${id}`), bearer)).toMatchObject({ status: 404, body: { code: 1203 } });
  });
  test("accepts an external_task_id once, and creates no job for the second submission", async () => {
    await submit({ external_task_id: "ours-2" });
    const before = jobs();
    expect(await submit({ external_task_id: "ours-2" })).toMatchObject({ status: 400, body: { code: 1201 } });
    expect(jobs()).toBe(before);
  });
  test("rejects a token that is expired, not yet valid or missing", async () => {
    const signed = (atMs: number) => ({ authorization: `Bearer ${bearerToken("id:secret-0123456789", 1800, atMs)}` });
    const nowMs = bed.clock.nowMs();
    expect(await submit({}, signed(nowMs))).toMatchObject({ status: 200, body: { code: 0 } });
    expect(await submit({}, signed(nowMs - 3_600_000))).toMatchObject({ status: 401, body: { code: 1004 } });
    expect(await submit({}, signed(nowMs + 3_600_000))).toMatchObject({ status: 401, body: { code: 1003 } });
    expect(await submit({}, {})).toMatchObject({ status: 401, body: { code: 1001 } });
  });
  test("accepts durations only as text, and pictures only as URLs or bare base64", async () => {
    expect((await submit({ duration: 5 })).body.code).toBe(1201);
    expect((await submit({ duration: "5" })).body.code).toBe(0);
    expect((await submit({ image: "data:image/png;base64,aaaa" }, bearer, "image2video")).body.code).toBe(1201);
    expect((await submit({ image: "https://in.example/fox.png" }, bearer, "image2video")).body.code).toBe(0);
    expect((await submit({}, bearer, "image2video")).body.code).toBe(1201);
  });
});

describe("Runway", () => {
  const headers = { ...bearer, "x-runway-version": "2024-11-06" };
  const submit = (more: object = {}) =>
    ask(at("runway", "/v1/text_to_video"), headers, "POST", {
      model: "seedance2",
      promptText: "a fox",
      ratio: "1280:720",
      ...more,
    });

  test("returns 400 without the version header", async () =>
    expect((await ask(at("runway", "/v1/tasks/any"), bearer)).status).toBe(400));
  test("returns 404 for a deleted task, whether it was running or had ended", async () => {
    for (const ms of [0, 600_000]) {
      const { body } = await submit();
      bed.clock.pass(ms);
      const url = at("runway", `/v1/tasks/${body.id}`);
      expect((await ask(url, headers)).status).toBe(200);
      expect((await ask(url, headers, "DELETE")).status).toBe(204);
      expect(await ask(url, headers)).toEqual({ status: 404, body: { error: "Could not find Task" } });
    }
  });
  test("accepts a reference only with its type, and durations only as whole numbers", async () => {
    const uri = "https://in.example/snow.mp4";
    expect((await submit({ referenceVideos: [{ uri }] })).status).toBe(400);
    expect((await submit({ referenceVideos: [{ type: "video", uri }] })).status).toBe(200);
    expect((await submit({ duration: "5" })).status).toBe(400);
  });
});

describe("Luma", () => {
  const submit = (prompt: string, more: object = {}) =>
    ask(at("luma", "/generations/video"), bearer, "POST", { model: "ray-2", prompt, ...more });

  test("lists generations in pages, newest first, each with its request", async () => {
    for (const prompt of ["one fox", "two foxes", "three foxes"]) await submit(prompt, { duration: "5s" });
    const { body } = await ask(at("luma", "/generations?limit=2&offset=1"), bearer);
    expect(body).toMatchObject({
      ...{ has_more: false, count: 2, limit: 2, offset: 1 },
      generations: [
        { state: "queued", request: { prompt: "two foxes", duration: "5s", generation_type: "video" } },
        { state: "queued", request: { prompt: "one fox" } },
      ],
    });
  });
  test("accepts durations only as text with an s, and rejects a prompt that is too short", async () => {
    expect((await submit("a fox", { duration: 5 })).status).toBe(422);
    expect(await submit("a")).toMatchObject({ status: 400, body: { detail: expect.stringContaining("too short") } });
  });
});

describe("Black Forest Labs", () => {
  const headers = { "x-key": "some-credential" };
  const submit = (model: string, body: object) => ask(at("bfl", `/${model}`), headers, "POST", { prompt: "a fox", ...body });

  test("finds a task only at the polling_url that it returned", async () => {
    const { body } = await submit("flux-2-pro", {});
    expect((await ask(String(body.polling_url), headers)).body.status).toBe("Pending");
    expect((await ask(at("bfl", `/get_result?id=${body.id}`), headers)).body.status).toBe("Task not found");
  });
  test("returns no polling_url for a submission with a webhook", async () => {
    const { body } = await submit("flux-2-pro", { webhook_url: "https://r.example/hook" });
    expect(Object.keys(body)).toEqual(["id", "status", "webhook_url"]);
    expect((await ask(at("bfl", `/get_result?id=${body.id}`), headers)).body.status).toBe("Pending");
  });
  test("rejects an unknown field of a clip, and media with a data URL prefix before the base64", async () => {
    expect((await submit("flux-3-video", { mode: "t2v", duration: 5, resolution: "hd" })).status).toBe(200);
    expect((await submit("flux-3-video", { mode: "t2v", seed: 7 })).status).toBe(422);
    expect((await submit("flux-2-pro", { input_image: "data:image/png;base64,aaaa" })).status).toBe(422);
  });
});
