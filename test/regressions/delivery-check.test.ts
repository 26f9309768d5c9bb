// Delivery check: a result that differs from the order is not charged.
import { expect, onTestFinished, test } from "bun:test";
import { builtInCatalogue, catalogueOver } from "../../catalogue/load.ts";
import type { Model } from "../../catalogue/schema.ts";
import type { Mutation } from "../../src/domain/mutations.ts";
import type { JsonObject } from "../../src/domain/types.ts";
import type { Store } from "../../src/store/store.ts";
import { type Harness, type HarnessOptions, openHarness } from "../harness.ts";
import { mp4 } from "../media/made.ts";

const BUILT_IN = builtInCatalogue();
const modelOf = (id: string): Model => {
  const model = BUILT_IN.model(id);
  if (!model) throw new Error(`there is no ${id}`);
  return model;
};
/** A built-in model with only its routes on fal and Replicate, which the simulator serves. */
const withRoutes = (id: string, changes: Partial<Model> = {}): Model => ({
  ...modelOf(id),
  ...changes,
  routes: modelOf(id).routes.filter(({ provider }) => ["fal", "replicate"].includes(provider)),
});
const open = async (model: Model, options: HarnessOptions = {}): Promise<Harness> => {
  const harness = await openHarness({ catalogue: catalogueOver([model]), ...options });
  onTestFinished(() => harness.close());
  return harness;
};
const attemptsOf = async (harness: Harness, id: string) =>
  harness.store.attemptsOf((await harness.store.findGeneration(id))?.seq ?? 0);
const statesOf = async (harness: Harness, id: string) => (await attemptsOf(harness, id)).map(({ state }) => state);
const ended = async (harness: Harness, model: string, input: JsonObject) => {
  const { id } = await harness.submit(model, input);
  return harness.until(id);
};

const VIDEO = withRoutes("vidmodel-2.5");
const [cheap, dear] = [...VIDEO.routes].sort((a, b) => Number(a.rates[0]?.usd) - Number(b.rates[0]?.usd));
const ORDER = { prompt: "a fox", duration: 30, resolution: "720p" };

test("charges the next route instead of a route that delivers 4 s of 480p for an order of 30 s of 720p", async () => {
  const short = mp4({ seconds: 4, width: 864, height: 480 });
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: async () => new Response(await short) });
  onTestFinished(() => server.stop(true));
  const harness = await open(VIDEO, { env: { GENROUTER_MEDIA__ALLOW: server.url.host } });
  harness.simulator.script({ fault: "elsewhere", url: `${server.url.origin}/short.mp4`, provider: cheap?.provider ?? "" });
  const shown = await ended(harness, VIDEO.id, ORDER);
  expect(shown).toMatchObject({ status: "succeeded", attempts: 2, output: { duration_s: 30, width: 1280, height: 720 } });
  const attempts = await attemptsOf(harness, shown.id);
  expect(attempts.map(({ state, route }) => [state, route.provider])).toEqual([
    ["mismatched", cheap?.provider ?? ""],
    ["delivered", dear?.provider ?? ""],
  ]);
  expect(shown.cost_usd).toBe((attempts[1]?.priceCredits ?? 0) / 100);
  expect(attempts[0]?.failure).toEqual({ class: "mismatched", detail: "length: 4 s came, 30 s, at least 28.8 s ordered" });
});

test("rejects a video whose frames end early although its sound has the ordered length", async () => {
  const files: Record<string, Promise<Uint8Array>> = {
    "/short.mp4": mp4({ seconds: 4, width: 1280, height: 720, audio: true, soundSeconds: 30 }),
    "/right.mp4": mp4({ seconds: 30, width: 1280, height: 720, audio: true, soundSeconds: 30.3 }),
  };
  const answer = async (request: Request) => new Response(await files[new URL(request.url).pathname]);
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: answer });
  onTestFinished(() => server.stop(true));
  const harness = await open(VIDEO, { env: { GENROUTER_MEDIA__ALLOW: server.url.host } });
  const from = (path: string) => ({ fault: "elsewhere", url: `${server.url.origin}${path}`, times: 1 }) as const;
  harness.simulator.script({ ...from("/short.mp4"), provider: cheap?.provider ?? "" });
  harness.simulator.script({ ...from("/right.mp4"), provider: dear?.provider ?? "" });
  const shown = await ended(harness, VIDEO.id, ORDER);
  expect(shown).toMatchObject({ status: "succeeded", attempts: 2, output: { duration_s: 30 } });
  const attempts = await attemptsOf(harness, shown.id);
  expect(attempts.map(({ state }) => state)).toEqual(["mismatched", "delivered"]);
  expect(attempts[0]?.failure?.detail).toBe("length: 4 s came, 30 s, at least 28.8 s ordered");
});

