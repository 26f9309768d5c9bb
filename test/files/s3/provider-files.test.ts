// Stored files in a bucket for providers that cannot open links: streamed from the bucket, and only if they are the recorded bytes.
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { attemptsOf, catalogueOn, inputsOfLastJob, modelOf, WITHOUT_LINKS } from "../../api/provider-files-fixture.ts";
import { sampleBytes, uploaded } from "../../api/upload-requests.ts";
import { type Nodes, openNodes } from "./nodes.ts";

setDefaultTimeout(60_000);

let nodes: Nodes;
beforeEach(async () => {
  nodes = await openNodes();
});
afterEach(() => nodes.close());

const PICTURE = "picture.png?width=512&height=512";
const openOn = (provider: "fal" | "openai" | "stability" | "runware") =>
  nodes.open({ catalogue: catalogueOn(provider), providers: [provider], env: WITHOUT_LINKS });

test.each(["fal", "openai", "stability", "runware"] as const)(
  "%s receives the bytes of a file in the bucket",
  async (provider) => {
    const harness = await openOn(provider);
    const file = await uploaded(harness, await sampleBytes(nodes, PICTURE));
    const made = await harness.submit(modelOf(provider), { prompt: "in oil", image_url: file.id });
    expect(await harness.until(made.id)).toMatchObject({ status: "succeeded", attempts: 1 });
    expect(await inputsOfLastJob(harness)).toEqual([{ bytes: file.bytes, sha256: file.sha256 }]);
  },
);

test.each(["fal", "openai"] as const)("%s receives nothing if the bucket returns other bytes than recorded", async (provider) => {
  const harness = await openOn(provider);
  const file = await uploaded(harness, await sampleBytes(nodes, PICTURE));
  for (const [key, kept] of nodes.bucket.objects)
    if (key.startsWith("uploads/blob_")) kept.bytes = Buffer.from(kept.bytes).fill(0, 100, 120);
  const made = await harness.submit(modelOf(provider), { prompt: "in oil", image_url: file.id });
  expect(await harness.until(made.id)).toMatchObject({ status: "failed", cost_usd: 0 });
  expect(nodes.simulator.submissions()).toEqual([]);
  expect((await attemptsOf(harness, made.id))[0]?.failure?.detail).toContain("an input file cannot be read");
});

test("a result of the service in the bucket is streamed to the provider", async () => {
  const harness = await openOn("fal");
  const file = await uploaded(harness, await sampleBytes(nodes, PICTURE));
  const first = await harness.until((await harness.submit(modelOf("fal"), { prompt: "in oil", image_url: file.id })).id);
  const next = await harness.submit(modelOf("fal"), { prompt: "in ink", image_url: `${first.id}/1` });
  expect(await harness.until(next.id)).toMatchObject({ status: "succeeded" });
  const [{ sha256, bytes } = {}] = await nodes.filesOf(harness, first.id);
  expect(await inputsOfLastJob(harness)).toEqual([{ bytes, sha256 }] as never);
});
