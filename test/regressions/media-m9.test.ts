// Fault M9: a result that we cannot use took 90 seconds of repeats each time and closed its route for everybody.
import { expect, test } from "bun:test";
import { mp4, png } from "../media/made.ts";
import { openDelivery, whole } from "./delivery.ts";

/** Bytes of no kind, the same each time. */
const NOISE = Uint8Array.from({ length: 5000 }, (_, at) => 128 | ((at * 7919) >> 3));
const page = () => new Response("<!doctype html><title>Sorry</title>".padEnd(700), { headers: { "content-type": "text/html" } });
const routeStates = async (delivery: Awaited<ReturnType<typeof openDelivery>>) => [
  ...(await delivery.store.routeHealth()).keys(),
];

/** Made once: a clip tells when it was made. */
const CLIP = await mp4({ seconds: 1 });

const UNCHANGING: readonly [string, () => Response | Promise<Response>][] = [
  ["bytes of no kind", () => whole(NOISE)],
  ["a page", page],
  ["JSON", () => Response.json({ error: "internal", detail: "no such asset, sorry for that, please try again" })],
  ["nothing", () => whole(new Uint8Array(0))],
  ["a picture cut short", async () => whole((await png(400, 300)).slice(0, -300))],
  ["a clip in place of a picture", () => whole(CLIP)],
];
for (const [what, answer] of UNCHANGING)
  test(`M9: ${what} is fetched at most twice more, and then the next route has its turn`, async () => {
    const delivery = await openDelivery("image", answer);
    const shown = await delivery.order();
    expect(shown).toMatchObject({ status: "succeeded", cost_usd: 0.25, attempts: 2 });
    expect(delivery.fetched).toHaveLength(3);
    expect(await delivery.states(shown.id)).toContain("running.confirming.result");
  });

test("M9: a file that comes differently each time is worth more tries", async () => {
  const delivery = await openDelivery("image", async (_, nth) => whole(nth < 5 ? NOISE.subarray(nth) : await png(8, 8)));
  expect(await delivery.order()).toMatchObject({ status: "succeeded", cost_usd: 0.2, attempts: 1 });
  expect(delivery.fetched).toHaveLength(5);
});

test("M9: files that came whole and that only we cannot read do not close the route, however many there are", async () => {
  const delivery = await openDelivery("image", () => whole(NOISE));
  for (let n = 0; n < 8; n += 1) expect(await delivery.order()).toMatchObject({ status: "succeeded", attempts: 2 });
  expect(await routeStates(delivery)).not.toContain("life/fal");
  expect(delivery.received().filter((route) => route === "fal")).toHaveLength(8);
});

test("M9: a file server that is really down still closes the route", async () => {
  const delivery = await openDelivery("image", () => new Response("down", { status: 503 }));
  for (let n = 0; n < 5; n += 1) await delivery.order();
  const before = delivery.received().filter((route) => route === "fal").length;
  expect(before).toBe(5);
  expect(await routeStates(delivery)).toContain("life/fal");
});
