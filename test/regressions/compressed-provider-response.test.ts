// JSON responses are decompressed if a provider compresses them although the request does not accept it.
import { expect, setDefaultTimeout, test } from "bun:test";
import * as zlib from "node:zlib";
import { builtInCatalogue } from "../../catalogue/load.ts";
import { providerSetting } from "../../src/config/schema.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { testClock } from "../clock.ts";
import { openHarness } from "../harness.ts";
import { leastInput } from "../least-input.ts";
import { openFront } from "./front.ts";

setDefaultTimeout(60_000);

const CATALOGUE = builtInCatalogue();
const packers: Record<string, (bytes: Uint8Array) => Uint8Array<ArrayBuffer>> = {
  gzip: (bytes) => Buffer.from(zlib.gzipSync(bytes)),
  deflate: (bytes) => Buffer.from(zlib.deflateSync(bytes)),
  br: (bytes) => Buffer.from(zlib.brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 3 } })),
  zstd: (bytes) => Buffer.from(zlib.zstdCompressSync(bytes)),
  // Not compressed, although the Content-Encoding header names a coding.
  "aws-chunked": (bytes) => Buffer.from(bytes),
  "utf-8": (bytes) => Buffer.from(bytes),
  none: (bytes) => Buffer.from(bytes),
  base64: (bytes) => Buffer.from(bytes),
};

const deliversThrough = async (provider: string, modelId: string, coding: string) => {
  const clock = testClock(1000);
  const simulator = await createSimulator({ clock });
  const pack = packers[coding];
  if (!pack) throw new Error(coding);
  await using front = openFront(
    simulator,
    (body) => new Response(pack(body), { headers: { "content-type": "application/json", "content-encoding": coding } }),
  );
  const harness = await openHarness({
    ...{ clock, simulator, catalogue: CATALOGUE, providers: [provider] },
    env: { [`${providerSetting(provider)}__BASE_URL`]: front.baseUrl(provider) },
  });
  const model = CATALOGUE.models.find(({ id }) => id === modelId);
  if (!model) throw new Error(`no model ${modelId}`);
  const made = await harness.submit(modelId, leastInput(model, `${simulator.url}/samples`));
  const ended = await harness.until(made.id);
  expect(ended).toMatchObject({ status: "succeeded", attempts: 1, error: null });
  expect(front.changed).toBeGreaterThan(0);
  await harness.close();
  await simulator.stop();
  clock.stop();
};

for (const coding of Object.keys(packers)) {
  test(`reads submit, poll and result responses of a provider's queue with Content-Encoding ${coding}`, () =>
    deliversThrough("fal", "vidmodel-2.5", coding));
  test(`reads a response with an inline picture and Content-Encoding ${coding}`, () =>
    deliversThrough("openai", "gpt-image-2", coding));
}
