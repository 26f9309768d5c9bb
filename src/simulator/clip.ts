// Makes simulated clips: MP4 of exactly the size and length asked for, with a tone when sound is asked for.
import {
  BufferTarget,
  EncodedAudioPacketSource,
  EncodedPacket,
  EncodedVideoPacketSource,
  Mp4OutputFormat,
  Output,
} from "mediabunny";
import { type Colour, frameWriter } from "./h264.ts";
import { hue } from "./picture.ts";
import type { Size } from "./sizes.ts";
import { AAC, AAC_FRAME_S, aacFrame } from "./sound.ts";

const FRAMES_PER_S = 24;
const FRAMES_BETWEEN_BREATHS = 120;

/** BT.601, the range that video uses. */
const asVideoColour = ([r, g, b]: [number, number, number]): Colour => ({
  y: Math.round(16 + 0.257 * r + 0.504 * g + 0.098 * b),
  cb: Math.round(128 - 0.148 * r - 0.291 * g + 0.439 * b),
  cr: Math.round(128 + 0.439 * r - 0.368 * g - 0.071 * b),
});

/**
 * A clip whose colour changes every second. The last frame and the last piece of sound are cut to the length, so that both
 * tracks end exactly at `ms`. Five seconds of 720p take some 20 KB and a few milliseconds.
 */
export const makeClip = async (size: Size, ms: number, sound: boolean, seed: number): Promise<Uint8Array> => {
  const target = new BufferTarget();
  const output = new Output({ format: new Mp4OutputFormat({ fastStart: "in-memory" }), target });
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
    // A long clip takes a while: others are answered in between.
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
  if (target.buffer === null) throw new Error("the clip was finalized without bytes");
  return new Uint8Array(target.buffer);
};
