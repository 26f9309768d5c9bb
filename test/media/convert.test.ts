// Conversion of results to other formats: lossless, or the original is kept.
import { expect, test } from "bun:test";
import { ALL_FORMATS, BufferSource, EncodedPacketSink, Input } from "mediabunny";
import type { MediaKind } from "../../src/domain/types.ts";
import { oddFile } from "../../src/simulator/prebuilt-files.ts";
import { OTHER_KINDS } from "../../src/simulator/rare-formats.ts";
import { honest, inScene, type Scene } from "./fixture.ts";
import { bmp, mp4 } from "./made.ts";

const ID = "gen_1abc";
const sha256 = (bytes: Uint8Array) => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");

/** Collects a file and checks its record against the stored bytes. */
const bring = async (scene: Scene, kind: MediaKind, bytes: Uint8Array): Promise<{ mime: string; kept: Uint8Array }> => {
  const what = { generationId: ID, attempt: 1, kind, provider: "fal", results: [{ url: scene.at("/r", honest(bytes)) }] };
  const outcome = await scene.media.collect(what, AbortSignal.timeout(20_000));
  const [file] = outcome.kind === "collected" ? outcome.output.files : [];
  const kept = await (await scene.files.open(ID, 1))?.bytes();
  if (!file || !kept) throw new Error(`nothing was kept: ${JSON.stringify(outcome)}`);
  expect([file.sha256, file.bytes]).toEqual([sha256(kept), kept.length]);
  // No intermediate file is left.
  expect(await scene.leftovers()).toEqual([]);
  return { mime: file.mime, kept };
};

type Track = { codec: string | null; packets: { at: number; hash: string }[] };
/** Every coded packet of a clip. */
const tracksOf = async (bytes: Uint8Array): Promise<Track[]> => {
  const input = new Input({ source: new BufferSource(bytes), formats: ALL_FORMATS });
  const tracks: Track[] = [];
  for (const track of [await input.getPrimaryVideoTrack(), await input.getPrimaryAudioTrack()]) {
    if (!track) continue;
    const packets: Track["packets"] = [];
    for await (const { timestamp, data } of new EncodedPacketSink(track).packets())
      packets.push({ at: timestamp, hash: sha256(data) });
    tracks.push({ codec: track.codec, packets });
  }
  return tracks;
};

for (const kind of ["mov", "mkv", "webm"] as const)
  test(`remuxes ${kind} to MP4 with every packet of picture and sound, in the same order and at the same time`, async () => {
    const bytes = await OTHER_KINDS[kind].make({ width: 640, height: 360, ms: 4000, sound: true }, 3);
    await inScene({}, async (scene) => {
      const { mime, kept } = await bring(scene, "video", bytes);
      expect(mime).toBe("video/mp4");
      expect(Buffer.from(kept.subarray(4, 8)).toString("latin1")).toBe("ftyp");
      const [before, after] = [await tracksOf(bytes), await tracksOf(kept)];
      expect(after.map(({ codec }) => codec)).toEqual(before.map(({ codec }) => codec));
      for (const [n, track] of before.entries()) {
        const shiftS = (before[0]?.packets[0]?.at ?? 0) - (after[0]?.packets[0]?.at ?? 0);
        expect(after[n]?.packets.map(({ hash }) => hash)).toEqual(track.packets.map(({ hash }) => hash));
        for (const [at, packet] of track.packets.entries())
          expect(Math.abs(packet.at - shiftS - (after[n]?.packets[at]?.at ?? 0))).toBeLessThan(0.002);
      }
    });
  });

/** Pixels, packed by one encoder so that two pictures can be compared. */
const pixelsOf = (bytes: Uint8Array) => new Bun.Image(bytes).png().bytes();

const STILLS: [what: string, bytes: () => Promise<Uint8Array> | Uint8Array][] = [
  ["bitmap", () => OTHER_KINDS.bmp.make({ width: 301, height: 211, ms: 0, sound: false }, 2)],
  ["GIF", () => OTHER_KINDS.gif.make({ width: 301, height: 211, ms: 0, sound: false }, 2)],
];
for (const [what, make] of STILLS)
  test(`converts a ${what} to a PNG with the same pixels, and keeps the original above the pixel limit`, async () => {
    const bytes = await make();
    await inScene({}, async (scene) => {
      const { mime, kept } = await bring(scene, "image", bytes);
      expect(mime).toBe("image/png");
      expect(await pixelsOf(kept)).toEqual(await pixelsOf(bytes));
    });
    await inScene({ convertPixels: 301 * 211 - 1 }, async (scene) => {
      const { mime, kept } = await bring(scene, "image", bytes);
      expect(mime).toBe(what === "GIF" ? "image/gif" : "image/bmp");
      expect(kept).toEqual(new Uint8Array(bytes));
    });
  });

test("converts an AVIF to a PNG with its colour, and keeps the original above a quarter of the pixel limit", async () => {
  await inScene({}, async (scene) => {
    const { mime, kept } = await bring(scene, "image", oddFile("avif"));
    expect(mime).toBe("image/png");
    const bitmap = Buffer.from(bmp(64, 48));
    for (let at = 54; at < bitmap.length; at += 3) bitmap.set([128, 128, 0], at);
    expect(await pixelsOf(kept)).toEqual(await pixelsOf(bitmap));
  });
  await inScene({ convertPixels: 64 * 48 * 4 - 1 }, async (scene) => {
    expect((await bring(scene, "image", oddFile("avif"))).mime).toBe("image/avif");
  });
});

/** AVIFs that would lose data as an 8-bit PNG: their properties are changed in place. */
const LOSING: [what: string, change: (file: Buffer) => void][] = [
  ["10 bits per channel", (file) => file.writeUInt8((file[file.indexOf("av1C") + 6] ?? 0) | 0x40, file.indexOf("av1C") + 6)],
  ["a high dynamic range", (file) => file.writeUInt16BE(16, file.indexOf("nclx") + 6)],
];
for (const [what, change] of LOSING)
  test(`keeps an AVIF with ${what} unchanged`, async () => {
    const file = Buffer.from(oddFile("avif"));
    if (file.indexOf("nclx") < 0) throw new Error("the sample has no nclx box");
    change(file);
    await inScene({}, async (scene) => {
      const { mime, kept } = await bring(scene, "image", file);
      expect(mime).toBe("image/avif");
      expect(kept).toEqual(new Uint8Array(file));
    });
  });

test("keeps VP8 clips, animated GIFs and MP4 clips unchanged", async () => {
  for (const [kind, bytes, type] of [
    ["video", oddFile("vp8"), "video/webm"],
    ["image", oddFile("movingGif"), "image/gif"],
    ["video", await mp4({ seconds: 1 }), "video/mp4"],
  ] as const)
    await inScene({}, async (scene) => {
      const { mime, kept } = await bring(scene, kind, bytes);
      expect(mime).toBe(type);
      expect(kept).toEqual(new Uint8Array(bytes));
    });
});
