// Orders with a two-faced link: every way in which a file's duration is billed, with files of several durations and formats.
import { type ClipContainer, makeClip } from "../../src/simulator/clip.ts";
import { chance } from "../../src/simulator/fault-script.ts";
import { makeWav } from "../../src/simulator/sound.ts";
import { png } from "../media/made.ts";
import type { Faces } from "./faces.ts";

export type Roll = { whole: (from: number, to: number) => number; pick: <T>(from: readonly T[]) => T };
export const rollOf = (seed: number): Roll => {
  const roll = chance(seed);
  const whole = (from: number, to: number) => from + Math.floor(roll() * (to - from + 1));
  return {
    whole,
    pick: (from) => {
      const one = from[whole(0, from.length - 1)];
      if (one === undefined) throw new Error("nothing to pick from");
      return one;
    },
  };
};

/** Durations that differ by less than a frame, by a little more and by far. */
export const LENGTHS_MS: readonly number[] = [4000, 4030, 4200, 6000, 12_000, 24_000];
/** The duration of one frame of these files. */
export const FRAME_MS = 42;

const SIZE = { width: 64, height: 36 };
const CONTAINERS: readonly ClipContainer[] = ["mp4", "mov", "mkv"];
const MIMES: Partial<Record<ClipContainer, string>> = { mov: "video/quicktime", mkv: "video/x-matroska" };

export type MediaFile = { bytes: Uint8Array; mime: string };
const made = new Map<string, Promise<MediaFile>>();
const once = (name: string, make: () => Promise<MediaFile>): Promise<MediaFile> => {
  const known = made.get(name) ?? make();
  made.set(name, known);
  return known;
};
const clip = (ms: number, container: ClipContainer): Promise<MediaFile> =>
  once(`${container} ${ms}`, async () => ({
    bytes: await makeClip(SIZE, ms, ms % 4000 === 0, ms, container),
    mime: MIMES[container] ?? "video/mp4",
  }));
const sound = (ms: number): Promise<MediaFile> =>
  once(`sound ${ms}`, async () => ({ bytes: makeWav(ms, ms), mime: "audio/wav" }));

/** A kind of order: its two-faced link, and the received media that is billed. */
export type Order = {
  name: string;
  kind: "video" | "audio";
  /** Duration of other billed media, ms. */
  besidesMs: number;
  file: (ms: number, roll: Roll) => Promise<MediaFile>;
  body: (faced: string, prompt: string, faces: Faces) => Promise<object>;
};

const video = { kind: "video", file: (ms: number, roll: Roll) => clip(ms, roll.pick(CONTAINERS)) } as const;
const BESIDES_MS = 4000;
export const ORDERS: readonly Order[] = [
  {
    ...{ name: "an edit of a clip", ...video, besidesMs: 0 },
    body: async (faced, prompt) => ({ model: "vidmodel-2.5", input: { prompt, resolution: "480p", video_url: faced } }),
  },
  {
    ...{ name: "a clip after another", ...video, besidesMs: BESIDES_MS },
    body: async (faced, prompt, faces) => {
      const plain = faces.at(await clip(BESIDES_MS, "mp4"));
      return { model: "vidmodel-2.5", input: { prompt, resolution: "480p", duration: 4, video_urls: [plain, faced] } };
    },
  },
  {
    ...{ name: "a lip-sync of a clip", ...video, besidesMs: 0 },
    body: async (faced, _, faces) => ({
      model: "sync-lipsync-2",
      input: { video_url: faced, audio_url: faces.at(await sound(BESIDES_MS)) },
    }),
  },
  {
    ...{ name: "a talking picture with a sound", kind: "audio", besidesMs: 0, file: sound },
    body: async (faced, _, faces) => ({
      model: "veed-fabric-1.0",
      input: { image_url: faces.at({ bytes: await png(640, 480), mime: "image/png" }), audio_url: faced },
    }),
  },
];
