// M2: a picture model that thinks in drafts: the drafts are no result.
import { expect, test } from "bun:test";
import { builtInCatalogue } from "../../catalogue/load.ts";
import { openHarness } from "../harness.ts";
import { leastInput } from "../least-input.ts";

test("M2: an answer with thoughts in words and pictures before the picture delivers one file, the picture", async () => {
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
