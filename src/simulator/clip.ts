// Generates MP4 clips of an exact size and length, with optional sound.
import {
  BufferTarget,
  EncodedAudioPacketSource,
  EncodedPacket,
  EncodedVideoPacketSource,
  MkvOutputFormat,
  MovOutputFormat,
  Mp4OutputFormat,
  Output,
  WebMOutputFormat,
} from "mediabunny";
import { type Colour, frameWriter } from "./h264.ts";
import { hue } from "./picture.ts";
import type { Size } from "./resolutions.ts";
import { AAC, AAC_FRAME_S, aacFrame } from "./sound.ts";

const FRAMES_PER_S = 24;
const FRAMES_BETWEEN_BREATHS = 120;

export type ClipContainer = "mp4" | "mov" | "mkv" | "webm";
const formatOf = (container: ClipContainer) => {
  if (container === "mkv") return new MkvOutputFormat();
  if (container === "webm") return new WebMOutputFormat();
  const options = { fastStart: "in-memory" } as const;
  return container === "mov" ? new MovOutputFormat(options) : new Mp4OutputFormat(options);
};

const bytesOf = ({ buffer }: BufferTarget): Uint8Array => {
  if (buffer === null) throw new Error("the clip was finalized without bytes");
  return new Uint8Array(buffer);
};

/** Creates a silent clip that shows one encoded frame for the given time. */
export const muxClip = async (
  container: ClipContainer,
  codec: "vp8" | "vp9",
  decoderConfig: VideoDecoderConfig,
  ms: number,
  picture: Uint8Array,
): Promise<Uint8Array> => {
  const target = new BufferTarget();
  const output = new Output({ format: formatOf(container), target });
  const video = new EncodedVideoPacketSource(codec);
  output.addVideoTrack(video);
  await output.start();
  const frames = Math.max(1, Math.ceil((ms * FRAMES_PER_S) / 1000 - 1e-9));
  for (let n = 0; n < frames; n++) {
    const startS = n / FRAMES_PER_S;
    const packet = new EncodedPacket(picture, "key", startS, Math.min(1 / FRAMES_PER_S, ms / 1000 - startS));
    await video.add(packet, n === 0 ? { decoderConfig } : undefined);
  }
  await output.finalize();
  return bytesOf(target);
};

/** BT.601 with limited range. */
const asVideoColour = ([r, g, b]: [number, number, number]): Colour => ({
  y: Math.round(16 + 0.257 * r + 0.504 * g + 0.098 * b),
  cb: Math.round(128 - 0.148 * r - 0.291 * g + 0.439 * b),
  cr: Math.round(128 + 0.439 * r - 0.368 * g - 0.071 * b),
});

/**
 * Creates a clip whose colour changes every second. The last frame and the last audio packet are shortened, so that both tracks
 * end exactly at `ms`. Five seconds of 720p take about 20 KB and a few milliseconds.
 */
export const makeClip = async (
  size: Size,
  ms: number,
  sound: boolean,
  seed: number,
  container: ClipContainer = "mp4",
): Promise<Uint8Array> => {
  const target = new BufferTarget();
  const output = new Output({ format: formatOf(container), target });
  const video = new EncodedVideoPacketSource("avc");
  output.addVideoTrack(video);
  const audio = sound ? new EncodedAudioPacketSource("aac") : undefined;
  if (audio) output.addAudioTrack(audio);
  await output.start();

  const writer = frameWriter(size.width, size.height);
  const lengthS = ms / 1000;
  const frames = Math.max(1, Math.ceil((ms * FRAMES_PER_S) / 1000 - 1e-9));
  const decoderConfig = {
    codec: writer.codec,
    codedWidth: size.width,
    codedHeight: size.height,
    description: writer.description,
  };
  for (let n = 0; n < frames; n++) {
    // A long clip yields to the event loop, so that other requests are served in between.
    if (n % FRAMES_BETWEEN_BREATHS === FRAMES_BETWEEN_BREATHS - 1) await new Promise((resume) => setImmediate(resume));
    const startS = n / FRAMES_PER_S;
    const ofGroup = n % FRAMES_PER_S;
    const frame = ofGroup === 0 ? writer.keyFrame(asVideoColour(hue(seed + n / FRAMES_PER_S))) : writer.still(ofGroup);
    const durationS = Math.min(1 / FRAMES_PER_S, lengthS - startS);
    await video.add(
      new EncodedPacket(frame, ofGroup === 0 ? "key" : "delta", startS, durationS),
      n === 0 ? { decoderConfig } : undefined,
    );
  }
  if (audio) {
    const pieces = Math.max(1, Math.ceil(lengthS / AAC_FRAME_S - 1e-9));
    const tone = aacFrame(seed);
    for (let n = 0; n < pieces; n++) {
      const startS = n * AAC_FRAME_S;
      const durationS = Math.min(AAC_FRAME_S, lengthS - startS);
      await audio.add(new EncodedPacket(tone, "key", startS, durationS), n === 0 ? { decoderConfig: AAC } : undefined);
    }
  }
  await output.finalize();
  return bytesOf(target);
};
