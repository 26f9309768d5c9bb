// A waiting response outlives the idle timeout of its connection.
//
// The runtime's timeout counts in real time and in steps of seconds, so this test needs nine of them.
import { expect, test } from "bun:test";
import { openApiHarness } from "./harness.ts";

test("is not cut when the wait is longer than server.keep_alive_s", async () => {
  const harness = await openApiHarness({ factor: 1, env: { GENROUTER_SERVER__KEEP_ALIVE_S: "1" } });
  harness.simulator.script({ fault: "stuck", prompt: "never ends" });
  const { id } = await harness.submit("sim-image-1", { prompt: "never ends" });
  const { status, headers } = await harness.request("GET", `/v1/generations/${id}`, { headers: { prefer: "wait=9" } });
  expect([status, headers.get("preference-applied")]).toEqual([200, "wait=9"]);
  await harness.close();
}, 30_000);
