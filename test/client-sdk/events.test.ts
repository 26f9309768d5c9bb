// The event streams of the client package against the service: changes, lost connections, ends and errors.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type AccountEvent, type Client, createClient, type GenerationEvent, GenrouterError } from "../../client/src/client.ts";
import { type CuttingProxy, openCuttingProxy } from "../event-streams/cutting-proxy.ts";
import { type Harness, openHarness } from "../harness.ts";
import { bedIn, faultOf } from "./fixture.ts";

const PICTURE = { model: "sim-image-1", input: { prompt: "a tin robot" } };
const FALLBACK = {
  model: "vidmodel-2.0-fast",
  input: { prompt: "[sim:fal:fail-later]", resolution: "480p", duration: 4 },
} as const;
let harness: Harness;
let proxy: CuttingProxy;
let client: Client;
beforeAll(async () => {
  harness = await openHarness();
  proxy = await openCuttingProxy(harness.url);
  client = bedIn(harness, { url: proxy.url }).client;
});
afterAll(async () => {
  proxy.stop();
  await harness.close();
});

const all = async <Item>(items: AsyncIterable<Item>): Promise<Item[]> => {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
};
const shortOf = ({ type, generation }: GenerationEvent) => [type, generation.attempts];

test("returns each change of a generation until its end, and nothing after the last known one", async () => {
  const { id } = await client.submit(FALLBACK);
  const events = await all(client.events(id));
  expect(events.map(shortOf)).toEqual([
    ["generation.queued", 0],
    ["generation.running", 1],
    ["generation.updated", 2],
    ["generation.succeeded", 2],
  ]);
  expect(events.at(-1)?.generation).toEqual(await client.poll(id));
  expect((await all(client.events(id, { after: events[1]?.id }))).map(({ id: eventId }) => eventId)).toEqual(
    events.slice(2).map(({ id: eventId }) => eventId),
  );
  expect(await all(client.events(id, { after: events.at(-1)?.id }))).toEqual([]);
});

test("connects again after each lost connection, and returns each change once", async () => {
  const { id } = await client.submit(FALLBACK);
  const calls = { opened: 0, retried: 0 };
  const events: GenerationEvent[] = [];
  const options = {
    onOpen: () => {
      calls.opened += 1;
    },
    onRetry: () => {
      calls.retried += 1;
    },
  };
  for await (const event of client.events(id, options)) {
    events.push(event);
    proxy.cut();
  }
  expect(events.map(shortOf)).toEqual((await all(client.events(id))).map(shortOf));
  expect([calls.opened > 1, calls.retried > 0]).toEqual([true, true]);
});

test("returns the events of the account once over lost connections, until the loop ends", async () => {
  const ids: string[] = [];
  const submit = async () => {
    const { id } = await client.submit(PICTURE);
    ids.push(id);
    await harness.until(id);
  };
  const events: AccountEvent[] = [];
  const types = ["generation.succeeded", "generation.failed"] as const;
  for await (const event of client.listen({ types, onOpen: () => ids.length === 0 && void submit() })) {
    events.push(event);
    proxy.cut();
    if (ids.length === 3) break;
    await submit();
  }
  expect(events.map(({ event }) => [event.type, (event.data as { id: string }).id])).toEqual(
    ids.map((id) => ["generation.succeeded", id]),
  );
  for (const { id, position, body, event } of events) {
    expect(position.startsWith(`${id}.`)).toBe(true);
    expect(JSON.parse(body)).toEqual(event);
  }
});

test("gives up a stream after `tries` connections without an event, and an unknown generation at once", async () => {
  expect(await faultOf(all(client.events("gen_unknown")), GenrouterError)).toMatchObject({ code: "not_found", status: 404 });
  const lines = { "content-type": "text/event-stream" };
  let requests = 0;
  const mute = createClient({
    ...{ url: "http://service.invalid", key: "key", random: () => 0, sleep: async () => undefined, nowMs: Date.now },
    fetch: async () => {
      requests += 1;
      return new Response(": \n\n", { headers: lines });
    },
  });
  const fault = await faultOf(all(mute.events("gen_1", { tries: 3 })), GenrouterError);
  expect([fault.code, requests]).toEqual(["unreachable", 3]);
});

test("an aborted signal ends a stream with its reason", async () => {
  const stop = new AbortController();
  const reason = new Error("enough");
  const listening = all(client.listen({ signal: stop.signal, onOpen: () => stop.abort(reason) }));
  expect(await listening.catch((fault: unknown) => fault)).toBe(reason);
});
