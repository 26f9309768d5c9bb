// The event stream of one generation: its history, its end, positions, and who may read it.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { newReference } from "../../src/admin/request-reference.ts";
import type { Harness } from "../harness.ts";
import { readEvents } from "./event-reader.ts";
import { codeOf, messageOf, openApiHarness, openStillHarness, type StillHarness } from "./harness.ts";

const MODEL = "vidmodel-2.0-fast";
const INPUT = { prompt: "a kite", resolution: "480p", duration: 4 };
const pathOf = (id: string) => `/v1/generations/${id}/events`;

describe("a service whose generations end", () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await openApiHarness();
  });
  afterAll(() => harness.close());
  const read = (id: string, after?: string) => readEvents(harness.url + pathOf(id), { key: harness.tenant.key, after });
  const history = async (id: string) => {
    const reader = await read(id);
    await reader.over;
    return reader;
  };

  test("sends each change from the submission to the end, with the generation as a poll shows it, and closes", async () => {
    const { id } = await harness.submit(MODEL, INPUT);
    const live = await read(id);
    await live.over;
    expect(live.sent.map(({ type }) => type)).toEqual(["generation.queued", "generation.running", "generation.succeeded"]);
    for (const { id: eventId, data } of live.sent) {
      expect(eventId).toMatch(new RegExp(`^evt_${id.slice(4)}_\\d+$`));
      expect(data).toMatchObject({ id, object: "generation", model: MODEL });
    }
    const [queued, running, end] = live.sent.map(({ data }) => data);
    expect(queued).toMatchObject({ status: "queued", attempts: 0, output: null, reserved_usd: 0.28, cost_usd: null });
    expect(running).toMatchObject({ status: "running", attempts: 1, output: null, cost_usd: null, completed_at: null });
    expect(end).toEqual((await harness.show(id)) as never);
    expect((await history(id)).sent).toEqual(live.sent);
  });

  test("sends the number of each further attempt and the message of a confirmation, and no name of a provider", async () => {
    const { id } = await harness.submit(MODEL, { ...INPUT, prompt: "[sim:fal:fail-later] a kite" });
    const fallen = await history(id);
    expect(fallen.sent.map(({ type, data }) => [type, data.attempts])).toEqual([
      ["generation.queued", 0],
      ["generation.running", 1],
      ["generation.updated", 2],
      ["generation.succeeded", 2],
    ]);
    harness.simulator.script({ fault: "drop-after", prompt: "a lost answer" });
    const lost = await harness.submit(MODEL, { ...INPUT, prompt: "a lost answer" });
    const confirmed = await history(lost.id);
    const messages = confirmed.sent.map(({ type, data }) => [type, data.message]);
    expect(messages).toContainEqual(["generation.updated", "Confirming the result with the provider."]);
    expect(messages.at(-1)).toEqual(["generation.succeeded", undefined]);
    for (const { text } of [fallen, confirmed]) expect(text()).not.toMatch(/replicate|fal\b|seedance|route/);
  });

  test("sends the end of a generation that failed", async () => {
    const { id } = await harness.submit(MODEL, { ...INPUT, prompt: "[sim:fail]" });
    const { sent } = await history(id);
    expect(sent.at(-1)).toMatchObject({ type: "generation.failed", data: (await harness.show(id)) as never });
  });

  test("resumes after each id with exactly the events that follow, and answers 204 after the last", async () => {
    const { id } = await harness.submit(MODEL, { ...INPUT, prompt: "[sim:fal:fail-later] a kite" });
    const { sent } = await history(id);
    for (const [at, { id: eventId }] of sent.slice(0, -1).entries()) {
      const resumed = await read(id, eventId);
      await resumed.over;
      expect(resumed.sent).toEqual(sent.slice(at + 1));
    }
    const { status, text } = await harness.request("GET", pathOf(id), { headers: { "last-event-id": sent.at(-1)?.id ?? "" } });
    expect([status, text]).toEqual([204, ""]);
  });

  test("a client that loses every connection receives each event once, whichever node it reaches", async () => {
    const prompts = ["a kite", "[sim:fal:fail-later] a kite", "[sim:fail]"];
    const made = await Promise.all(prompts.map((prompt) => harness.submit(MODEL, { ...INPUT, prompt })));
    await Promise.all(
      made.map(async ({ id }) => {
        const sent: string[] = [];
        for (let isOver = false; !isOver; ) {
          const reader = await read(id, sent.at(-1));
          const [first] = await reader.has(1);
          sent.push(first?.id ?? "");
          isOver = first?.type === "generation.succeeded" || first?.type === "generation.failed";
          await reader.leave();
        }
        expect(sent).toEqual((await history(id)).sent.map(({ id: eventId }) => eventId));
      }),
    );
  });

  test.each([
    ["the id of no event", () => "evt_unknown_1"],
    ["a text", () => "7"],
    ["the id of a stored event that polls do not show", (id: string) => `evt_${id.slice(4)}_2`],
    ["the id of an event of another generation", (_: string, other: string) => `evt_${other.slice(4)}_0`],
  ])("rejects %s as Last-Event-ID with 400 that names the header", async (_, lastId) => {
    const [{ id }, other] = [await harness.submit(MODEL, INPUT), await harness.submit(MODEL, INPUT)];
    await harness.until(id);
    const answered = await harness.request("GET", pathOf(id), { headers: { "last-event-id": lastId(id, other.id) } });
    expect([answered.status, codeOf(answered)]).toEqual([400, "invalid_request"]);
    expect(messageOf(answered)).toStartWith("Last-Event-ID: ");
  });

  test("answers 404 for an unknown generation, and for one of another account or of another key of a limited key", async () => {
    const { id } = await harness.submit(MODEL, INPUT);
    const other = await harness.newTenant();
    const admin = await harness.admin();
    const limited = await admin.createKey({
      ...{ reference: newReference("key"), accountId: harness.tenant.accountId, scope: "generate", name: "limited" },
      terms: { models: [MODEL] },
    });
    await harness.synchronize();
    const unknown = await harness.request("GET", pathOf("gen_unknown"));
    expect(unknown.status).toBe(404);
    for (const key of [other.key, limited.key]) {
      const answered = await harness.request("GET", pathOf(id), { key });
      expect([answered.status, answered.body]).toEqual([404, unknown.body]);
    }
    const own = await harness.request("POST", "/v1/generations", { key: limited.key, body: { model: MODEL, input: INPUT } });
    const reader = await readEvents(harness.url + pathOf(String(own.body.id)), { key: limited.key });
    await reader.over;
    expect(reader.sent.at(-1)?.type).toBe("generation.succeeded");
  });
});

