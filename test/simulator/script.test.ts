// Tests how script rules and words in a prompt select the requests that fail, deterministically.
import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { type Bed, call, openBed } from "./fixture.ts";

let bed: Bed;
beforeAll(async () => {
  bed = await openBed();
});
afterEach(() => bed.simulator.clearScript());
afterAll(() => bed.simulator.stop());

const statuses = async (...prompts: string[]) => {
  const seen: string[] = [];
  for (const prompt of prompts)
    seen.push(
      `${(await bed.fal("maker/video/text", { prompt })).status} ${(await bed.replicate("maker/other", { prompt })).status}`,
    );
  return seen;
};

test.each([
  ["[sim:5xx]", "503 503"],
  ["a cat [sim:fal:5xx] here", "503 201"],
  ["[sim:replicate:429]", "200 429"],
  ["[SIM:5XX=500]", "500 500"],
  ["[sim:maker/video:404]", "404 201"],
  ["[sim:maker/none:404]", "200 201"],
  ["[sim:fal:404][sim:replicate:402]", "404 402"],
  ["[sim:unheard-of]", "200 201"],
  ["sim:5xx", "200 201"],
])("prompt words %p give fal and replicate the statuses %s", async (prompt, expected) => {
  expect(await statuses(prompt)).toEqual([expected]);
});

test("reads fault words from the text of a speech request", async () => {
  expect((await bed.fal("maker/speech", { text: "hello [sim:402]" })).status).toBe(402);
});

test("applies the words for several stages together, with their numbers", async () => {
  await bed.fal("maker/video", { prompt: "[sim:5xx-after=500][sim:late=7][sim:expired=410]" });
  expect(bed.simulator.jobs().at(-1)?.faults).toEqual({
    submit: { name: "5xx-after", status: 500 },
    run: { name: "late", factor: 7 },
    file: { name: "expired", status: 410 },
  });
});

test("matches rules by provider, endpoint prefix, expression and prompt, at most `times` times", async () => {
  bed.simulator.script({ fault: "401", provider: "fal", times: 1 });
  bed.simulator.script({ fault: "402", endpoint: "maker/oth", times: 1 });
  bed.simulator.script({ fault: "404", endpoint: "/vid.o/text$/".replace("/text", "\\/text") });
  bed.simulator.script({ fault: "429", prompt: "magic" });
  expect(await statuses("p", "p", "magic")).toEqual(["401 402", "404 201", "404 429"]);
  expect(bed.simulator.submissions().at(-1)?.answer).toBe(429);
});

test("does not use up a run fault on a rejected submission", async () => {
  bed.simulator.script({ fault: "fail", times: 1 });
  bed.simulator.script({ fault: "5xx", times: 1 });
  await bed.fal("maker/video", { prompt: "p" });
  await bed.fal("maker/video", { prompt: "p" });
  expect(bed.simulator.jobs().at(-1)?.faults.run?.name).toBe("fail");
});

test("repeats random faults with the same seed and differs with another seed", async () => {
  const rolls = async (seed: number) => {
    const simulator = await createSimulator({ seed });
    simulator.script({ fault: "5xx", probability: 0.5 });
    const seen: number[] = [];
    for (let n = 0; n < 40; n++) seen.push((await call(`${simulator.falUrl}/a/b`, "POST", { prompt: "p" })).status);
    await simulator.stop();
    return seen;
  };
  const [first, again, other] = [await rolls(42), await rolls(42), await rolls(43)];
  expect(again).toEqual(first);
  expect(other).not.toEqual(first);
  const struck = first.filter((status) => status === 503).length;
  expect(struck).toBeGreaterThan(8);
  expect(struck).toBeLessThan(32);
});

test("adds, lists and deletes rules over HTTP", async () => {
  const url = `${bed.simulator.url}/script`;
  const added = await call(url, "POST", [
    { fault: "5xx", times: 1 },
    { fault: "slow", factor: 3, provider: "replicate" },
  ]);
  expect(added.status).toBe(201);
  expect(await statuses("p")).toEqual(["503 201"]);
  expect((await call(url)).body.rules).toEqual([
    { id: expect.any(Number), fault: "5xx", times: 1, struck: 1 },
    { id: expect.any(Number), fault: "slow", factor: 3, provider: "replicate", struck: 1 },
  ]);
  expect((await call(url, "DELETE")).body).toEqual({ rules: [] });
  expect((await call(url)).body).toEqual({ rules: [] });
});

test.each([
  [{ fault: "explode" }, "fault"],
  [{}, "fault"],
  ["5xx", "rule"],
  [{ fault: "fail", times: 0 }, "times"],
  [{ fault: "fail", probability: 2 }, "probability"],
  [{ fault: "fail", endpoint: "/(/" }, "endpoint"],
  [{ fault: "fail", provider: "other" }, "provider"],
  [{ fault: "elsewhere" }, "url"],
])("rejects rule %p with a message about %s, and adds no rule", async (rule, about) => {
  const { status, body } = await call(`${bed.simulator.url}/script`, "POST", [{ fault: "fail" }, rule]);
  expect([status, body.error]).toEqual([422, expect.stringContaining(about)]);
  expect((await call(`${bed.simulator.url}/script`)).body.rules).toEqual([]);
});

test("lists the faults at the index", async () => {
  const { body } = await call(`${bed.simulator.url}/`);
  expect(Object.keys(body.faults as object)).toContain("drop-after");
});

test.each([
  [1, "maker/picture", { prompt: "p" }, 2000],
  [1, "maker/video", { prompt: "p", duration: "5" }, 6000],
  [1, "maker/video", { prompt: "p", duration: 30 }, 21_000],
  [1, "maker/speech", { text: "p" }, 2000],
  [100, "maker/video", { prompt: "p", duration: "5" }, 60],
  [0.5, "maker/picture", { prompt: "p" }, 4000],
])("at speed %p a job of %s for %p takes about %d ms, with random variation", async (speed, endpoint, input, usualMs) => {
  const own = await openBed({ speed });
  for (let n = 0; n < 8; n++) await own.fal(endpoint, input);
  const times = own.simulator.jobs().map(({ acceptedAtMs, endsAtMs }) => (endsAtMs ?? 0) - acceptedAtMs);
  for (const ms of times) expect(Math.abs(ms - usualMs)).toBeLessThanOrEqual(usualMs * 0.13);
  expect(new Set(times).size).toBeGreaterThan(1);
  await own.simulator.stop();
});

test("takes the kind of an endpoint from kindOf, else from the endpoint's name and input", async () => {
  const own = await openBed({ kindOf: (endpoint) => (endpoint === "maker/mystery" ? "audio" : undefined) });
  expect((await own.files("fal", "maker/mystery", { prompt: "p" }))[0]).toEndWith(".mp3");
  expect((await own.files("fal", "maker/video", { prompt: "p" }))[0]).toEndWith(".mp4");
  expect((await own.files("fal", "maker/unknown", { prompt: "p", duration: 4 }))[0]).toEndWith(".mp4");
  expect((await own.files("fal", "maker/unknown", { prompt: "p" }))[0]).toEndWith(".png");
  await own.simulator.stop();
});
