// `genrouter routes test`: checks a route without cost where the provider allows it, and by one generation with --buy.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { settingsLeadingTo } from "../../src/simulator/dialect-registry.ts";
import { createSimulator, type Simulator } from "../../src/simulator/simulator.ts";
import { type Child, start } from "../../src/torture/crash/processes.ts";
import { PROGRAM } from "../built.ts";
import { runHere } from "./captured.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

const dir = freshDir();
let simulator: Simulator;
let service: Child;
/** A provider that rejects every key. */
const stranger = Bun.serve({ port: 0, fetch: () => Response.json({ error: "no such key" }, { status: 401 }) });
beforeAll(async () => {
  simulator = await createSimulator({ speed: 1_000 });
  service = start([...PROGRAM, "serve", "--port", "0", "--data", dir], {
    ...settingsLeadingTo(simulator.url),
    ...{ FAL_KEY: "fal-s3cr3t", STABILITY_API_KEY: "stability-s3cr3t", RUNWAYML_API_SECRET: "runway-s3cr3t" },
    GENROUTER_PROVIDERS__RUNWAY__BASE_URL: stranger.url.href,
  });
  await service.hears(/^url http/m);
});
afterAll(async () => {
  service.kill("SIGTERM");
  await service.ended;
  await simulator.stop();
  await stranger.stop();
  dropDirs();
});

const run = async (...words: string[]) => {
  const { exit, out, err } = await runHere(["routes", "test", ...words, "--data", dir]);
  return { exit: exit as number, out, err };
};
/** Submissions that the simulator received, by provider and acceptance. */
const bought = () => simulator.submissions().map(({ provider, accepted }) => `${provider} ${accepted}`);
const json = async (...words: string[]) => JSON.parse((await run(...words, "--json")).out);

describe("routes test for a provider with a check without cost", () => {
  test("exits with 0 when the provider accepts the key, and submits nothing", async () => {
    const before = bought();
    expect(await run("vidmodel-2.0/fal")).toMatchObject({ exit: 0, out: expect.stringContaining("fal accepts the key") });
    expect(bought()).toEqual(before);
  });
  test("exits with 1 and prints the provider's response when it rejects the key, also with --buy", async () => {
    for (const words of [["runway-gen-4.5/runway"], ["runway-gen-4.5/runway", "--buy"]]) {
      const { exit, out } = await run(...words);
      expect(exit).toBe(1);
      expect(out).toMatch(/✘ runway rejects the key: config_fault: .*401.*no such key/);
    }
  });
  test("names providers set-key when the provider has no key, and routes list for an unknown route", async () => {
    expect(await run("luma-ray-2/luma")).toMatchObject({ exit: 6, err: expect.stringContaining("providers set-key luma") });
    expect(await run("gemini-omni-flash/gemini-video")).toMatchObject({
      exit: 6,
      err: expect.stringContaining("set-key gemini\n"),
    });
    expect(await run("nothing/luma")).toMatchObject({ exit: 4, err: expect.stringContaining("routes list") });
  });
});

describe("routes test for a provider without a check without cost", () => {
  test("submits nothing, and prints the least cost and the command with --buy", async () => {
    const before = bought();
    const { exit, out } = await run("stable-image-core/stability");
    expect(exit).toBe(1);
    expect(out).toMatch(
      /costs at least 0\.03 USD per image\.\nto test with one paid generation: genrouter routes test .* --buy\n$/,
    );
    expect(await json("stable-image-core/stability")).toMatchObject({ result: "none", costs_at_least: "0.03 USD per image" });
    expect(bought()).toEqual(before);
  });
});

describe("routes test --buy", () => {
  const account = async () => {
    const { out } = await runHere(["accounts", "list", "--json", "--data", dir]);
    return JSON.parse(out).find(({ name }: { name: string }) => name === "route tests");
  };

  test("runs one generation on the route only, on the account for route tests", async () => {
    const [before, charged] = [bought(), (await account())?.charged_usd ?? 0];
    const reported = await json("stable-image-core/stability", "--buy");
    expect(reported).toMatchObject({ provider: "stability", result: "delivered", detail: null });
    expect(reported.sold_for_usd).toBeGreaterThan(0);
    expect(bought()).toEqual([...before, "stability true"]);
    expect(await account()).toMatchObject({ charged_usd: charged + reported.sold_for_usd, held_usd: 0 });
    const { out } = await runHere(["keys", "list", "--json", "--data", dir]);
    expect(JSON.parse(out).every(({ revoked_at }: { revoked_at: string | null }) => revoked_at !== null)).toBe(true);
  });

  test("prints the provider's reason when the route does not deliver, without fallback and without a hold left", async () => {
    const before = bought();
    const input = JSON.stringify({ prompt: "a kite [sim:fail]", duration: 4 });
    const { exit, out } = await run("vidmodel-2.0/fal", "--buy", "--input", input);
    expect(exit).toBe(1);
    expect(out).toMatch(/✘ vidmodel-2\.0\/fal did not deliver gen_\w+: job_failed: /);
    expect(bought()).toEqual([...before, "fal true"]);
    expect(await account()).toMatchObject({ held_usd: 0 });
  });

  test("rejects missing media and invalid input, and submits nothing", async () => {
    const before = bought();
    const upscale = await run("recraft-crisp-upscale/fal", "--buy");
    expect(upscale).toMatchObject({ exit: 2, err: expect.stringMatching(/needs image_url.*--input/s) });
    const odd = await run("vidmodel-2.0/fal", "--buy", "--input", '{"prompt":"x","duration":900}');
    expect(odd).toMatchObject({ exit: 6, err: expect.stringContaining("input.duration") });
    expect(bought()).toEqual(before);
  });

  test("exits with 75 when no service runs", async () => {
    const { exit, err } = await runHere(["routes", "test", "stable-image-core/stability", "--buy", "--data", await made()], {
      STABILITY_API_KEY: "stability-s3cr3t",
    });
    expect(exit as number).toBe(75);
    expect(err).toContain("genrouter serve");
  });
});

/** Creates a data directory that no service has open. */
const made = async () => {
  const other = freshDir();
  await runHere(["accounts", "create", "--name", "acme", "--data", other]);
  return other;
};