describe("a service whose generations stay queued", () => {
  let harness: StillHarness;
  const open = async () => {
    harness = await openStillHarness();
    const { key } = harness.rich;
    const made = await harness.request("POST", "/v1/generations", { key, body: { model: MODEL, input: INPUT } });
    const path = pathOf(String(made.body.id));
    return { path, key, read: () => readEvents(harness.url + path, { key }) };
  };
  afterEach(() => harness.close());

  test("answers HEAD without a stream, also for a key that only reads", async () => {
    const { path, key } = await open();
    const { status, headers, text } = await harness.request("HEAD", path, { key });
    expect([status, headers.get("content-type"), text]).toEqual([200, "text/event-stream", ""]);
    expect((await harness.request("GET", path, { key: null })).status).toBe(401);
  });

  test("keeps the stream open with pings, and ends it when the key is revoked", async () => {
    const { read } = await open();
    const reader = await read();
    await reader.has(1);
    await harness.eventually(() => {
      harness.clock.skip(5_000);
      return reader.text().includes("\n: \n\n");
    }, "a ping");
    await harness.components.post({ mutation: "revoke-key", keyId: harness.rich.keyId, atMs: harness.clock.nowMs() });
    let isOver = false;
    void reader.over.then(() => {
      isOver = true;
    });
    await harness.eventually(() => {
      harness.clock.skip(5_000);
      return isOver;
    }, "the end of the stream");
    expect(reader.sent.map(({ type }) => type)).toEqual(["generation.queued"]);
  });

  test("ends all streams when the service drains", async () => {
    const { read } = await open();
    const readers = await Promise.all([read(), read(), read()]);
    await Promise.all(readers.map(({ has }) => has(1)));
    await harness.components.drain(0);
    await Promise.all(readers.map(({ over }) => over));
  });

  test("takes 100 streams of an account on each node, answers 429 above it, and frees the place of a client that leaves", async () => {
    const { path, key } = await open();
    const url = harness.nodeUrl + path;
    const read = () => readEvents(url, { key });
    const readers = await Promise.all(Array.from({ length: 100 }, read));
    const full = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
    const { error } = (await full.json()) as { error: { code: string } };
    expect([full.status, error.code, full.headers.get("retry-after")]).toEqual([429, "concurrency_limit", "5"]);
    await readers[0]?.leave();
    const again = await harness.eventually(() => read().catch(() => undefined), "a free place");
    for (const reader of [...readers, again]) await reader.leave();
  });
});