test("accepts an edit as long as the frames of its input clip, although the sound of the input is longer", async () => {
  const clip = await mp4({ seconds: 6, audio: true, soundSeconds: 9 });
  const result = await mp4({ seconds: 6, width: 1280, height: 720, audio: true });
  const answer = (request: Request) => new Response(request.url.endsWith("/clip.mp4") ? clip : result);
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: answer });
  onTestFinished(() => server.stop(true));
  const harness = await open(
    { ...VIDEO, routes: VIDEO.routes.filter(({ takes }) => takes.video_url !== null) },
    { env: { GENROUTER_MEDIA__ALLOW: server.url.host } },
  );
  harness.simulator.script({ fault: "elsewhere", url: `${server.url.origin}/result.mp4` });
  const shown = await ended(harness, VIDEO.id, { prompt: "an edit", video_url: `${server.url.origin}/clip.mp4` });
  expect(shown).toMatchObject({ status: "succeeded", attempts: 1, output: { duration_s: 6 } });
});

/** Faults of a clip ordered with 6 s, 720p, 9:16 and sound. */
const WRONG: [word: string, what: string][] = [
  ["short=0.9", "length: 5.4 s came, 6 s, at least 5.7 s ordered"],
  ["small=0.8", "size: 576x1024 came, at least 737280 pixels, or 684 on the shorter side ordered"],
  ["wrong-aspect", "aspect: 1280x720 came, 9:16 ordered"],
  ["silent", "sound: no sound track came, with sound ordered"],
  ["wrong-kind", "files: none (file 1: it is image/png, not video) came, a file that can be used ordered"],
  ["empty", "files: none (file 1: it is empty) came, a file that can be used ordered"],
  ["html", "files: none (file 1: it is a web page, not video) came, a file that can be used ordered"],
  ["no-file", "files: none (0 files were announced) came, a file that can be used ordered"],
];
for (const [word, what] of WRONG)
  test(`the fault ${word} fails the delivery check of every route and the whole hold is released`, async () => {
    const harness = await open(VIDEO);
    const before = await harness.balance();
    const input = { prompt: `a fox [sim:${word}]`, duration: 6, resolution: "720p", aspect_ratio: "9:16", audio: true };
    const { id } = await harness.submit(VIDEO.id, input);
    const shown = await harness.until(id);
    expect(shown).toMatchObject({ status: "failed", cost_usd: 0, output: null, error: { code: "provider_failed" } });
    expect(await statesOf(harness, id)).toEqual(VIDEO.routes.map(() => "mismatched"));
    expect((await attemptsOf(harness, id)).map(({ failure }) => failure?.detail)).toEqual(VIDEO.routes.map(() => what));
    expect(await harness.balance()).toEqual(before);
    // No rejected file is stored.
    expect((await harness.request("GET", `/v1/generations/${id}/content`)).status).toBe(404);
    const orphans = await harness.store.orphans(0);
    expect(orphans.map(({ fate, state }) => [fate, state])).toEqual(VIDEO.routes.map(() => ["mismatched", "mismatched"]));
  });

