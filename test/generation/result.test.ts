// Tests of results that cannot be downloaded at once or at all: retried with fresh links, never charged before files are stored.
import { afterEach, expect, test } from "bun:test";
import type { FailureClass } from "../../src/domain/types.ts";
import type { Rule } from "../../src/simulator/simulator.ts";
import type { Store } from "../../src/store/store.ts";
import { FAL, REPLICATE, SPARE, type TestRoute } from "./catalogue.ts";
import { testDisk } from "./disk.ts";
import { expectEnd, openScene, type Scene } from "./fixture.ts";

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});
/** Starts a file server beside the simulator. */
const serve = (answer: (request: Request) => Response | Promise<Response>) => {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: answer });
  stops.push(() => server.stop(true));
  return server;
};
const allow = ({ url }: { url: URL }) => ({ GENROUTER_MEDIA__ALLOW: url.host });
const picture = async ({ simulator }: Scene) => (await fetch(`${simulator.url}/samples/picture.png`)).bytes();

const CONFIRMING = "Confirming the result with the provider.";
const CHEAP_REPLICATE: TestRoute = { ...REPLICATE, usd: "0.20" };

/** Faults of files that never become a result. */
const HOPELESS: Rule[] = [
  { fault: "no-file" },
  { fault: "missing" },
  { fault: "expired" },
  { fault: "expired", status: 410 },
  { fault: "unreadable" },
  { fault: "html" },
  { fault: "empty" },
  { fault: "wrong-kind" },
  { fault: "truncated" },
  { fault: "file-cut" },
  { fault: "redirect", url: "http://127.0.0.1:1/gone" },
  { fault: "elsewhere", url: "file:///etc/passwd" },
];
/** The failure class if no file arrived, or if possibly only this service cannot read it; otherwise the class is `mismatched`. */
const FAILURE_OF: Partial<Record<Rule["fault"], FailureClass>> = {
  ...{ missing: "result_expired", expired: "result_expired" },
  ...{ unreadable: "result_unreadable", redirect: "result_unreadable" },
};
for (const rule of HOPELESS)
  test(`falls back and charges only the second route after retries of a result with the fault ${rule.fault} ${rule.status ?? ""}`, async () => {
    const scene = await openScene({ routes: [FAL, REPLICATE] });
    scene.simulator.script({ ...rule, endpoint: "life/fal" });
    const { id } = await scene.begin();
    const shown = await scene.until(id, ({ message }) => message !== undefined);
    expect(shown).toMatchObject({ status: "running", message: CONFIRMING, attempts: 1, output: null, cost_usd: null });
    await scene.hurry(() => scene.received().length === 2);
    const failure = FAILURE_OF[rule.fault] ?? "mismatched";
    const state = failure === "mismatched" ? "mismatched" : "failed";
    await expectEnd(scene, id, { ends: 25, attempts: [state, "delivered"], received: ["fal", "replicate"] });
    const [failed] = await scene.attempts(id);
    expect(failed?.failure?.class).toBe(failure);
  });

/** Faults of files that a retry resolves. */
const PASSING: [promise: string, rule: Rule][] = [
  ["a file whose server returns errors twice", { fault: "file-5xx", fetches: 2 }],
  ["a file whose connection breaks twice", { fault: "file-cut", fetches: 2 }],
];
for (const [what, rule] of PASSING)
  for (const route of [FAL, CHEAP_REPLICATE])
    test(`downloads ${what} again from ${route.name}, from the same job, and charges once`, async () => {
      const scene = await openScene({ routes: [route, SPARE] });
      scene.simulator.script(rule);
      const { id } = await scene.begin();
      await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: [route.name] });
      expect(await scene.states(id)).toContain("running.confirming.result");
      const [job] = scene.simulator.jobs();
      expect(job?.fetches).toBe(3);
    });

