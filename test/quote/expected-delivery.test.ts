// Delivery check: limits derived from an order, and results on both sides of each limit.
import { describe, expect, test } from "bun:test";
import { builtInCatalogue } from "../../catalogue/load.ts";
import type { Model } from "../../catalogue/schema.ts";
import { describeMismatch, mismatchOf, type Ordered, oddOf } from "../../src/domain/delivery-check.ts";
import type { Output } from "../../src/domain/types.ts";
import { orderedOf } from "../../src/quote/expected-delivery.ts";
import { check, lengthsFor } from "./inputs.ts";

const CATALOGUE = builtInCatalogue();
const CLIP = "https://media.example/a.mp4";
const modelOf = (id: string): Model => {
  const model = CATALOGUE.model(id);
  if (!model) throw new Error(`there is no ${id}`);
  return model;
};
const orderOf = (model: Model | string, input: Record<string, unknown>, lengthsMs: number[] = [1]): Ordered => {
  const of = typeof model === "string" ? modelOf(model) : model;
  const checked = check(of, of.fields.prompt?.required ? { prompt: "a fox", ...input } : input);
  return orderedOf(of, checked, lengthsFor(checked, lengthsMs));
};

describe("orderedOf derives the limits of the delivery check", () => {
  const rows: [model: string, input: Record<string, unknown>, lengthsMs: number[], ordered: Ordered][] = [
    // The larger of 0.3 s and 4 %; 0.8 of 921,600 pixels and 0.95 of 720.
    ["vidmodel-2.0", {}, [], { kind: "video", ms: 5000, leastMs: 4700, mostMs: 6000, leastPixels: 737_280, leastSide: 684 }],
    [
      "vidmodel-2.0",
      { duration: 15, resolution: "4K", aspect_ratio: "21:9", audio: true },
      [],
      {
        ...{ kind: "video", ms: 15_000, leastMs: 14_400, mostMs: 16_500, leastPixels: 6_635_520, leastSide: 2052 },
        ...{ aspect: "21:9", aspectOff: 0.1, sound: true },
      },
    ],
    // A reference clip is billed, but does not lengthen the result; it determines the shape.
    [
      "vidmodel-2.0",
      { video_url: CLIP, resolution: "480p", aspect_ratio: "1:1" },
      [9000],
      { kind: "video", ms: 5000, leastMs: 4700, mostMs: 6000, leastPixels: 327_936, leastSide: 456 },
    ],
    // An edit has the measured length of its clip.
    [
      "vidmodel-2.5",
      { video_url: CLIP, resolution: "1080p" },
      [20_040],
      { kind: "video", ms: 20_040, leastMs: 19_238, mostMs: 22_044, leastPixels: 1_658_880, leastSide: 1026 },
    ],
    [
      "sim-lipsync-1",
      { image_url: CLIP, audio_url: CLIP, resolution: "480p" },
      [1, 7000],
      {
        ...{ kind: "video", ms: 7000, leastMs: 6700, mostMs: 8000, leastPixels: 327_936, leastSide: 456 },
      },
    ],
    // Lip sync of a clip ends with the shorter of clip and voice; this model is not billed by the second.
    ["kling-lipsync", { video_url: CLIP, audio_url: CLIP }, [8000, 5000], { kind: "video", ms: 5000, leastMs: 4700 }],
    [
      "sync-lipsync-2",
      { video_url: CLIP, audio_url: CLIP },
      [8000, 5000],
      {
        ...{ kind: "video", ms: 5000, leastMs: 4700, mostMs: 6000 },
      },
    ],
    // 768p counts as 720p, 540p as 480p; 2K and values below 480p are not video resolution classes.
    ["hailuo-2.3", {}, [], { kind: "video", ms: 6000, leastMs: 5700, leastPixels: 737_280, leastSide: 684 }],
    ["luma-ray-2", { resolution: "540p" }, [], { kind: "video", ms: 5000, leastMs: 4700, leastPixels: 327_936, leastSide: 456 }],
    ["minimax-h3", { resolution: "2K" }, [], { kind: "video", ms: 5000, leastMs: 4700, mostMs: 6000 }],
    ["pixverse-v6", { resolution: "360p" }, [], { kind: "video", ms: 5000, leastMs: 4700, mostMs: 6000 }],
    // 1K of an image is not a video resolution class, and the aspect ratio is compared only if it was requested.
    ["flux-2-pro", {}, [], { kind: "image" }],
    ["flux-2-pro", { aspect_ratio: "16:9" }, [], { kind: "image", aspect: "16:9", aspectOff: 0.1 }],
    ["gen-4-image", { resolution: "1080p" }, [], { kind: "image" }],
    ["sim-image-1", {}, [], { kind: "image", files: 2 }],
    ["ace-step", { duration: 20 }, [], { kind: "audio", ms: 20_000, leastMs: 19_200, mostMs: 22_000 }],
    ["chatterbox", { audio_url: CLIP }, [9000], { kind: "audio" }],
    ["flux-2-pro", { output_format: "jpeg" }, [], { kind: "image", format: "jpeg" }],
    ["eleven-v4", { output_format: "opus" }, [], { kind: "audio", format: "opus" }],
  ];
  test.each(rows)("for %s with input %p and lengths %p", (model, input, lengthsMs, ordered) => {
    expect(orderOf(model, input, lengthsMs.length > 0 ? lengthsMs : [1])).toEqual(ordered);
  });

  test("with the tolerances of the model file", () => {
    const model: Model = {
      ...modelOf("vidmodel-2.0"),
      delivers: {
        length: { short_s: 0.1, short_percent: 10 },
        resolution: { pixels: 0.5, side: 0.5 },
        size: [{ when: { resolution: "480p" }, pixels: 100 }, { side: 700 }],
        aspect: { percent: 20 },
        sound: false,
      },
    };
    expect(orderOf(model, { duration: 10, aspect_ratio: "16:9", audio: true })).toEqual({
      ...{ kind: "video", ms: 10_000, leastMs: 9000, mostMs: 11_000, leastPixels: 460_800, leastSide: 360 },
      ...{ ownSide: 700, aspect: "16:9", aspectOff: 0.2 },
    });
    expect(orderOf(model, { resolution: "480p" })).toMatchObject({ ownPixels: 100 });
    const off: Model = { ...modelOf("hailuo-2.3"), delivers: { length: false, resolution: false } };
    expect(orderOf(off, {})).toEqual({ kind: "video" });
  });

  test("in under 20 bytes for an image and under 160 bytes for a clip", () => {
    expect(JSON.stringify(orderOf("flux-2-pro", {})).length).toBeLessThan(20);
    const most = orderOf("vidmodel-2.0", { duration: 15, resolution: "4K", aspect_ratio: "21:9", audio: true });
    expect(JSON.stringify(most).length).toBeLessThan(160);
  });
});

