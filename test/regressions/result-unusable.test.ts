// An unusable result is downloaded three times in total and does not open the circuit breaker of its route.
import { expect, test } from "bun:test";
import { mp4, png } from "../media/made.ts";
import { openDelivery, whole } from "./delivery.ts";

/** Bytes of no known format, the same each time. */
const NOISE = Uint8Array.from({ length: 5000 }, (_, at) => 128 | ((at * 7919) >> 3));
const page = () => new Response("<!doctype html><title>Sorry</title>".padEnd(700), { headers: { "content-type": "text/html" } });
const routeStates = async (delivery: Awaited<ReturnType<typeof openDelivery>>) => [
  ...(await delivery.store.routeHealth()).keys(),
];

/** Created once, because a clip contains its creation time. */
const CLIP = await mp4({ seconds: 1 });

const UNCHANGING: readonly [string, () => Response | Promise<Response>][] = [
  ["a file of no known format", () => whole(NOISE)],
  ["an HTML page", page],
  ["a JSON document", () => Response.json({ error: "internal", detail: "no such asset, sorry for that, please try again" })],
  ["an empty file", () => whole(new Uint8Array(0))],
  ["a truncated picture", async () => whole((await png(400, 300)).slice(0, -300))],
  ["a clip instead of a picture", () => whole(CLIP)],
];
for (const [what, answer] of UNCHANGING)
  test(`downloads ${what} three times in total and then falls back to the next route`, async () => {
    const delivery = await openDelivery("image", answer);
    const shown = await delivery.order();
    expect(shown).toMatchObject({ status: "succeeded", cost_usd: 0.25, attempts: 2 });
    expect(delivery.fetched).toHaveLength(3);
    expect(await delivery.states(shown.id)).toContain("running.confirming.result");
  });

test("downloads a file more than three times if its bytes differ each time", async () => {
  const delivery = await openDelivery("image", async (_, nth) => whole(nth < 5 ? NOISE.subarray(nth) : await png(8, 8)));
  expect(await delivery.order()).toMatchObject({ status: "succeeded", cost_usd: 0.2, attempts: 1 });
  expect(delivery.fetched).toHaveLength(5);
});

test("keeps the circuit breaker closed after many complete files that the service cannot read", async () => {
  const delivery = await openDelivery("image", () => whole(NOISE));
  for (let n = 0; n < 8; n += 1) expect(await delivery.order()).toMatchObject({ status: "succeeded", attempts: 2 });
  expect(await routeStates(delivery)).not.toContain("life/fal");
  expect(delivery.received().filter((route) => route === "fal")).toHaveLength(8);
});

test("opens the circuit breaker of a route after repeated 503 responses of its file server", async () => {
  const delivery = await openDelivery("image", () => new Response("down", { status: 503 }));
  for (let n = 0; n < 5; n += 1) await delivery.order();
  const before = delivery.received().filter((route) => route === "fal").length;
  expect(before).toBe(5);
  expect(await routeStates(delivery)).toContain("life/fal");
});