test("confirms a success that is announced before its file exists, and collects the file that follows", async () => {
  const scene = await openScene({ routes: [CHEAP_REPLICATE, SPARE] });
  scene.simulator.script({ fault: "early-done", polls: 2 });
  scene.simulator.script({ fault: "late-ms", ms: 15_000 });
  const { id } = await scene.begin();
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["replicate"] });
  expect(await scene.states(id)).toContain("running.confirming.result");
});

test("requests a fresh link from the provider when the link of a file has expired", async () => {
  const asked: string[] = [];
  const server = serve(async ({ url }) => {
    const { pathname } = new URL(url);
    asked.push(pathname);
    if (pathname === "/fresh") return new Response(await picture(scene));
    const [job] = scene.simulator.jobs();
    // After this request, the provider announces another URL.
    if (job) job.faults.file = { name: "elsewhere", url: `${server.url.origin}/fresh` };
    return new Response("over", { status: 403 });
  });
  const scene = await openScene({ routes: [FAL, SPARE], env: allow(server) });
  scene.simulator.script({ fault: "elsewhere", url: `${server.url.origin}/stale` });
  const { id } = await scene.begin();
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
  expect(asked).toEqual(["/stale", "/fresh"]);
});

test("delivers two ordered images in order and charges the price once", async () => {
  const scene = await openScene({ routes: [FAL], files: 2 });
  const { id } = await scene.begin();
  const shown = await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
  expect(shown.output?.urls).toHaveLength(2);
  const [first, second] = await Promise.all([
    scene.request("GET", `/v1/generations/${id}/content`),
    scene.request("GET", `/v1/generations/${id}/content/2`),
  ]);
  expect([first.status, second.status]).toEqual([200, 200]);
  expect(first.text).not.toBe(second.text);
});

test("delivers and charges one of two images and logs the missing file when the other stays unavailable", async () => {
  const asked: string[] = [];
  const server = serve(async ({ url }) => {
    asked.push(new URL(url).pathname);
    return asked.length % 2 === 1 ? new Response(await picture(scene)) : new Response("no such file", { status: 404 });
  });
  const scene = await openScene({ routes: [FAL, REPLICATE], files: 2, env: allow(server) });
  scene.simulator.script({ fault: "elsewhere", url: `${server.url.origin}/x.png`, endpoint: "life/fal" });
  const { id } = await scene.begin();
  await scene.until(id, ({ message }) => message === CONFIRMING);
  expect((await scene.request("GET", `/v1/generations/${id}/content`)).status).toBe(409);
  await scene.hurry(async () => (await scene.show(id)).status !== "running");
  const shown = await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
  expect(shown.output?.urls).toHaveLength(1);
  expect((await scene.request("GET", `/v1/generations/${id}/content/2`)).status).toBe(404);
  expect(asked.length).toBeGreaterThanOrEqual(4);
  const line = scene.lines.find(({ event }) => event === "result incomplete");
  expect(line?.fields).toMatchObject({ generation_id: id, count: 1, detail: "file 2: its server answers 404" });
});

test("falls back without a charge when both of two images are unavailable", async () => {
  const server = serve(() => new Response("no such file", { status: 404 }));
  const scene = await openScene({ routes: [FAL, REPLICATE], files: 2, env: allow(server) });
  scene.simulator.script({ fault: "elsewhere", url: `${server.url.origin}/x.png`, endpoint: "life/fal" });
  const { id } = await scene.begin();
  await scene.until(id, ({ message }) => message === CONFIRMING);
  await scene.hurry(() => scene.received().length === 2);
  const shown = await expectEnd(scene, id, { ends: 25, attempts: ["failed", "delivered"], received: ["fal", "replicate"] });
  expect(shown.output?.urls).toHaveLength(2);
});

