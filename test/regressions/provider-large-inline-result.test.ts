// A response of 30 MB with an inline file does not block the event loop.
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { builtInCatalogue } from "../../catalogue/load.ts";
import { providerSetting } from "../../src/config/schema.ts";
import { createMediaFactory } from "../../src/simulator/media-factory.ts";
import { openHarness } from "../harness.ts";
import { leastInput } from "../least-input.ts";
import { dropScratch, makeScratch } from "../scratch.ts";

setDefaultTimeout(120_000);
const scratch = makeScratch("large-answers-");
afterAll(() => dropScratch(scratch));

const CATALOGUE = builtInCatalogue();
/** The limit of every API test for a pause of the event loop, beyond that of the control process. */
const LONGEST_MS = 250;

/**
 * A provider in a child process, so that its work does not block the measured process. It returns one picture with 22 MB of
 * metadata after its header, in the response format of OpenAI or Gemini.
 */
const PROVIDER = `const { crc32 } = require("node:zlib");
  const [path, words] = process.argv.slice(1);
  const small = Buffer.from(await Bun.file(path).bytes());
  const notes = Buffer.alloc(22 * 1024 * 1024);
  for (let at = 0, state = 1; at < notes.length; at += 1) {
    state = (state * 48271) % 2147483647;
    notes[at] = state >> 8;
  }
  const chunk = Buffer.concat([Buffer.alloc(4), Buffer.from("prVt"), notes, Buffer.alloc(4)]);
  chunk.writeUInt32BE(notes.length, 0);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, 8 + notes.length)), 8 + notes.length);
  const header = 8 + 25;
  const data = Buffer.concat([small.subarray(0, header), chunk, small.subarray(header)]).toString("base64");
  const said = {
    openai: () => JSON.stringify({ created: 1, data: [{ b64_json: data }], usage: { input_tokens: 50, output_tokens: 6200 } }),
    gemini: () => {
      const parts = [{ text: "Here it is.\\n" }, { inlineData: { mimeType: "image/png", data } }];
      return JSON.stringify({ candidates: [{ content: { parts }, finishReason: "STOP" }] }).replaceAll("/", "\\\\/");
    },
  };
  const body = Buffer.from(said[words]());
  const headers = { "content-type": "application/json" };
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: async (asked) => (await asked.arrayBuffer(), new Response(body, { headers })) });
  process.stdout.write(server.port + " " + body.length);`;
const openProvider = async (words: "openai" | "gemini") => {
  const path = join(scratch, "small.png");
  const sketch = { format: "png", width: 1024, height: 1024, ms: 0, sound: false } as const;
  writeFileSync(path, await createMediaFactory().make(sketch, 1, "large"));
  const child = Bun.spawn([process.execPath, "-e", PROVIDER, path, words], { stdout: "pipe" });
  const { value } = await child.stdout.getReader().read();
  const [port, bytes] = new TextDecoder().decode(value).split(" ");
  return {
    url: `http://127.0.0.1:${port}`,
    bytes: Number(bytes),
    [Symbol.dispose]: () => child.kill(),
  };
};

/** Measures the longest time for which the event loop was blocked. */
const openMeter = () => {
  let longestMs = 0;
  let lastMs = performance.now();
  const look = () => {
    const nowMs = performance.now();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
  };
  const timer = setInterval(look, 1);
  return {
    end: (): number => {
      look();
      clearInterval(timer);
      return longestMs;
    },
  };
};
/** Measures the same in an idle process at the same time: pauses that the machine causes. */
const CONTROL = `let longest = 0, last = performance.now(); setInterval(() => { const now = performance.now(); longest = Math.max(longest, now - last); last = now; }, 1); process.stdin.on("data", () => { process.stdout.write(String(longest)); process.exit(); });`;
const openControl = () => {
  const child = Bun.spawn([process.execPath, "-e", CONTROL], { stdin: "pipe", stdout: "pipe" });
  return async (): Promise<number> => {
    await child.stdin.write("end");
    await child.stdin.end();
    return Number(await new Response(child.stdout).text());
  };
};

const deliver = async (provider: "openai" | "gemini", modelId: string) => {
  using upstream = await openProvider(provider);
  expect(upstream.bytes).toBeGreaterThan(30_000_000);
  const harness = await openHarness({
    ...{ providers: [provider], factor: 1, catalogue: CATALOGUE },
    env: { [`${providerSetting(provider)}__BASE_URL`]: upstream.url },
  });
  const model = CATALOGUE.model(modelId);
  if (!model) throw new Error(`there is no ${modelId}`);
  // Only the second generation is measured, because the first one loads modules.
  const first = await harness.submit(modelId, leastInput(model, `${harness.simulator.url}/samples`));
  await harness.until(first.id);
  const [meter, control] = [openMeter(), openControl()];
  const { id } = await harness.submit(modelId, leastInput(model, `${harness.simulator.url}/samples`));
  const ended = await harness.until(id);
  const [longestMs, controlMs] = [meter.end(), await control()];
  const seq = (await harness.store.findGeneration(id))?.seq ?? 0;
  const said = JSON.stringify(await harness.store.eventsOf(seq)).length;
  const file = await fetch(ended.output?.urls[0] ?? "");
  const fileBytes = (await file.bytes()).length;
  await harness.close();
  return { ended, longestMs, controlMs, said, fileBytes };
};

test("delivers a base64 picture from a JSON response of 30 MB without blocking the event loop", async () => {
  const { ended, longestMs, controlMs, said, fileBytes } = await deliver("openai", "gpt-image-2");
  expect(ended).toMatchObject({ status: "succeeded", output: { width: 1024, height: 1024 } });
  expect(fileBytes).toBeGreaterThan(22 * 1024 * 1024);
  // The generation events contain the address of the file, not its bytes.
  expect(said).toBeLessThan(20_000);
  expect(longestMs).toBeLessThan(controlMs + LONGEST_MS);
});

test("delivers a base64 picture with escaped slashes from a Gemini response of 30 MB without blocking the event loop", async () => {
  const { ended, longestMs, controlMs } = await deliver("gemini", "gemini-3-pro-image");
  expect(ended).toMatchObject({ status: "succeeded", output: { width: 1024, height: 1024 } });
  expect(longestMs).toBeLessThan(controlMs + LONGEST_MS);
});
