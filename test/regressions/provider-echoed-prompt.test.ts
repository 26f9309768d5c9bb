// A provider that repeats a prompt in each response: parsing must not block the event loop, whatever the prompt contains.
import { expect, test } from "bun:test";
import { openHarness } from "../harness.ts";

/** Prompts of the maximum length, of which most characters are escaped in JSON. */
const PROMPTS: [string, string][] = [
  ["backslashes before a quotation mark", `${"\\".repeat(27_000)}x"${"😀".repeat(2_990)}`],
  ["quotation marks", '"'.repeat(29_990)],
  ["backslashes and quotation marks", '\\"'.repeat(14_990)],
];

test.each(PROMPTS)(
  "delivers a generation whose prompt of %s the provider repeats in every response, without blocking the event loop",
  async (_, prompt) => {
    // The stall meter measures how long the event loop is blocked, and fails the file.
    const harness = await openHarness({ providers: ["replicate"], factor: 20 });
    const input = { prompt, resolution: "480p", duration: 4 };
    const { status, body } = await harness.request("POST", "/v1/generations", { body: { model: "vidmodel-2.0-fast", input } });
    expect(status).toBe(202);
    expect(await harness.until(String(body.id))).toMatchObject({ status: "succeeded" });
    await harness.close();
  },
);