test("aborts the download of an endless file after ten minutes and falls back", async () => {
  const server = serve(() => {
    let timer: ReturnType<typeof setInterval>;
    const start = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10, ...new Array<number>(64).fill(0)]);
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        controller.enqueue(start);
        timer = setInterval(() => controller.enqueue(Uint8Array.of(0)), 20);
      },
      cancel: () => clearInterval(timer),
    });
    return new Response(body, { headers: { "content-type": "image/png" } });
  });
  const scene = await openScene({ routes: [{ ...FAL, timeoutS: 300 }, REPLICATE], env: allow(server) });
  scene.simulator.script({ fault: "elsewhere", url: `${server.url.origin}/endless.png`, endpoint: "life/fal" });
  const { id } = await scene.begin();
  await scene.eventually(async () => ((await scene.attempts(id))[0]?.results?.length ?? 0) > 0);
  // The route's time ends meanwhile, which does not end the collection.
  scene.clock.skip(400_000);
  await scene.untilAttempts(id, "accepted");
  expect(await scene.show(id)).toMatchObject({ status: "running", attempts: 1 });
  scene.clock.skip(200_000);
  await expectEnd(scene, id, { ends: 25, attempts: ["failed", "delivered"], received: ["fal", "replicate"] });
  expect((await scene.attempts(id))[0]?.failure?.class).toBe("result_unreadable");
});

test("falls back when the files arrive while the end of the collect time is being committed", async () => {
  const disk = testDisk();
  let isHeld = false;
  let commitNow: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    commitNow = resolve;
  });
  // The commit of the end of collecting is delayed until the files have arrived.
  const around = (store: Store): Store => ({
    ...store,
    commit: async (mutations) => {
      if (mutations.some((mutation) => mutation.mutation === "step" && mutation.event.type === "collectTimeEnded")) {
        isHeld = true;
        await held;
      }
      return store.commit(mutations);
    },
  });
  const scene = await openScene({ routes: [FAL, REPLICATE], aroundFiles: disk.aroundFiles, around });
  disk.hold();
  const { id } = await scene.begin();
  await scene.eventually(() => disk.rejectedCount() === 1);
  await scene.eventually(async () => (await scene.states(id)).at(-1) === "running.collecting.fetching");
  scene.clock.skip(600_000);
  await scene.eventually(() => isHeld, "the end of the collect time");
  disk.accept();
  await scene.eventually(() => disk.kept() === 1, "the files");
  commitNow();
  await expectEnd(scene, id, { ends: 25, attempts: ["failed", "delivered"], received: ["fal", "replicate"] });
});

test("collects a result after result storage refused it for an hour, without a fallback or a failure of the route", async () => {
  const disk = testDisk();
  const scene = await openScene({ routes: [FAL, SPARE], aroundFiles: disk.aroundFiles });
  disk.refuse();
  const { id } = await scene.begin();
  await scene.eventually(() => disk.rejectedCount() >= 1);
  for (let minute = 0; minute < 60; minute += 10) {
    const before = disk.rejectedCount();
    scene.clock.skip(600_000);
    await scene.eventually(() => disk.rejectedCount() > before, "another retry");
  }
  const shown = await scene.show(id);
  expect(shown).toMatchObject({ status: "running", attempts: 1, cost_usd: null });
  expect(shown.message).toBeUndefined();
  disk.accept();
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
  expect(await scene.store.routeHealth()).toEqual(new Map());
});

test("collects and charges a late result after result storage refused it", async () => {
  const disk = testDisk();
  const scene = await openScene({ routes: [FAL, REPLICATE], aroundFiles: disk.aroundFiles });
  scene.simulator.script({ fault: "late-ms", ms: 700_000, endpoint: "life/fal" });
  scene.simulator.script({ fault: "stuck", provider: "replicate" });
  disk.refuse();
  const { id } = await scene.begin();
  await scene.untilAttempts(id, "accepted");
  scene.clock.skip(600_000);
  await scene.untilAttempts(id, "capped", "accepted");
  scene.clock.skip(150_000);
  await scene.eventually(() => disk.rejectedCount() >= 2, "a retry");
  disk.accept();
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered", "superseded"], received: ["fal", "replicate"] });
});
