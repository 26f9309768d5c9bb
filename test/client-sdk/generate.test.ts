// The client package against the service: submissions, retries, polls and typed errors.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createClient, type Generation, GenerationFailed, GenrouterError, StillRunning } from "../../client/src/client.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { type Harness, openHarness } from "../harness.ts";
import { CLOSED_PORT } from "../providers/wire.ts";
import { bedIn, faultOf } from "./fixture.ts";

const PICTURES = { model: "sim-image-1", input: { prompt: "a tin robot" } };
const VIDEO = { model: "vidmodel-2.0-fast", input: { prompt: "a red kite", resolution: "480p", duration: 4 } };
let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(async () => {
  await harness.close();
  dropDirs();
});

describe("generate", () => {
  test("saves a video and calls onUpdate once for each change", async () => {
    const { client } = bedIn(harness);
    const place = join(freshDir(), "kite.mp4");
    const seen: Generation[] = [];
    const { generation, files } = await client.generate(VIDEO, { to: place, onUpdate: (each) => seen.push(each) });
    expect(generation).toMatchObject({ status: "succeeded", output: { width: 864, height: 480, duration_s: 4 } });
    expect(files).toEqual([{ path: place, bytes: Bun.file(place).size, type: "video/mp4" }]);
    expect(Buffer.from(await Bun.file(place).slice(4, 8).bytes()).toString()).toBe("ftyp");
    expect(seen[0]?.status).toBe("queued");
    expect(seen.at(-1)).toEqual(generation);
    const states = seen.map(({ status, attempts, reserved_usd, message }) => [status, attempts, reserved_usd, message].join());
    expect(states).toEqual([...new Set(states)]);
  });

  test("saves both images into a directory, with names from the generation's id", async () => {
    const { client } = bedIn(harness);
    const dir = freshDir();
    const { generation, files } = await client.generate(PICTURES, { to: dir });
    expect(readdirSync(dir).sort()).toEqual([`${generation.id}-2.png`, `${generation.id}.png`]);
    for (const { path, type } of files) {
      const picture = await new Bun.Image(await Bun.file(path).bytes()).metadata();
      const { width, height } = generation.output;
      expect([type, picture.format, picture.width, picture.height]).toEqual(["image/png", "png", width ?? 0, height ?? 0]);
    }
  });

  test("resends a submission whose response is lost with the same key, and is charged once", async () => {
    const tenant = await harness.newTenant();
    let lost = 0;
    const { client, sent } = bedIn(harness, {
      key: tenant.key,
      wire: (through) => async (url, init) => {
        const response = await through(url, init);
        if (init.method !== "POST" || lost >= 2) return response;
        lost += 1;
        throw new TypeError("the connection was reset");
      },
    });
    const { generation } = await client.generate(PICTURES, { to: freshDir() });
    const submissions = sent.filter(({ method }) => method === "POST");
    expect(submissions.map(({ status }) => status)).toEqual([202, 200, 200]);
    expect(new Set(submissions.map(({ key }) => key)).size).toBe(1);
    expect(submissions[0]?.key).toMatch(/^[\w-]{16,200}$/);
    expect(await harness.balance(tenant)).toEqual({
      ...{ available: 100_000 - generation.cost_usd * 100, held: 0, charged: generation.cost_usd * 100, inProgress: 0 },
    });
  });

  test("creates two generations with two calls, and one when both calls have the same idempotency key", async () => {
    const { client } = bedIn(harness);
    const ids = [await client.submit(PICTURES), await client.submit(PICTURES)].map(({ id }) => id);
    expect(new Set(ids).size).toBe(2);
    const own = { idempotencyKey: "order-17" };
    expect((await client.submit(PICTURES, own)).id).toBe((await client.submit(PICTURES, own)).id);
    const conflict = await faultOf(client.submit(VIDEO, own), GenrouterError);
    expect(conflict).toMatchObject({ code: "idempotency_conflict", status: 409, idempotencyKey: "order-17" });
  });

  test("fails with unwritable before it submits when the destination cannot be written", async () => {
    const { client, sent } = bedIn(harness);
    const fault = await faultOf(client.generate(PICTURES, { to: join(freshDir(), "none", "a.png") }), GenrouterError);
    expect([fault.code, fault.status, sent.length]).toEqual(["unwritable", 0, 0]);
  });

  test("fails with GenerationFailed, which has the generation, when the generation fails", async () => {
    const { client } = bedIn(harness);
    const order = { ...VIDEO, input: { ...VIDEO.input, prompt: "[sim:fail-later]" } };
    const fault = await faultOf(client.generate(order, { to: freshDir() }), GenerationFailed);
    expect(fault).not.toBeInstanceOf(GenrouterError);
    expect(fault).toMatchObject({ code: "provider_failed", generation: { status: "failed", cost_usd: 0 } });
    expect(fault.message).toBe(fault.generation.error?.message ?? "");
  });

  test("rejects with the reason of an abort while the generation continues and can be awaited again", async () => {
    const { client } = bedIn(harness);
    const controller = new AbortController();
    const seen: string[] = [];
    const reason = new Error("the caller went home");
    const work = client.generate(PICTURES, {
      to: freshDir(),
      signal: controller.signal,
      onUpdate: ({ id }) => {
        seen.push(id);
        controller.abort(reason);
      },
    });
    expect(await faultOf(work, Error)).toBe(reason);
    expect((await client.wait(seen[0] ?? "")).status).toBe("succeeded");
  });
});

