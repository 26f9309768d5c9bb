// The provider receives the measured and billed clip, even if its server serves different files.
import { afterEach, describe, expect, test } from "bun:test";
import { makeClip } from "../../src/simulator/clip.ts";
import { type Harness, type HarnessOptions, openHarness } from "../harness.ts";
import { mp4 } from "../media/made.ts";
import { answerBytes, openTwoFaced, type TwoFaced } from "./two-faced.ts";

const SIZE = { width: 64, height: 36 };
const short = await makeClip(SIZE, 4000, false, 1);
const long = await makeClip(SIZE, 30_000, false, 2);
const CLIP = "video/mp4";

let harness: Harness | undefined;
let server: TwoFaced | undefined;
afterEach(async () => {
  await harness?.close();
  await server?.stop();
  [harness, server] = [undefined, undefined];
});

/** Opens a harness that may fetch from the two-faced server. */
const open = async (answer: Parameters<typeof openTwoFaced>[0], options: HarnessOptions = {}): Promise<Harness> => {
  server = openTwoFaced(answer);
  const simulated = options.simulator ? new URL(options.simulator.url).host : "";
  harness = await openHarness({
    ...options,
    env: { GENROUTER_MEDIA__ALLOW: `${server.host},${simulated}`, ...options.env },
  });
  return harness;
};
const edit = (of: Harness) =>
  of.submit("vidmodel-2.5", { prompt: "make it night", video_url: `${server?.url}/clip.mp4`, resolution: "480p" });
const seqOf = async (of: Harness, id: string) => (await of.store.findGeneration(id))?.seq ?? 0;

test("a clip of 4 s when measured and 30 s when fetched fails the generation without a charge", async () => {
  // Requests with a range, as the measurement sends them, get 4 s; all others get 30 s.
  const of = await open((request) => answerBytes(request, request.headers.has("range") ? short : long, CLIP));
  const before = await of.balance();
  const made = await edit(of);
  const ended = await of.until(made.id);
  expect(ended).toMatchObject({ status: "failed", attempts: 0, cost_usd: 0, reserved_usd: null });
  expect(ended.error?.code).toBe("input_refused");
  expect(ended.error?.message).toContain("input.video_url: the file that was fetched is 30.00 s long, and 4.00 s were measured");
  expect(await of.balance()).toEqual({ ...before, charged: 0 });
  expect(of.simulator.submissions()).toEqual([]);
});

test("a slide show that is one second longer when fetched than when measured fails without a charge", async () => {
  const slides = await mp4({ seconds: 4, rate: 1 });
  for (const other of [makeClip(SIZE, 4990, false, 3), mp4({ seconds: 5, rate: 1 })]) {
    const longer = await other;
    const of = await open((request) => answerBytes(request, request.headers.has("range") ? slides : longer, CLIP));
    const ended = await of.until((await edit(of)).id);
    expect(ended).toMatchObject({ status: "failed", cost_usd: 0, error: { code: "input_refused" } });
    expect(of.simulator.submissions()).toEqual([]);
    await of.close();
    await server?.stop();
  }
});

test("the provider receives the measured file, not the file that the server sends to other clients", async () => {
  // The service always gets 4 s; all other clients get 30 s.
  const of = await open((request, { agent }) => answerBytes(request, agent === "genrouter" ? short : long, CLIP));
  const made = await edit(of);
  const ended = await of.until(made.id);
  expect(ended).toMatchObject({ status: "succeeded", cost_usd: made.quoted_usd, output: { duration_s: 4 } });
  const [job] = of.simulator.jobs();
  expect(job?.received).toMatchObject([{ ms: 4000, bytes: short.length }]);
  expect(server?.asked.every(({ agent }) => agent === "genrouter")).toBe(true);
  const pins = await of.store.pinsOf(await seqOf(of, made.id));
  expect(pins).toMatchObject([{ field: "input.video_url", measuredMs: 4000, copy: { ms: 4000, bytes: short.length } }]);
});

test("each attempt has its own input link, which returns 403 when altered or expired", async () => {
  const of = await open((request) => answerBytes(request, short, CLIP), { factor: 100 });
  of.simulator.script({ fault: "fail", provider: "fal", times: 1 });
  of.simulator.script({ fault: "fail", provider: "replicate", times: 1 });
  const made = await edit(of);
  await of.until(made.id);
  const links = of.simulator.submissions().flatMap(({ input }) => JSON.stringify(input).match(/http[^"]*\/inputs\/[^"]*/g) ?? []);
  const refs = links.map((link) => new URL(link).pathname);
  expect(refs.length).toBeGreaterThan(0);
  expect(new Set(refs).size).toBe(refs.length);
  const link = links[0] ?? "";
  expect((await fetch(link.replace(/sig=(.)/, (_, first) => `sig=${first === "A" ? "B" : "A"}`))).status).toBe(403);
  expect((await fetch(link.replace(/exp=\d/, "exp=9"))).status).toBe(403);
  of.clock.skip(50 * 60_000);
  expect((await fetch(link)).status).toBe(403);
});