/** Acceptable differences. */
const RIGHT: [what: string, input: JsonObject][] = [
  ["as ordered", { prompt: "a fox", duration: 5, resolution: "480p", aspect_ratio: "1:1", audio: true }],
  ["4 % shorter", { prompt: "a fox [sim:short=0.96]", duration: 5 }],
  ["longer", { prompt: "a fox [sim:long=1.3]", duration: 4 }],
  ["3 % smaller", { prompt: "a fox [sim:small=0.97]", duration: 4 }],
  ["in another aspect ratio than the default", { prompt: "a fox [sim:wrong-aspect]", duration: 4 }],
  ["in any aspect ratio, if adaptive", { prompt: "a fox [sim:wrong-aspect]", duration: 4, aspect_ratio: "adaptive" }],
  ["without sound, as ordered", { prompt: "a fox [sim:silent]", duration: 4, audio: false }],
];
for (const [what, input] of RIGHT)
  test(`charges a clip that is delivered ${what}`, async () => {
    const harness = await open(VIDEO);
    const shown = await ended(harness, VIDEO.id, input);
    expect(shown).toMatchObject({ status: "succeeded", attempts: 1 });
    expect(shown.cost_usd).toBe(shown.quoted_usd);
  });

test("ignores the ordered aspect ratio if an input image decides the aspect ratio of the clip", async () => {
  const harness = await open(VIDEO);
  const image_url = `${harness.simulator.url}/samples/picture.png`;
  const input = { prompt: "a fox [sim:wrong-aspect]", duration: 4, aspect_ratio: "9:16", image_url };
  expect(await ended(harness, VIDEO.id, input)).toMatchObject({ status: "succeeded", attempts: 1 });
});

test("does not charge an edit that is shorter than its billed input clip", async () => {
  const harness = await open({ ...VIDEO, routes: VIDEO.routes.filter(({ takes }) => takes.video_url !== null) });
  const video_url = `${harness.simulator.url}/samples/clip-6s.mp4`;
  const shown = await ended(harness, VIDEO.id, { prompt: "[sim:short=0.8]", video_url });
  expect(shown).toMatchObject({ status: "failed", cost_usd: 0 });
  expect((await attemptsOf(harness, shown.id))[0]?.failure?.detail).toBe("length: 4.8 s came, 6 s, at least 5.7 s ordered");
  const whole = await ended(harness, VIDEO.id, { prompt: "an edit", video_url });
  expect(whole).toMatchObject({ status: "succeeded", cost_usd: whole.quoted_usd });
});

test("delivers a clip that is longer than billed and logs the difference", async () => {
  const harness = await open(VIDEO);
  const shown = await ended(harness, VIDEO.id, { prompt: "a fox [sim:long=2]", duration: 4 });
  expect(shown).toMatchObject({ status: "succeeded", attempts: 1, output: { duration_s: 8 } });
  const lines = harness.lines.filter(({ event }) => event === "longer than billed");
  expect(lines.map(({ fields }) => [fields.generation_id, fields.reason])).toEqual([[shown.id, "8 s came, 4 s are billed"]]);
});

test("charges and logs fewer files than promised, and rejects them if the model requires all files", async () => {
  const pair = withRoutes("sim-image-1");
  const harness = await open(pair);
  const order = { prompt: "a kite [sim:fewer]" };
  const shown = await ended(harness, pair.id, order);
  expect(shown).toMatchObject({ status: "succeeded", attempts: 1 });
  expect(shown.output?.urls).toHaveLength(1);
  const reported = harness.lines.filter(({ event }) => event === "fewer files delivered");
  expect(reported.map(({ fields }) => [fields.count, fields.reason])).toEqual([[1, "2 were promised"]]);
  const strict = await open(withRoutes("sim-image-1", { delivers: { all_files: true } }));
  expect(await ended(strict, pair.id, order)).toMatchObject({ status: "failed", cost_usd: 0 });
});