describe("wait", () => {
  test("polls at growing intervals from 2 to 10 seconds, and fails with StillRunning after timeoutS", async () => {
    const { client, pauses } = bedIn(harness);
    const first = await client.submit({ ...VIDEO, input: { ...VIDEO.input, prompt: "[sim:stuck]" } });
    const fault = await faultOf(client.wait(first, { timeoutS: 200 }), StillRunning);
    expect(fault.generation).toMatchObject({ id: first.id, status: "running" });
    const whole = pauses.slice(0, -1);
    expect(whole[0]).toBe(2_000);
    expect(whole).toEqual([...whole].sort((a, b) => a - b));
    expect(whole.at(-1)).toBe(10_000);
  });

  test.each([0, 0.999])("adds a jitter of up to 20 percent to the interval (random %p)", async (random) => {
    const pauses: number[] = [];
    const client = createClient({
      url: harness.url,
      key: harness.tenant.key,
      random: () => random,
      sleep: (ms) => new Promise((resolve) => void harness.clock.after(pauses.push(ms) * 0 + ms, resolve)),
    });
    await client.wait(await client.submit(PICTURES));
    expect(pauses[0]).toBeCloseTo(random === 0 ? 1_600 : 2_400, -1);
  });
});

describe("errors of the service", () => {
  test("a submission to a restarting service is retried after Retry-After with the same key", async () => {
    const young = await openHarness({ unrecovered: true });
    const { client, sent, pauses } = bedIn(young, { asleep: async (n) => (n === 2 ? young.components.recover() : undefined) });
    const reported: string[] = [];
    const first = await client.submit(PICTURES, { onRetry: ({ code }, ms) => reported.push(`${code} ${ms}`) });
    expect(first.status).toBe("queued");
    expect(sent.map(({ status }) => status)).toEqual([503, 503, 202]);
    expect(new Set(sent.map(({ key }) => key)).size).toBe(1);
    // Retry-After is 5, and the client adds up to a tenth, so that clients do not return at the same moment.
    expect(pauses).toEqual([5_250, 5_250]);
    expect(reported).toEqual(["restarting 5250", "restarting 5250"]);
    await young.close();
  });

  test("polls that exceed the burst limit are retried after 429", async () => {
    const strict = await openHarness({ env: { GENROUTER_LIMITS__BURST_PER_S: "1" } });
    const { client, sent } = bedIn(strict);
    const first = await client.submit(PICTURES);
    const polls = await Promise.all([client.poll(first.id), client.poll(first.id), client.poll(first.id)]);
    expect(polls.map(({ id }) => id)).toEqual([first.id, first.id, first.id]);
    expect(sent.map(({ status }) => status)).toContain(429);
    await strict.close();
  });

  test("a submission fails with the last error of the service after the given number of tries", async () => {
    const young = await openHarness({ unrecovered: true });
    const { client, sent } = bedIn(young);
    const fault = await faultOf(client.submit(PICTURES, { tries: 3, idempotencyKey: "mine" }), GenrouterError);
    expect(fault).toMatchObject({ code: "restarting", status: 503, retryAfterS: 5, idempotencyKey: "mine" });
    expect(fault.requestId).toMatch(/^req_/);
    expect(sent).toHaveLength(3);
    await young.close();
  });

  test("a submission to an unreachable service is tried ten times with growing pauses, and the caller hears of each", async () => {
    const { client, sent, pauses } = bedIn(harness, { url: `http://127.0.0.1:${CLOSED_PORT}` });
    const reported: string[] = [];
    const onRetry = ({ code }: GenrouterError, ms: number) => void reported.push(`${code} ${ms / 0.75}`);
    const fault = await faultOf(client.submit(PICTURES, { onRetry }), GenrouterError);
    expect([fault.code, fault.status, fault.requestId, sent.length]).toEqual(["unreachable", 0, null, 10]);
    expect([reported.length, reported[0]]).toEqual([9, "unreachable 500"]);
    expect(pauses.map((ms) => ms / 0.75)).toEqual([500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000, 10_000]);
  });

  test.each<[string, object, string, number]>([
    ["an unknown field", { ...VIDEO, input: { prompt: "x", colour: "red" } }, "invalid_input", 422],
    ["an unknown model", { ...VIDEO, model: "vidmodel-9" }, "model_not_available", 422],
    ["a cost limit below the price", { ...VIDEO, maxCostUsd: 0.01 }, "max_cost_exceeded", 422],
    ["a wait limit of 0", { ...VIDEO, maxWaitS: 0 }, "invalid_request", 400],
  ])("%s is rejected once and not retried", async (_, order, code, status) => {
    const { client, sent } = bedIn(harness);
    const fault = await faultOf(client.submit(order as typeof VIDEO), GenrouterError);
    expect([fault.code, fault.status, fault.retryAfterS, sent.length]).toEqual([code as typeof fault.code, status, null, 1]);
  });

  test("an HTML page of a proxy is reported as unexpected_answer with its status and text", async () => {
    const page = async () => new Response("<html>bad gateway</html>", { status: 502 });
    const { client } = bedIn(harness, { wire: () => page });
    const fault = await faultOf(client.models({ tries: 2 }), GenrouterError);
    expect([fault.code, fault.status, fault.message]).toEqual(["unexpected_answer", 502, "HTTP 502: <html>bad gateway</html>"]);
  });
});

test.each([undefined, null, "", "localhost:8791", "api.example.org", "ftp://api.example.org", "http://", "https://[bad", 8080])(
  "createClient throws bad_url for %p",
  async (url) => {
    const made = (async () => createClient({ url: url as string, key: "k" }))();
    const fault = await faultOf(made, GenrouterError);
    expect([fault.code, fault.status]).toEqual(["bad_url", 0]);
    expect(fault.message).toStartWith(`url: ${JSON.stringify(url)} is not an address; it begins with http:// or https://`);
  },
);

test("models works without a key, and submit without a key fails with no_key", async () => {
  const client = createClient({ url: `${harness.url}/` });
  expect((await client.models()).map(({ id }) => id)).toContain("sim-image-1");
  expect((await faultOf(client.submit(PICTURES), GenrouterError)).code).toBe("no_key");
  const wrong = createClient({ url: harness.url, key: "gr_test_wrong" });
  expect(await faultOf(wrong.submit(PICTURES), GenrouterError)).toMatchObject({ code: "unauthorized", status: 401 });
});
