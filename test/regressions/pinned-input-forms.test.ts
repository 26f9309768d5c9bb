// Providers without access to our links receive the pinned input as an upload or inline.
//
// The contents of pinned inputs are neither stored in the database nor backed up.
import { afterEach, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { builtInCatalogue, type Catalogue, catalogueOver } from "../../catalogue/load.ts";
import type { Route } from "../../catalogue/schema.ts";
import { makeClip } from "../../src/simulator/clip.ts";
import { backUp, filesBelow, openOn } from "../backup/fixture.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { type Harness, openHarness } from "../harness.ts";
import { answerBytes, openTwoFaced, type TwoFaced } from "./two-faced.ts";

const MODEL = "vidmodel-2.0-fast";
const short = await makeClip({ width: 64, height: 36 }, 4000, false, 1);
const long = await makeClip({ width: 64, height: 36 }, 12_000, false, 2);

let harness: Harness | undefined;
let server: TwoFaced | undefined;
afterEach(async () => {
  await harness?.close();
  await server?.stop();
  [harness, server] = [undefined, undefined];
  dropDirs();
});

/** The model with routes on these providers only; the routes of runway and luma are derived from fal. */
const catalogueOn = (...providers: readonly string[]): Catalogue => {
  const model = builtInCatalogue().model(MODEL);
  const fal = model?.routes.find(({ provider }) => provider === "fal");
  if (!model || !fal) throw new Error(`there is no ${MODEL} on fal`);
  const runway: Route = {
    ...fal,
    endpoint: "v1/video_to_video",
    options: { values: { model: "seedance2_fast", ratios: { "480p 16:9": "864:496" } } },
  };
  const others: Record<string, Route> = { runway, luma: { ...fal, endpoint: "ray-2", options: {} } };
  const routes = providers.map((provider): Route => {
    const route = model.routes.find((one) => one.provider === provider) ?? others[provider];
    if (!route) throw new Error(`there is no route on ${provider}`);
    return { ...route, id: `${MODEL}/${provider}`, provider, takes: {} };
  });
  return catalogueOver([{ ...model, routes }]);
};
/** Serves a 4 s clip to the service and a 12 s clip to all other clients. */
const serve = (): string => {
  server = openTwoFaced((request, { agent }) => answerBytes(request, agent === "genrouter" ? short : long, "video/mp4"));
  return server.host;
};
const input = () => ({
  prompt: "make it night",
  resolution: "480p",
  aspect_ratio: "16:9",
  duration: 5,
  video_url: `${server?.url}/clip.mp4`,
});
const env = (host: string, links: string) => ({
  GENROUTER_MEDIA__ALLOW: `${host},127.0.0.1`,
  GENROUTER_FILES__PROVIDER_LINKS: links,
});
const BASE64 = Buffer.from(short).toString("base64").slice(3000, 3200);

test.each([
  ["fal", "upload"],
  ["replicate", "upload"],
  ["wavespeed", "upload"],
  ["runway", "inline"],
])("with files.provider_links=off %s receives the measured clip as %s", async (provider, form) => {
  harness = await openOn(freshDir(), { catalogue: catalogueOn(provider), providers: [provider], env: env(serve(), "off") });
  const made = await harness.submit(MODEL, input());
  const ended = await harness.until(made.id);
  expect(ended).toMatchObject({ status: "succeeded", attempts: 1, cost_usd: made.quoted_usd });
  const [job] = harness.simulator.jobs();
  expect(job?.received).toMatchObject([{ kind: "video", ms: 4000, bytes: short.length }]);
  expect(server?.asked.every(({ agent }) => agent === "genrouter")).toBe(true);
  const sent = JSON.stringify(harness.simulator.submissions()[0]?.input);
  expect(sent).not.toContain("/inputs/");
  expect(sent.includes("data:video/mp4;base64,")).toBe(form === "inline");
  // The stored attempt names the file and contains none of its bytes.
  const seq = (await harness.store.findGeneration(made.id))?.seq ?? 0;
  const [attempt] = await harness.store.attemptsOf(seq);
  expect(attempt?.request?.includes("genrouter-input:1:")).toBe(form === "inline");
  const reported = JSON.stringify([attempt, await harness.store.planOf(seq), await harness.store.pinsOf(seq), harness.lines]);
  expect(reported).not.toContain(BASE64);
});

test("rejects an input that no provider of the plan can receive with 422, and names the settings", async () => {
  harness = await openHarness({ catalogue: catalogueOn("luma"), providers: ["luma"], env: env(serve(), "off") });
  const before = await harness.balance();
  const answered = await harness.request("POST", "/v1/generations", { body: { model: MODEL, input: input() } });
  expect(answered).toMatchObject({ status: 422, body: { error: { code: "invalid_input" } } });
  for (const named of ["video_url", "files.provider_links", "media.unpinned"]) expect(answered.text).toContain(named);
  expect(await harness.balance()).toEqual(before);
  expect(harness.simulator.submissions()).toEqual([]);
});

test("plans only the providers that can receive the input", async () => {
  const catalogue = catalogueOn("luma", "fal");
  harness = await openHarness({ catalogue, providers: ["luma", "fal"], env: env(serve(), "off") });
  const ended = await harness.until((await harness.submit(MODEL, input())).id);
  expect(ended).toMatchObject({ status: "succeeded", attempts: 1 });
  expect(harness.simulator.jobs().map(({ provider }) => provider)).toEqual(["fal"]);
});

test("a backup contains no pinned inputs", async () => {
  const data = freshDir();
  const place = join(freshDir(), "backups");
  harness = await openOn(data, { catalogue: catalogueOn("fal"), providers: ["fal"], env: env(serve(), "auto") });
  const ended = await harness.until((await harness.submit(MODEL, input())).id);
  expect(ended.status).toBe("succeeded");
  const copy = Buffer.from(short).toString("base64");
  const holding = (below: string) => [...filesBelow(below)].filter(([, bytes]) => bytes === copy).map(([path]) => path);
  expect(holding(data)).toHaveLength(1);
  await harness.crash();
  harness = undefined;
  const made = backUp(data, place);
  expect(made.faults).toEqual([]);
  expect(readdirSync(made.path)).toContain("files");
  expect(holding(made.path)).toEqual([]);
});
