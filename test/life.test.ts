// The life of a generation, seen from outside: what happens when routes deliver, fail, lie, hang and come back late.
import { afterEach, expect, test } from "bun:test";
import { type House, type HouseOptions, openHouse } from "./house.ts";

let house: House | null = null;
const open = async (options: HouseOptions = {}) => {
  house = await openHouse(options);
  return house;
};
afterEach(async () => {
  await house?.close();
  house = null;
});

const MODEL = "vidmodel-2.0-fast";
const INPUT = { prompt: "a red kite over dunes", resolution: "480p", duration: 4 };

test("a generation is charged the quoted price of the route that delivered, and its file is what it says", async () => {
  const { submit, until, ask, balance } = await open();
  const queued = await submit(MODEL, INPUT);
  expect(queued).toMatchObject({ status: "queued", attempts: 0, cost_usd: null, quoted_usd: 0.2, output: null });
  const ended = await until(queued.id);
  expect(ended).toMatchObject({ status: "succeeded", attempts: 1, cost_usd: 0.2, reserved_usd: null, error: null });
  expect(ended.output).toMatchObject({ width: 864, height: 480, duration_s: 4, has_audio: false });
  expect(ended.output?.urls).toHaveLength(1);
  const file = await ask("GET", `/v1/generations/${queued.id}/content`);
  expect(file.status).toBe(200);
  expect(file.headers.get("content-type")).toBe("video/mp4");
  const linked = await fetch(ended.output?.urls[0] ?? "");
  expect(linked.status).toBe(200);
  expect(await balance()).toEqual({ available: 99_980, held: 0, charged: 20, inProgress: 0 });
});

test("a route that fails after it accepted is followed by the next, and only that one is charged", async () => {
  const { submit, until, simulator, balance } = await open();
  simulator.script({ provider: "fal", fault: "fail-later" });
  const queued = await submit(MODEL, INPUT);
  const ended = await until(queued.id, (shown) => {
    return shown.status === "succeeded" || shown.status === "failed";
  });
  expect(ended).toMatchObject({ status: "succeeded", attempts: 2, cost_usd: 0.22, quoted_usd: 0.2 });
  expect(await balance()).toMatchObject({ held: 0, charged: 22 });
});
