// Orders and their deliveries: some differ from the order in one checked property, some only within the limits.
import type { JsonObject } from "../../src/domain/types.ts";
import type { Model } from "./catalogue.ts";

/** `word`: the simulator fault; `null`: none. `what`: the property of the expected mismatch. */
export type Order = { model: Model; input: JsonObject; word: string | null; what: string | null };
/** A random whole number of the range, both ends included. */
export type Dice = (from: number, to: number) => number;

type Draw = (dice: Dice, samples: string) => Order;
const pick = <T>(dice: Dice, all: readonly T[]): T => all[dice(0, all.length - 1)] as T;
const order = (model: Model, what: string | null, word: string | null, input: JsonObject): Order => ({
  model,
  what,
  word,
  input,
});
const share = (dice: Dice, from: number, to: number): string => (dice(from * 100, to * 100) / 100).toFixed(2);

const clip = (dice: Dice, more: JsonObject = {}): JsonObject => ({
  ...{ resolution: "480p", duration: dice(4, 6) },
  ...more,
});
const SHAPES = ["16:9", "9:16", "4:3"] as const;
const frame = (samples: string) => ({ image_url: `${samples}/picture.png` });

/** Faults that leave no usable file. */
const NOTHING = ["no-file", "empty", "html", "truncated", "wrong-kind"] as const;

export const WRONG: Readonly<Record<string, Draw>> = {
  "a clip that is too short": (dice) => order("clip", "length", `short=${share(dice, 0.1, 0.9)}`, clip(dice)),
  "a long clip that is too short": (dice) =>
    order("clip", "length", `short=${share(dice, 0.5, 0.95)}`, { resolution: "480p", duration: 10 }),
  "a clip of a lower resolution class": (dice) =>
    order("clip", "size", `small=${share(dice, 0.4, 0.85)}`, { resolution: pick(dice, ["480p", "720p"]), duration: 1 }),
  "a clip of another aspect ratio": (dice) =>
    order("clip", "aspect", "wrong-aspect", clip(dice, { aspect_ratio: pick(dice, SHAPES), duration: 1 })),
  "a wide clip for a square": (dice) => order("clip", "aspect", "wrong-aspect", clip(dice, { aspect_ratio: "1:1", duration: 1 })),
  "a silent clip": (dice) => order("clip", "sound", "silent", clip(dice, { audio: true, duration: dice(1, 3) })),
  "no clip at all": (dice) => order("clip", "files", pick(dice, NOTHING), clip(dice, { duration: 2 })),
  "an edit that is shorter than its clip": (dice, samples) =>
    order("edit", "length", `short=${share(dice, 0.2, 0.9)}`, { video_url: `${samples}/clip-6s.mp4` }),
  "a lip sync that is shorter than the voice": (dice, samples) =>
    order("lips", "length", `short=${share(dice, 0.2, 0.85)}`, { ...frame(samples), audio_url: `${samples}/voice.mp3` }),
  "a picture below its size": (dice) =>
    order("picture", "size", `small=${share(dice, 0.3, 0.9)}`, { resolution: pick(dice, ["1K", "1K", "2K"]) }),
  "a picture of another shape": (dice) =>
    order("picture", "aspect", "wrong-aspect", { aspect_ratio: pick(dice, ["16:9", "9:16"]) }),
  "a picture of another format": (dice) =>
    order("picture", "format", pick(dice, ["gif", "bmp"]), { output_format: pick(dice, ["jpeg", "webp"]) }),
  "no picture": (dice) => order("picture", "files", pick(dice, NOTHING), {}),
  "an incomplete set": (dice) => order("set", "files", `fewer=${dice(1, 2)}`, {}),
  "music that is too short": (dice) => order("music", "length", `short=${share(dice, 0.1, 0.9)}`, { duration: dice(4, 20) }),
  "no speech": (dice) => order("speech", "files", pick(dice, ["no-file", "empty", "html", "wrong-kind"]), {}),
};

export const RIGHT: Readonly<Record<string, Draw>> = {
  "a clip as ordered": (dice) =>
    order("clip", null, null, {
      ...{ resolution: pick(dice, ["480p", "480p", "720p"]), duration: dice(1, 4), audio: dice(0, 1) === 1 },
      aspect_ratio: pick(dice, [...SHAPES, "1:1"]),
    }),
  "a clip with only a duration": (dice) => order("clip", null, null, { duration: dice(1, 3) }),
  "a longer clip": (dice) => order("clip", null, `long=${share(dice, 1.01, 1.4)}`, clip(dice, { duration: dice(1, 4) })),
  "a clip a little shorter": (dice) => order("clip", null, `short=${share(dice, 0.97, 0.99)}`, clip(dice)),
  "a clip a little smaller": (dice) => order("clip", null, `small=${share(dice, 0.96, 0.99)}`, clip(dice, { duration: 1 })),
  "a clip in the aspect ratio of its first frame": (dice, samples) =>
    order("clip", null, "wrong-aspect", clip(dice, { ...frame(samples), aspect_ratio: "16:9", duration: 1 })),
  "a clip with an adaptive aspect ratio": (dice) =>
    order("clip", null, "wrong-aspect", clip(dice, { aspect_ratio: "adaptive", duration: 1 })),
  "a clip without a requested aspect ratio": (dice) => order("clip", null, "wrong-aspect", clip(dice, { duration: 1 })),
  "a silent clip without ordered sound": (dice) => order("clip", null, "silent", clip(dice, { duration: 1 })),
  "an edit as long as its clip": (_, samples) => order("edit", null, null, { video_url: `${samples}/clip-6s.mp4` }),
  "a lip sync as long as the voice": (_, samples) =>
    order("lips", null, null, { ...frame(samples), audio_url: `${samples}/voice.mp3` }),
  "a picture of its size": (dice) =>
    order("picture", null, null, {
      resolution: pick(dice, ["1K", "1K", "1K", "2K"]),
      aspect_ratio: pick(dice, ["1:1", "16:9", "9:16"]),
    }),
  "a picture without a requested aspect ratio": () => order("picture", null, "wrong-aspect", {}),
  "a picture in its format": (dice) => order("picture", null, null, { output_format: pick(dice, ["png", "jpeg", "webp"]) }),
  "a pair": () => order("pair", null, null, {}),
  "one of a pair": () => order("pair", null, "fewer", {}),
  "a whole set": () => order("set", null, null, {}),
  "music as long as ordered": (dice) => order("music", null, null, { duration: dice(1, 20) }),
  "music that is longer than ordered": (dice) =>
    order("music", null, `long=${share(dice, 1.01, 1.5)}`, { duration: dice(1, 10) }),
  "speech of any length": (dice) => order("speech", null, `short=${share(dice, 0.3, 0.9)}`, {}),
};

/** Draws one order; all kinds occur equally often. */
export const drawOrder = (
  kinds: Readonly<Record<string, Draw>>,
  at: number,
  dice: Dice,
  samples: string,
): { kind: string } & Order => {
  const names = Object.keys(kinds);
  const kind = names[at % names.length] ?? "";
  const draw = kinds[kind];
  if (!draw) throw new Error("there is no such kind");
  return { kind, ...draw(dice, samples) };
};
