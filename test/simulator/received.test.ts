// Tests how simulated providers measure the inputs that they receive, in a sandbox that a hostile file may crash.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { makeClip } from "../../src/simulator/clip.ts";
import { BOMBS, piecesOf } from "../bombs/all.ts";
import { sizeOf, slice } from "../bombs/bytes.ts";
import { eventually } from "../eventually.ts";
import { type Bed, openBed } from "./fixture.ts";

const MIB = 1024 * 1024;
/** A clip that is followed by 60 MiB of padding. */
const padding = Buffer.alloc(60 * MIB);
padding.writeUInt32BE(padding.length);
padding.write("free", 4);
const large = Buffer.concat([await makeClip({ width: 64, height: 36 }, 4000, false, 1), padding]);
const MODEL = "maker/model/reference-to-video";

let bed: Bed;
let bombs: ReturnType<typeof Bun.serve>;
beforeAll(async () => {
  bed = await openBed();
  bombs = Bun.serve({
    port: 0,
    fetch: (request) => {
      const name = decodeURIComponent(new URL(request.url).pathname.slice(1));
      if (name === "large.mp4") return new Response(large);
      const index = BOMBS.findIndex((bomb) => bomb.name === name);
      if (index === -1) return new Response("no such bomb", { status: 404 });
      const pieces = piecesOf({ index, bytes: MIB, isCut: false, hasRanges: false });
      return new Response(slice(pieces, 0, sizeOf(pieces)));
    },
  });
});
afterAll(async () => {
  await bombs.stop(true);
  await bed.simulator.stop();
});

/** The inputs that the newest job reports as received. */
const receivedOf = async (input: object) => {
  await bed.fal(MODEL, { prompt: "p", duration: 4, ...input });
  return eventually(() => bed.simulator.jobs().at(-1)?.received ?? undefined);
};

test("measures a clip and a sound like a provider, and gives a picture no length", async () => {
  const at = (name: string) => `${bed.simulator.url}/samples/${name}`;
  expect(
    await receivedOf({
      video_url: at("clip-6s.mp4?width=640&height=360"),
      audio_url: at("voice-3s.mp3"),
      image_url: at("picture.png"),
    }),
  ).toMatchObject([{ kind: "video", ms: 6000 }, { kind: "audio" }]);
});

test("measures a clip up to the maximum input size", async () => {
  expect(await receivedOf({ video_url: `${bombs.url}large.mp4` })).toMatchObject([
    { kind: "video", ms: 4000, bytes: large.length },
  ]);
});

test.each(["mp4, tracks", "adts, frames of nothing", "matroska, blocks of one byte"])(
  "does not measure %s, which exceeds the reader's limits, and does not wait for it",
  async (name) => {
    const bomb = `${bombs.url}${encodeURIComponent(name)}`;
    expect((await fetch(bomb, { method: "HEAD" })).status).toBe(200);
    expect(await receivedOf({ video_url: bomb })).toEqual([]);
  },
  60_000,
);
