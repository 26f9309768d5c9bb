// Stored files for providers without links, over a crash: an upload is repeated, and nothing is submitted twice.
import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { testClock } from "../clock.ts";
import { type Harness, openHarness } from "../harness.ts";
import { attemptsOf, catalogueOn, inputsOfLastJob, modelOf, WITHOUT_LINKS } from "./provider-files-fixture.ts";
import { sampleBytes, uploaded } from "./upload-requests.ts";

setDefaultTimeout(60_000);

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  dropDirs();
});

const PICTURE = "picture.png?width=512&height=512";

test("a crash between the upload and the submission leads to a second upload and one submission", async () => {
  const [dir, clock] = [freshDir(), testClock(100)];
  const simulator = await createSimulator({ clock, kindOf: () => "image" });
  closing.push(() => simulator.stop());
  const open = (): Promise<Harness> =>
    openHarness({ dir, clock, simulator, catalogue: catalogueOn("replicate"), providers: ["replicate"], env: WITHOUT_LINKS });
  // The provider has stored the file; the service learns of it only after the crash.
  const slow = simulator.script({ fault: "upload-slow", ms: 86_400_000, times: 1 });
  const first = await open();
  const file = await uploaded(first, await sampleBytes(first, PICTURE));
  const { key } = first.tenant;
  const made = await first.submit(modelOf("replicate"), { prompt: "in oil", image_url: file.id });
  await first.eventually(() => slow.struck > 0, "the upload");
  expect((await attemptsOf(first, made.id)).map(({ state, request }) => [state, request])).toEqual([["intent", null]]);
  await first.crash();
  expect(simulator.submissions()).toEqual([]);

  const second = await open();
  closing.push(() => second.close());
  expect(await second.until(made.id, undefined, key)).toMatchObject({
    status: "succeeded",
    attempts: 1,
    cost_usd: made.quoted_usd,
  });
  expect(simulator.submissions()).toHaveLength(1);
  expect(await inputsOfLastJob(second)).toEqual([{ bytes: file.bytes, sha256: file.sha256 }]);
  const uploads = second.lines.filter(({ event, fields }) => event === "provider call completed" && fields.status === 201);
  expect(uploads.length).toBeGreaterThanOrEqual(2);
});

test("a submission that is confirmed by its key is repeated with the same bytes", async () => {
  const harness = await openHarness({ catalogue: catalogueOn("pixverse"), providers: ["pixverse"], env: WITHOUT_LINKS });
  closing.push(() => harness.close());
  harness.simulator.script({ fault: "drop-after", times: 1 });
  const file = await uploaded(harness, await sampleBytes(harness, PICTURE));
  const made = await harness.submit(modelOf("pixverse"), { prompt: "it runs", image_url: file.id });
  expect(await harness.until(made.id)).toMatchObject({ status: "succeeded", attempts: 1 });
  expect(harness.simulator.jobs()).toHaveLength(1);
  const sent = harness.simulator.submissions();
  expect(new Set(sent.map(({ body_sha256 }) => body_sha256)).size).toBe(1);
  // The hash of the wire is that of the stored request, because an upload leaves only its id there.
  const [attempt] = await attemptsOf(harness, made.id);
  const { body } = JSON.parse(attempt?.request ?? "{}") as { body?: unknown };
  expect(Bun.SHA256.hash(JSON.stringify(body), "hex")).toBe(sent[0]?.body_sha256 ?? "");
});

test("an attempt that has sent a file inside its request and lost the response is never sent again", async () => {
  const [dir, clock] = [freshDir(), testClock(100)];
  const simulator = await createSimulator({ clock, kindOf: () => "image" });
  closing.push(() => simulator.stop());
  const open = () =>
    openHarness({ dir, clock, simulator, catalogue: catalogueOn("openai"), providers: ["openai"], env: WITHOUT_LINKS });
  simulator.script({ fault: "hang-after" });
  const first = await open();
  const file = await uploaded(first, await sampleBytes(first, PICTURE));
  const { key } = first.tenant;
  const { id } = await first.submit(modelOf("openai"), { prompt: "in oil", image_url: file.id });
  await first.eventually(() => simulator.submissions().length > 0, "the submission");
  await first.crash();
  const second = await open();
  closing.push(() => second.close());
  const ended = await second.until(id, undefined, key);
  expect(ended).toMatchObject({ status: "failed", cost_usd: 0 });
  expect(simulator.submissions()).toHaveLength(1);
  expect(await inputsOfLastJob(second)).toEqual([{ bytes: file.bytes, sha256: file.sha256 }]);
});
