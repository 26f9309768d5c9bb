// Callbacks: what a provider tells at an attempt's own address is a hint to ask it now; alone it changes nothing.
import { afterEach, describe, expect, test } from "bun:test";
import { builtInCatalogue } from "../../catalogue/load.ts";
import type { FaultName } from "../../src/simulator/faults.ts";
import { openAsked } from "../api-multi-node/request.ts";
import type { Harness, HarnessOptions } from "../harness.ts";

const PUBLIC = "https://genrouter.example";
const CATALOGUE = builtInCatalogue();

let harness: Harness;
afterEach(() => harness.close());

/** A harness whose time stands still, where nothing is asked by itself, and a generation whose job is there. */
const open = async (provider: string, model: string, more: HarnessOptions = {}, fault?: FaultName) => {
  harness = await openAsked({
    ...{ factor: 0, providers: [provider], catalogue: CATALOGUE },
    ...more,
    env: { GENROUTER_SERVER__PUBLIC_URL: PUBLIC, ...more.env },
  });
  if (fault !== undefined) harness.simulator.script({ fault });
  const made = await harness.submit(model, { prompt: "a kite" });
  const seq = (await harness.store.findGeneration(made.id))?.seq ?? 0;
  const attempt = await harness.eventually(async () => {
    const found = await harness.store.attempt(seq, 1);
    return found?.state === "accepted" || (fault !== undefined && harness.simulator.jobs().length > 0) ? found : undefined;
  }, "the job");
  const address = new RegExp(`${PUBLIC}(/callbacks/[\\w-]+/[\\w-]+)`).exec(decodeURIComponent(attempt.request ?? ""))?.[1] ?? "";
  const tell = async (path: string, body: unknown = {}) => {
    const answered = await harness.ask("POST", path, { key: null, body });
    await harness.told();
    return answered;
  };
  return { id: made.id, seq, address, tell };
};
const pollsOf = () => harness.simulator.jobs()[0]?.polls ?? 0;

describe("a callback", () => {
  for (const [provider, model] of [
    ["fal", "vidmodel-2.0-fast"],
    ["replicate", "vidmodel-2.0-fast"],
    ["modelark", "vidmodel-2.0-fast"],
    ["vidu", "vidu-q3"],
  ] as const)
    test(`of ${provider} makes the service ask at once, and is believed in nothing`, async () => {
      const { id, address, tell } = await open(provider, model);
      expect(address).not.toBe("");
      const lie = { status: "succeeded", state: "success", request_id: "stolen", output: "https://evil.example/x.mp4" };
      expect((await tell(address, lie)).status).toBe(200);
      await harness.eventually(() => pollsOf() === 1, "a poll");
      expect(await harness.show(id)).toMatchObject({ status: "running", output: null });
    });

  test("at an address that was not made here is not found, and nobody is asked", async () => {
    const { address, tell } = await open("fal", "vidmodel-2.0-fast");
    for (const path of [`${address}x`, address.slice(0, -1), address.replace("/callbacks/", "/callbacks/0"), "/callbacks/x/y"])
      expect((await tell(path)).status).toBe(404);
    expect((await tell(address, "no JSON")).status).toBe(200);
    await harness.eventually(() => pollsOf() > 0, "a poll");
    expect(pollsOf()).toBe(1);
  });

  test("that asks whether the address is ours gets its word back", async () => {
    const { address, tell } = await open("fal", "vidmodel-2.0-fast");
    expect((await tell(address, { challenge: "say this" })).body).toEqual({ challenge: "say this" });
  });

  test("again and again within a second makes it ask once", async () => {
    const { address, tell } = await open("fal", "vidmodel-2.0-fast");
    for (let n = 0; n < 20; n += 1) await tell(address);
    await harness.eventually(() => pollsOf() > 0, "a poll");
    expect(pollsOf()).toBe(1);
  });
});

describe("a submission whose answer was lost, at a provider that cannot be asked about it", () => {
  test("is found again by the job that a callback names, once the provider knows it", async () => {
    const { id, seq, address, tell } = await open("vidu", "vidu-q3", {}, "drop-after");
    harness.simulator.clearScript();
    await harness.eventually(async () => (await harness.show(id)).message, "that it is confirmed");
    await tell(address, { task_id: "made-up", state: "success" });
    const [job] = harness.simulator.jobs();
    const attempt = await harness.eventually(async () => {
      // One that comes while another is looked into is left: providers tell again.
      await tell(address, { task_id: job?.id, state: "success" });
      const found = await harness.store.attempt(seq, 1);
      return found?.state === "accepted" ? found : undefined;
    }, "that it is accepted");
    expect(attempt.job?.jobId).toBe(job?.id);
    expect(harness.simulator.jobs()).toHaveLength(1);
  });
});
