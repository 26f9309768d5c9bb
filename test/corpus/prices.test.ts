// Prices of corpus files submitted as links: each costs what its ffmpeg length costs.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { builtInCatalogue, catalogueOver } from "../../catalogue/load.ts";
import type { Model } from "../../catalogue/schema.ts";
import { type Harness, openHarness, type Tenant } from "../harness.ts";
import { isPicture, KEPT, keptBytes } from "./all.ts";
import { lengthOf } from "./check.ts";
import { readExpected } from "./expected.ts";

/** A model that takes and bills one clip or audio file at 2 USD per second: one credit is 5 ms, and no file costs 100 USD. */
const CREDIT_MS = 5;
const dear = (): Model => {
  const model = builtInCatalogue().models.find(({ id }) => id === "sim-lipsync-1");
  const [route] = model?.routes ?? [];
  if (!model || !route) throw new Error("the catalogue has no sim-lipsync-1");
  return {
    ...model,
    id: "by-the-moment",
    fields: { video_url: { max_items: 1 }, audio_url: { max_items: 1 } },
    price: { unit: "second", clips: { video_url: "is_output", audio_url: "is_output" } },
    routes: [{ ...route, id: "by-the-moment/fal", rates: [{ when: {}, usd: "2" }] }],
  };
};

const { files } = readExpected();
const TIMED = KEPT.filter((recipe) => !recipe.isCut && !isPicture(recipe));
/** Formats that results may have, but inputs may not. */
const isLeftOut = (name: string) => /\.(aiff|aifc|w64)$/.test(name);
const named = (is: boolean): [string][] => TIMED.filter(({ name }) => isLeftOut(name) === is).map(({ name }) => [name]);
const [TAKEN, LEFT_OUT] = [named(false), named(true)];

let harness: Harness;
let tenant: Tenant;
const served = new Map<string, Uint8Array>();
const answer = ({ url, headers }: Request): Response => {
  const [, how, name = ""] = new URL(url).pathname.split("/");
  const bytes = served.get(name);
  if (!bytes) return new Response(null, { status: 404 });
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.get("range") ?? "") ?? [];
  if (how !== "ranges" || from === undefined) return new Response(new Uint8Array(bytes));
  const end = Math.min(bytes.length, Number(to) + 1);
  const part = { "content-range": `bytes ${from}-${end - 1}/${bytes.length}` };
  return new Response(new Uint8Array(bytes.subarray(Number(from), end)), { status: 206, headers: part });
};
const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: answer });

beforeAll(async () => {
  harness = await openHarness({
    env: { GENROUTER_MEDIA__ALLOW: server.url.host, GENROUTER_LIMITS__IN_PROGRESS: "10000" },
    catalogue: catalogueOver([dear()]),
    factor: 0,
  });
  tenant = await harness.newTenant(100_000_000);
  for (const recipe of TIMED) served.set(recipe.name, await keptBytes(recipe));
});
afterAll(async () => {
  await harness.close();
  await server.stop(true);
});

const submit = (how: "ranges" | "whole", name: string, { key } = tenant) => {
  const field = files[name]?.videoS === undefined ? "audio_url" : "video_url";
  const input = { [field]: `${server.url.origin}/${how}/${name}` };
  const body = { model: "by-the-moment", input, max_cost_usd: 100 };
  return harness.request("POST", "/v1/generations", { body, key });
};
const quotedMs = async (how: "ranges" | "whole", name: string): Promise<number> => {
  const { status, body } = await submit(how, name);
  expect([name, how, status, body.error ?? null]).toEqual([name, how, 202, null]);
  return Math.round(Number(body.quoted_usd) * 100) * CREDIT_MS;
};

test.each(TAKEN)("%s costs what its ffmpeg length costs, with and without range requests", async (name) => {
  const { wantS = 0, frameS } = lengthOf(files[name] ?? {});
  const ranges = await quotedMs("ranges", name);
  expect(Math.abs(ranges - wantS * 1000)).toBeLessThanOrEqual(frameS * 1000 + CREDIT_MS);
  expect(await quotedMs("whole", name)).toBe(ranges);
});

test.each(LEFT_OUT)("rejects %s as an input format with 422 and holds no credits", async (name) => {
  const refused = await harness.newTenant(1_000_000);
  const before = await harness.balance(refused);
  for (const how of ["ranges", "whole"] as const) {
    const { status, body } = await submit(how, name, refused);
    expect([name, status, body.error]).toMatchObject([name, 422, { code: "invalid_input" }]);
    expect(String((body.error as { message: string }).message)).toContain("input.audio_url: the media cannot be read: it is ");
  }
  expect(await harness.balance(refused)).toEqual(before);
});