const video = (more: Partial<Output> = {}, mime = "video/mp4"): Output => ({
  ...{ kind: "video", width: 1280, height: 720, durationMs: 5000, hasAudio: true },
  ...{ files: [{ n: 1, sha256: "", bytes: 1, mime }], ...more },
});
const ORDER = orderOf("vidmodel-2.0", { duration: 5, aspect_ratio: "16:9", audio: true });

describe("mismatchOf compares a result with its order", () => {
  const rows: [what: string, ordered: Ordered, output: Output, mismatch: string | null][] = [
    ["a clip as ordered", ORDER, video(), null],
    ["a JPEG as ordered", { kind: "image", format: "jpeg" }, video({ kind: "image" }, "image/jpeg"), null],
    [
      "a PNG instead of a JPEG",
      { kind: "image", format: "jpeg" },
      video({ kind: "image" }, "image/png"),
      "format: image/png came, jpeg (image/jpeg) ordered",
    ],
    ["Opus in Ogg as ordered", { kind: "audio", format: "opus" }, video({ kind: "audio" }, "audio/ogg"), null],
    [
      "an MP3 instead of FLAC",
      { kind: "audio", format: "flac" },
      video({ kind: "audio" }, "audio/mpeg"),
      "format: audio/mpeg came, flac (audio/flac) ordered",
    ],
    ["a format that a later release added", { kind: "image", format: "new" }, video({ kind: "image" }, "image/png"), null],
    ["a clip at the lower length limit", ORDER, video({ durationMs: 4700 }), null],
    [
      "a clip 1 ms below the length limit",
      ORDER,
      video({ durationMs: 4699 }),
      "length: 4.699 s came, 5 s, at least 4.7 s ordered",
    ],
    ["a longer clip", ORDER, video({ durationMs: 60_000 }), null],
    ["too few pixels with a sufficient shorter side", { ...ORDER, aspectOff: 9 }, video({ width: 700, height: 700 }), null],
    ["a too short side with sufficient pixels", { ...ORDER, aspectOff: 9 }, video({ width: 1500, height: 640 }), null],
    [
      "too few pixels and a too short side",
      ORDER,
      video({ width: 1200, height: 608 }),
      "size: 1200x608 came, at least 737280 pixels, or 684 on the shorter side ordered",
    ],
    ["a portrait clip of the ordered resolution", orderOf("vidmodel-2.0", {}), video({ width: 720, height: 1280 }), null],
    ["a clip 10 % too wide", ORDER, video({ width: 1408, height: 720 }), null],
    ["a clip more than 10 % too wide", ORDER, video({ width: 1410, height: 720 }), "aspect: 1410x720 came, 16:9 ordered"],
    ["a clip more than 10 % too narrow", ORDER, video({ width: 1280, height: 794 }), "aspect: 1280x794 came, 16:9 ordered"],
    ["a clip without sound", ORDER, video({ hasAudio: false }), "sound: no sound track came, with sound ordered"],
    ["an image for a clip", ORDER, { ...video({}, "image/png"), durationMs: 0 }, "kind: image/png came, video ordered"],
    ["an animated image for a clip", ORDER, video({}, "image/gif"), null],
    ["audio for a clip", ORDER, video({}, "audio/mp4"), "kind: audio/mp4 came, video ordered"],
    ["no file", ORDER, video({ files: [] }), "files: 0 came, 1 file ordered"],
    ["a clip with sound for audio", { kind: "audio" }, { ...video(), kind: "audio" }, null],
    [
      "a silent clip for audio",
      { kind: "audio" },
      { ...video({ hasAudio: false }), kind: "audio" },
      "kind: video/mp4 came, audio ordered",
    ],
    ["a clip for an image", { kind: "image" }, { ...video(), kind: "image" }, "kind: video/mp4 came, image ordered"],
    [
      "a file that cannot be measured",
      ORDER,
      { kind: "video", files: [{ n: 1, sha256: "", bytes: 1, mime: "video/x-msvideo" }] },
      null,
    ],
  ];
  test.each(rows)("for %s", (_, ordered, output, mismatch) => {
    const found = mismatchOf(ordered, output);
    expect(found ? describeMismatch(found) : null).toBe(mismatch);
  });

  test("for every file, and reports the number of the wrong file", () => {
    const files = [
      { n: 1, sha256: "", bytes: 1, mime: "image/png", width: 1024, height: 1024 },
      { n: 2, sha256: "", bytes: 1, mime: "image/png", width: 512, height: 512 },
    ];
    const output: Output = { kind: "image", files, width: 1024, height: 1024 };
    expect(mismatchOf({ kind: "image", files: 2 }, output)).toBeUndefined();
    const found = mismatchOf({ kind: "image", files: 2, ownPixels: 900_000 }, output);
    expect(found && describeMismatch(found)).toBe("file 2: size: 512x512 came, at least 900000 pixels ordered");
  });

  test("for fewer files than promised, which are a mismatch only if allFiles is set", () => {
    const output: Output = { kind: "image", files: [{ n: 1, sha256: "", bytes: 1, mime: "image/png" }] };
    expect(mismatchOf({ kind: "image", files: 2 }, output)).toBeUndefined();
    expect(oddOf({ kind: "image", files: 2 }, output)).toEqual({ fewer: { promised: 2, came: 1 } });
    expect(mismatchOf({ kind: "image", files: 2, allFiles: true }, output)).toMatchObject({ what: "files", came: "1" });
  });

  test("and oddOf reports a result longer than billed or without a measurable length", () => {
    expect(oddOf(ORDER, video({ durationMs: 6000 }))).toBeUndefined();
    expect(oddOf(ORDER, video({ durationMs: 6001 }))).toEqual({ longer: { orderedMs: 5000, cameMs: 6001 } });
    expect(oddOf(ORDER, { kind: "video", files: video().files })).toEqual({ unmeasured: true });
  });
});
