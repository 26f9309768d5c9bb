// Measures clips and sound from a few of their bytes: length, size of the picture, whether there is sound.
import { ADTS, CustomSource, FLAC, Input, Logging, LogLevel, MATROSKA, MP3, MP4, OGG, QTFF, WAVE, WEBM } from "mediabunny";
import type { MediaKind } from "../terms.ts";
import { siftFragments, vetIndex } from "./boxes.ts";
import { type ByteReader, Unreadable } from "./bytes.ts";
import type { Sniffed } from "./sniff.ts";

export type Clip = {
  kind: Exclude<MediaKind, "image">;
  ms: number;
  width?: number;
  height?: number;
  hasAudio: boolean;
};

/** Playlists are not among them: a playlist would make the library open URLs of its own. */
const FORMATS = [MP4, QTFF, MATROSKA, WEBM, MP3, WAVE, OGG, FLAC, ADTS];

// The library would print names out of the file to the console, where only our own lines belong.
Logging.level = LogLevel.Silent;

/** Sound no larger than this is read through; of larger sound the length is what its header says or its bit rate implies. */
const READ_THROUGH_BYTES = 256 * 1024;

/** Coded sound comes in whole frames (1,024 or 1,152 samples), so it ends up to this much after the picture. */
const PADDING_S = 0.1;

const soundLength = async (input: Input, sizeBytes: number): Promise<number> => {
  if (sizeBytes <= READ_THROUGH_BYTES) return input.computeDuration();
  return (await input.getDurationFromMetadata()) ?? input.computeDuration();
};

const measureInput = async (input: Input, sizeBytes: number): Promise<Clip> => {
  const video = await input.getPrimaryVideoTrack();
  const audio = await input.getPrimaryAudioTrack();
  if (!video && !audio) throw new Unreadable("it holds neither pictures nor sound");
  if (!video) return { kind: "audio", ms: Math.round((await soundLength(input, sizeBytes)) * 1000), hasAudio: true };
  const pictureS = await video.computeDuration();
  const soundS = (await audio?.computeDuration()) ?? 0;
  // A clip is as long as its picture, unless its sound goes on beyond the padding of the last frame.
  const seconds = soundS > pictureS + PADDING_S ? soundS : pictureS;
  const [width, height] = [await video.getDisplayWidth(), await video.getDisplayHeight()];
  return { kind: "video", ms: Math.round(seconds * 1000), width, height, hasAudio: audio !== null };
};

/**
 * Measures a clip or sound. Lengths in ms as the tracks have them; width and height as displayed.
 * @throws Unreadable, also when the signal ends it.
 */
export const measureClip = async (file: ByteReader, sniffed: Sniffed, signal: AbortSignal): Promise<Clip> => {
  let fault: unknown;
  if (sniffed.container === "movie") await vetIndex(file);
  const sifted = sniffed.container === "movie" ? siftFragments(file) : file;
  const source = new CustomSource({
    getSize: () => sifted.sizeBytes(),
    read: async (start, end) => {
      try {
        return await sifted.read(start, end);
      } catch (error) {
        fault ??= error;
        throw error;
      }
    },
    // Errors of reads that nobody waits for any more would otherwise end the process.
    handleUnhandledError: () => {},
  });
  const input = new Input({ source, formats: FORMATS });
  let stop = () => {};
  const ended = new Promise<never>((_, reject) => {
    stop = () => reject(new Unreadable("it took too long to measure"));
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    const clip = await Promise.race([measureInput(input, await sifted.sizeBytes()), ended]);
    const { ms, width = 1, height = 1 } = clip;
    if (!(Number.isSafeInteger(ms) && ms > 0 && width > 0 && height > 0)) throw new Unreadable("its length cannot be measured");
    return clip;
  } catch (error) {
    // Storage that refuses is our own trouble, not the file's: it goes on as it is.
    if (error instanceof Unreadable) throw error;
    if (fault !== undefined) throw fault;
    throw new Unreadable("it is not a clip or sound that opens");
  } finally {
    signal.removeEventListener("abort", stop);
    input.dispose();
  }
};
