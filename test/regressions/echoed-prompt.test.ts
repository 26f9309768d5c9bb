// A provider that repeats a prompt in each of its answers: whatever stands in it, reading it holds up nobody.
import { expect, test } from "bun:test";
import { openHarness } from "../harness.ts";

/** As many characters as a prompt may have, of which most have a meaning in JSON. */
const PROMPTS: [string, string][] = [
  ["backslashes before a quotation mark", `${"\\".repeat(27_000)}x"${"😀".repeat(2_990)}`],
  ["quotation marks", '"'.repeat(29_990)],
  ["backslashes and quotation marks", '\\"'.repeat(14_990)],
];

test.each(PROMPTS)("a prompt of %s that comes back in every answer is delivered, and the loop goes on", async (_, prompt) => {
  // How long the loop stands still is measured by the stall meter, which fails the file.
  const harness = await openHarness({ providers: ["replicate"], factor: 20 });
  const input = { prompt, resolution: "480p", duration: 4 };
  const { status, body } = await harness.ask("POST", "/v1/generations", { body: { model: "vidmodel-2.0-fast", input } });
  expect(status).toBe(202);
  expect(await harness.until(String(body.id))).toMatchObject({ status: "succeeded" });
  await harness.close();
});
