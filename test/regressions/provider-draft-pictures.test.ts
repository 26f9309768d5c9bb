// Draft pictures of a thinking picture model are not results.
import { expect, test } from "bun:test";
import { builtInCatalogue } from "../../catalogue/load.ts";
import { openHarness } from "../harness.ts";
import { leastInput } from "../least-input.ts";

test("delivers one file from a Gemini response that has thought texts and draft pictures before the final picture", async () => {
  const catalogue = builtInCatalogue();
  const model = catalogue.model("gemini-3-pro-image");
  if (!model) throw new Error("there is no gemini-3-pro-image");
  const harness = await openHarness({ providers: ["gemini"], factor: 1000, catalogue });
  const { id } = await harness.submit(model.id, leastInput(model, `${harness.simulator.url}/samples`));
  const ended = await harness.until(id);
  expect(ended).toMatchObject({ status: "succeeded", error: null });
  expect(ended.output?.urls).toHaveLength(1);
  await harness.close();
});
