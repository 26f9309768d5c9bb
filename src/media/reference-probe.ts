// Measures a file with third-party libraries, for the simulated providers.
import { ADTS, CustomSource, FLAC, Input, MATROSKA, MP3, MP4, OGG, QTFF, WAVE, WEBM } from "mediabunny";
import { type ByteReader, Unreadable } from "./byte-source.ts";

/** Sides in px; `ms` is the duration of a clip or sound. */
export type SecondReading = { width?: number; height?: number; ms?: number; hasAudio?: boolean };

const FORMATS = [MP4, QTFF, MATROSKA, WEBM, MP3, WAVE, OGG, FLAC, ADTS];

const pictureIn = async (file: ByteReader): Promise<SecondReading | undefined> => {
  const bytes = await file.read(0, await file.sizeBytes());
  const shape = await new Bun.Image(bytes).metadata().catch(() => undefined);
  return shape && shape.width > 0 && shape.height > 0 ? { width: shape.width, height: shape.height } : undefined;
};

/** Reads range by range, because the memory of a child does not hold several copies of a large file. */
const clipIn = async (file: ByteReader): Promise<SecondReading | undefined> => {
  const source = new CustomSource({
    getSize: () => file.sizeBytes(),
    read: (start, end) => file.read(start, end),
    handleUnhandledError: () => {},
  });
  const input = new Input({ source, formats: FORMATS });
  try {
    const seconds = await input.computeDuration();
    if (!(seconds > 0)) return undefined;
    const video = await input.getPrimaryVideoTrack();
    const audio = await input.getPrimaryAudioTrack();
    const size = video ? { width: video.displayWidth, height: video.displayHeight } : {};
    return { ms: Math.max(1, Math.round(seconds * 1000)), hasAudio: audio !== null, ...size };
  } catch {
    return undefined;
  } finally {
    input.dispose();
  }
};

/**
 * Reads with libraries only (mediabunny for clips and sound, Bun for pictures), never with the parsers of this project.
 * @throws Unreadable if no library recognizes the file
 */
export const readAgain = async (file: ByteReader): Promise<SecondReading> => {
  const found = (await clipIn(file)) ?? (await pictureIn(file));
  if (!found) throw new Unreadable("no library knows what it is");
  return found;
};