describe("an input that cannot be pinned fails the generation without a charge:", () => {
  test.each([
    ["the server answers 404", () => new Response("", { status: 404 }), "its server answers 404"],
    [
      "the server sends an HTML page",
      () => new Response("<html></html>", { headers: { "content-type": "text/html" } }),
      "input.video_url",
    ],
    ["the file is empty", () => new Response(""), "it is empty"],
  ])("%s", async (_, then, says) => {
    const of = await open((request) => (request.headers.has("range") ? answerBytes(request, short, CLIP) : then()));
    const before = await of.balance();
    const ended = await of.until((await edit(of)).id);
    expect(ended).toMatchObject({ status: "failed", cost_usd: 0, attempts: 0, error: { code: "input_refused" } });
    expect(ended.error?.message).toContain(says);
    expect(await of.balance()).toEqual(before);
  });

  test("the file exceeds media.pin_bytes while it is fetched", async () => {
    const endless = () =>
      new Response(
        new ReadableStream({
          pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
        }),
        { headers: { "content-type": CLIP } },
      );
    const of = await open((request) => (request.headers.has("range") ? answerBytes(request, short, CLIP) : endless()), {
      env: { GENROUTER_MEDIA__PIN_BYTES: "1000000", GENROUTER_MEDIA__ALLOW: "127.0.0.1" },
    });
    const ended = await of.until((await edit(of)).id);
    expect(ended).toMatchObject({ status: "failed", cost_usd: 0, error: { code: "input_refused" } });
    expect(ended.error?.message).toContain("media.pin_bytes (1000000 bytes)");
  });

  test("the file does not arrive within media.pin_s", async () => {
    const of = await open(
      (request) => (request.headers.has("range") ? answerBytes(request, short, CLIP) : new Promise(() => {})),
      {
        env: { GENROUTER_MEDIA__PIN_S: "1", GENROUTER_MEDIA__ALLOW: "127.0.0.1" },
      },
    );
    const ended = await of.until((await edit(of)).id);
    expect(ended).toMatchObject({ status: "failed", cost_usd: 0, error: { code: "input_refused" } });
    expect(ended.error?.message).toContain("media.pin_s (1 s)");
  });
});

test.each([
  ["with ranges", true],
  ["without ranges", false],
])("rejects a file whose announced size exceeds media.pin_bytes with 422, %s", async (_, hasRanges) => {
  const of = await open((request) => answerBytes(request, short, CLIP, hasRanges), {
    env: { GENROUTER_MEDIA__PIN_BYTES: "1000", GENROUTER_MEDIA__ALLOW: "127.0.0.1" },
  });
  const input = { prompt: "make it night", video_url: `${server?.url}/clip.mp4`, resolution: "480p" };
  const answered = await of.request("POST", "/v1/generations", { body: { model: "vidmodel-2.5", input } });
  expect(answered.status).toBe(422);
  expect(answered.body).toMatchObject({ error: { code: "invalid_input" } });
  expect(answered.text).toContain(
    `input.video_url: the file has ${short.length} bytes; at most 1000 are taken (media.pin_bytes)`,
  );
});

test("with media.unpinned=trust the provider receives the original link", async () => {
  const of = await open((request) => answerBytes(request, short, CLIP), {
    env: { GENROUTER_MEDIA__UNPINNED: "trust", GENROUTER_MEDIA__ALLOW: "127.0.0.1" },
  });
  const made = await edit(of);
  expect(await of.until(made.id)).toMatchObject({ status: "succeeded" });
  expect(JSON.stringify(of.simulator.submissions()[0]?.input)).toContain(`${server?.url}/clip.mp4`);
  expect(await of.store.pinsOf(await seqOf(of, made.id))).toEqual([]);
});

test("the sweep deletes the pinned input after the generation has ended", async () => {
  const of = await open((request) => answerBytes(request, short, CLIP));
  const made = await edit(of);
  await of.until(made.id);
  const [link = ""] = JSON.stringify(of.simulator.submissions()[0]?.input).match(/http[^"]*\/inputs\/[^"]*/g) ?? [];
  expect((await fetch(link, { method: "HEAD" })).status).toBe(200);
  await of.components.sweep();
  expect((await fetch(link)).status).toBe(404);
  expect(await of.store.spentPins(10)).toEqual([]);
});