test("does not charge audio that is shorter than ordered, and does not show its length to the client", async () => {
  const music = withRoutes("ace-step");
  const harness = await open(music, { env: { GENROUTER_MEDIA__ALLOW: "127.0.0.1" } });
  const short = await ended(harness, music.id, { prompt: "a waltz [sim:short=0.5]", duration: 20 });
  expect(short).toMatchObject({ status: "failed", cost_usd: 0 });
  // For a video as an audio result, the length of its sound track counts.
  const clip = await mp4({ seconds: 20, audio: true, soundSeconds: 8 });
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response(clip) });
  onTestFinished(() => server.stop(true));
  harness.simulator.script({ fault: "elsewhere", url: `${server.url.origin}/clip.mp4` });
  const inClip = await ended(harness, music.id, { prompt: "a march", duration: 20 });
  expect(inClip).toMatchObject({ status: "failed", cost_usd: 0 });
  expect((await attemptsOf(harness, inClip.id))[0]?.failure?.detail).toBe("length: 8 s came, 20 s, at least 19.2 s ordered");
  harness.simulator.clearScript();
  const whole = await ended(harness, music.id, { prompt: "a waltz", duration: 20 });
  expect(whole.status).toBe("succeeded");
  expect(Object.keys(whole.output ?? {})).toEqual(["urls"]);
});

test("does not charge an image below the size that its model file states", async () => {
  const sized: Partial<Model> = { delivers: { size: [{ when: { resolution: "2K" }, pixels: 3_600_000 }] } };
  const picture = withRoutes("sim-edit-1", sized);
  const harness = await open(picture);
  const image_url = `${harness.simulator.url}/samples/picture.png`;
  const of = (resolution: string) => ({ prompt: "a kite [sim:small=0.6]", image_url, resolution });
  expect(await ended(harness, picture.id, of("2K"))).toMatchObject({ status: "failed", cost_usd: 0 });
  // A resolution without a stated size is not checked; 1K of an image is not a video resolution.
  expect(await ended(harness, picture.id, of("1K"))).toMatchObject({ status: "succeeded", attempts: 1 });
});

test("routing.max_mismatched ends the generation before every route was tried", async () => {
  const harness = await open(VIDEO, { env: { GENROUTER_ROUTING__MAX_MISMATCHED: "1" } });
  const shown = await ended(harness, VIDEO.id, { prompt: "a fox [sim:short=0.5]", duration: 4 });
  expect(shown).toMatchObject({ status: "failed", cost_usd: 0, attempts: 1, error: { code: "provider_failed" } });
});

test("five mismatched results in a row close the route and log the mismatch rate of the account", async () => {
  // The circuit breaker stays open for longer than six generations take.
  const harness = await open(VIDEO, { factor: 20 });
  harness.simulator.script({ fault: "short", share: 0.5, provider: cheap?.provider ?? "" });
  for (let n = 0; n < 6; n += 1)
    expect(await ended(harness, VIDEO.id, { prompt: `a fox ${n}`, duration: 4 })).toMatchObject({ status: "succeeded" });
  expect(harness.simulator.submissions().filter(({ provider }) => provider === cheap?.provider)).toHaveLength(5);
  const changes = harness.lines.filter(({ event }) => event === "route state changed");
  expect(changes.map(({ fields }) => [fields.route_id, fields.state, fields.error_code])).toEqual([
    [cheap?.id, "open", "mismatched"],
  ]);
  const reported = harness.lines.filter(({ event }) => event === "account mismatch rate high");
  expect(reported.map(({ fields }) => [fields.account_id, fields.count])).toEqual([[harness.tenant.accountId, 5]]);
});

test("a generation without a stored order succeeds without a comparison, and verify counts it", async () => {
  // Removes the order from disk and from memory.
  const forget = (mutation: Mutation) => mutation.mutation === "admit" && Reflect.deleteProperty(mutation, "ordered");
  const around = (store: Store): Store => ({
    ...store,
    commit: (mutations) => {
      mutations.forEach(forget);
      return store.commit(mutations);
    },
  });
  const harness = await open(VIDEO, { around });
  const shown = await ended(harness, VIDEO.id, { prompt: "a fox [sim:silent]", duration: 4, audio: true });
  expect(shown).toMatchObject({ status: "succeeded", attempts: 1, output: { has_audio: false } });
  const [check] = (await harness.store.verify(null)).filter(({ invariant }) => invariant === 13);
  expect(check).toMatchObject({ ok: true, note: expect.stringMatching(/^1 .* are not compared$/) });
});
