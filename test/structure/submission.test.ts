// One submission for `npm run structure`, which compares the lines executed with it and without it.
import { expect, test } from "bun:test";
import { openHarness } from "../harness.ts";

test("accepts a submission while another generation has the only slot", async () => {
  const harness = await openHarness({ factor: 20, env: { GENROUTER_LIMITS__MAX_RUNNING: "1" } });
  const { id } = await harness.submit("sim-image-1", { prompt: "a kite [sim:stuck]" });
  const { seq } = (await harness.store.findGeneration(id)) ?? { seq: 0 };
  await harness.eventually(async () => (await harness.store.attemptsOf(seq))[0]?.state === "accepted", "the first job");
  const next = { body: { model: "sim-image-1", input: { prompt: "a kite [sim:stuck]" } } };
  if (process.env.STRUCTURE_WITHOUT === undefined)
    expect((await harness.request("POST", "/v1/generations", next)).status).toBe(202);
  await harness.close();
});
