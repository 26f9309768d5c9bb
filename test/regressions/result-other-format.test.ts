// Results in another format than ordered are downloaded once and delivered; one bad file does not discard the good ones.
import { expect, test } from "bun:test";
import * as zlib from "node:zlib";
import type { MediaKind } from "../../src/domain/types.ts";
import { FAL, REPLICATE } from "../generation/catalogue.ts";
import { openScene } from "../generation/fixture.ts";
import { mp3, png } from "../media/made.ts";
import { openDelivery, whole } from "./delivery.ts";

/** Prompt markers that every provider of the simulator accepts, with the delivered format. */
const WORDS: readonly [words: string, kind: MediaKind, mime: string][] = [
  ["[sim:moving-gif] [sim:no-length]", "image", "image/gif"],
  ["[sim:svg] [sim:br]", "image", "image/svg+xml"],
  ["[sim:heic] [sim:wrong-type]", "image", "image/heic"],
  ["[sim:glb] [sim:misnamed-coding]", "image", "model/gltf-binary"],
  ["[sim:webm-vp8] [sim:gzip]", "video", "video/webm"],
  ["[sim:flac] [sim:zstd]", "audio", "audio/flac"],
  ["[sim:opus] [sim:no-length]", "audio", "audio/ogg"],
  ["[sim:m4a] [sim:wrong-type]", "audio", "audio/mp4"],
  ["[sim:aac] [sim:deflate]", "audio", "audio/aac"],
  ["[sim:sound-webm] [sim:slow-file=50]", "audio", "audio/mp4"],
];
for (const [words, kind, mime] of WORDS)
  test(`delivers a result of ${words} for an order of ${kind} as ${mime} after one download`, async () => {
    const scene = await openScene({ routes: [FAL], kind });
    const { id } = await scene.submit("life", { prompt: `a kite ${words}` });
    expect(await scene.until(id)).toMatchObject({ status: "succeeded", cost_usd: 0.2, attempts: 1 });
    const answered = await scene.request("GET", `/v1/generations/${id}/content`);
    expect([answered.status, answered.headers.get("content-type")]).toEqual([200, mime]);
    expect(scene.simulator.jobs()[0]?.fetches).toBe(1);
  });

test("delivers the good files of a result with one bad file, numbers them without a gap and logs the bad one", async () => {
  const pictures = await Promise.all([png(10, 10), png(20, 20), png(30, 30)]);
  // The first of the three files is always empty: the service downloads it three times, the others once.
  const answers = [pictures[1], pictures[2]];
  const served = await openDelivery(
    "image",
    (_, nth) => whole(nth <= 3 ? new Uint8Array(0) : (answers[nth - 4] ?? new Uint8Array(0))),
    { files: 3 },
  );
  const shown = await served.order();
  expect(shown).toMatchObject({ status: "succeeded", cost_usd: 0.2, attempts: 1, output: { width: 20, height: 20 } });
  expect(shown.output?.urls).toHaveLength(2);
  expect(served.fetched).toHaveLength(5);
  for (const [n, bytes] of answers.entries()) {
    const content = await fetch(`${served.url}/v1/generations/${shown.id}/content${n === 0 ? "" : `/${n + 1}`}`, {
      headers: { authorization: `Bearer ${served.tenant.key}` },
    });
    expect(await content.bytes()).toEqual(new Uint8Array(bytes ?? []));
  }
  const line = served.lines.find(({ event }) => event === "result incomplete");
  expect(line?.fields).toMatchObject({ generation_id: shown.id, count: 1, detail: "file 1: it is empty" });
  const record = await served.store.findGeneration(shown.id);
  expect(record?.output).toMatchObject({ announced: 3 });
});

test("does not charge for a truncated sound file and falls back to the next route", async () => {
  const packed = zlib.gzipSync(mp3(20));
  const delivery = await openDelivery("audio", () =>
    whole(packed.subarray(0, packed.length - 20), { "content-encoding": "gzip" }),
  );
  expect(await delivery.order()).toMatchObject({ status: "succeeded", cost_usd: 0.25, attempts: 2 });
  const scene = await openScene({ routes: [FAL, REPLICATE], kind: "audio" });
  scene.simulator.script({ fault: "file-cut", endpoint: "life/fal" });
  const { id } = await scene.begin();
  await scene.hurry(async () => (await scene.show(id)).status === "succeeded");
  expect(await scene.show(id)).toMatchObject({ cost_usd: 0.25, attempts: 2 });
});
