// Tests of provider callbacks: a callback only causes an immediate poll of the provider; its content changes nothing.
import { afterEach, describe, expect, test } from "bun:test";
import { builtInCatalogue } from "../../catalogue/load.ts";
import type { FaultName } from "../../src/simulator/faults.ts";
import { openAsked } from "../api-multi-node/request.ts";
import type { Harness, HarnessOptions } from "../harness.ts";

const PUBLIC = "https://genrouter.example";
const CATALOGUE = builtInCatalogue();

let harness: Harness;
afterEach(() => harness.close());

/** Opens a harness with a stopped clock, so nothing is polled without a callback, and a generation with a job. */
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
  const report = async (path: string, body: unknown = {}) => {
    const answered = await harness.request("POST", path, { key: null, body });
    await harness.synchronize();
    return answered;
  };
  return { id: made.id, seq, address, report };
};
const pollsOf = () => harness.simulator.jobs()[0]?.polls ?? 0;

describe("a callback", () => {
  for (const [provider, model] of [
    ["fal", "vidmodel-2.0-fast"],
    ["replicate", "vidmodel-2.0-fast"],
    ["modelark", "vidmodel-2.0-fast"],
    ["vidu", "vidu-q3"],
  ] as const)
    test(`of ${provider} causes an immediate poll, and its content is ignored`, async () => {
      const { id, address, report } = await open(provider, model);
      expect(address).not.toBe("");
      const lie = { status: "succeeded", state: "success", request_id: "stolen", output: "https://evil.example/x.mp4" };
      expect((await report(address, lie)).status).toBe(200);
      await harness.eventually(() => pollsOf() === 1, "a poll");
      expect(await harness.show(id)).toMatchObject({ status: "running", output: null });
    });

  test("at an unknown address returns 404 and causes no poll", async () => {
    const { address, report } = await open("fal", "vidmodel-2.0-fast");
    for (const path of [`${address}x`, address.slice(0, -1), address.replace("/callbacks/", "/callbacks/0"), "/callbacks/x/y"])
      expect((await report(path)).status).toBe(404);
    expect((await report(address, "no JSON")).status).toBe(200);
    await harness.eventually(() => pollsOf() > 0, "a poll");
    expect(pollsOf()).toBe(1);
  });

  test("with a challenge receives the challenge in the response", async () => {
    const { address, report } = await open("fal", "vidmodel-2.0-fast");
    expect((await report(address, { challenge: "say this" })).body).toEqual({ challenge: "say this" });
  });

  test("that is repeated within one second causes one poll", async () => {
    const { address, report } = await open("fal", "vidmodel-2.0-fast");
    for (let n = 0; n < 20; n += 1) await report(address);
    await harness.eventually(() => pollsOf() > 0, "a poll");
    expect(pollsOf()).toBe(1);
  });
});

describe("a submission whose response was lost, at a provider without a job lookup", () => {
  test("is accepted with the job id of a callback after the provider confirms that job", async () => {
    const { id, seq, address, report } = await open("vidu", "vidu-q3", {}, "drop-after");
    harness.simulator.clearScript();
    await harness.eventually(async () => (await harness.show(id)).message, "the confirmation");
    await report(address, { task_id: "made-up", state: "success" });
    const [job] = harness.simulator.jobs();
    const attempt = await harness.eventually(async () => {
      // The service ignores a callback while it checks another one: providers repeat callbacks.
      await report(address, { task_id: job?.id, state: "success" });
      const found = await harness.store.attempt(seq, 1);
      return found?.state === "accepted" ? found : undefined;
    }, "the acceptance");
    expect(attempt.job?.jobId).toBe(job?.id);
    expect(harness.simulator.jobs()).toHaveLength(1);
  });
});
