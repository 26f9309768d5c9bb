// A response with a cost and without a file is a refused output, and its attempt is an orphan.
import { describe, expect, test } from "bun:test";
import { builtInCatalogue } from "../../catalogue/load.ts";
import { readDialects } from "../../src/providers/dialect/load.ts";
import { openHarness } from "../harness.ts";
import { leastInput } from "../least-input.ts";
import { answer } from "../providers/task.ts";

const CATALOGUE = builtInCatalogue();

for (const [provider, modelId] of [
  ["openai", "gpt-image-2"],
  ["gemini", "gemini-3-pro-image"],
] as const)
  test(`does not charge for a 200 response of ${provider} with usage and without a picture, and lists it as an orphan`, async () => {
    const model = CATALOGUE.model(modelId);
    if (!model) throw new Error(`there is no ${modelId}`);
    const harness = await openHarness({ providers: [provider], factor: 1000, catalogue: CATALOGUE });
    const before = await harness.balance();
    harness.simulator.script({ fault: "withheld" });
    const { id } = await harness.submit(model.id, leastInput(model, `${harness.simulator.url}/samples`));
    expect(await harness.until(id)).toMatchObject({ status: "failed", cost_usd: 0 });
    expect(await harness.balance()).toEqual(before);
    expect(await harness.store.orphans(0)).toMatchObject([
      { generationId: id, provider, state: "rejected", fate: "unusable", failure: { class: "refused_output", isBilled: true } },
    ]);
    // A submission that the provider rejects before any work is not an orphan.
    harness.simulator.clearScript();
    harness.simulator.script({ fault: "refuse" });
    const refused = await harness.submit(model.id, leastInput(model, `${harness.simulator.url}/samples`));
    await harness.until(refused.id);
    expect(await harness.store.orphans(0)).toHaveLength(1);
    await harness.close();
  });

describe("a refused output of a provider that reports its cost", () => {
  const dialects = readDialects(null);
  const context = (input: object) => ({
    ...{ ref: "0k3v9x2m-1", endpoint: "x", options: {}, baseUrl: "https://provider.example" },
    input: { raw: {}, filled: input as never },
  });
  const said = (provider: string, body: unknown, headers: Record<string, string> = {}) =>
    dialects.get(provider)?.adapter.readSubmit(answer(200, body, headers), context({ prompt: "x" }));
  const asked = (provider: string, body: unknown) =>
    dialects.get(provider)?.adapter.readPoll(answer(200, body), { jobId: "job-1" }, context({}));

  test("is marked as billed for OpenAI only if the usage counts tokens", () => {
    const usage = { total_tokens: 6250, input_tokens: 50, output_tokens: 6200 };
    expect(said("openai", { data: [], usage })).toMatchObject({ failure: { class: "refused_output", isBilled: true } });
    expect(said("openai", { data: [] })).toEqual({
      kind: "rejected",
      failure: { class: "refused_output", detail: expect.any(String) },
    });
    const nothing = { total_tokens: 0, input_tokens: 0, output_tokens: 0 };
    expect(JSON.stringify(said("openai", { data: [], usage: nothing }))).not.toContain("isBilled");
  });
  test("is marked as billed for ModelArk only if the failed task reports tokens", () => {
    const task = { id: "job-1", status: "failed", error: { code: "OutputVideoSensitiveContentDetected", message: "x" } };
    expect(asked("modelark", { ...task, usage: { completion_tokens: 108_900 } })).toMatchObject({
      ...{ kind: "failed", failure: { class: "refused_output", isBilled: true } },
    });
    expect(JSON.stringify(asked("modelark", task))).not.toContain("isBilled");
  });
  test("is marked as billed for Runware if the flagged task reports a cost", () => {
    const task = { taskUUID: "job-1", status: "success", imageURL: "https://im.example/x.jpg", NSFWContent: true, cost: 0.01 };
    expect(asked("runware", { data: [task] })).toMatchObject({ failure: { class: "refused_output", isBilled: true } });
  });
});
