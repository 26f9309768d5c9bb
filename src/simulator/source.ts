// Measures the pictures and clips that a request links to, where they are on this machine; anything else is left alone.
import { ADTS, BufferSource, FLAC, Input, MATROSKA, MP3, MP4, OGG, QTFF, WAVE, WEBM } from "mediabunny";
import type { Size } from "./sizes.ts";

const MOST_BYTES = 64 * 1024 * 1024;
const FETCH_MS = 2000;

const onThisMachine = (link: string): boolean => {
  if (!URL.canParse(link)) return false;
  const { protocol, hostname } = new URL(link);
  return /^https?:$/.test(protocol) && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
};

/** The file behind a loopback address, or undefined when it is elsewhere, too slow, too large or not there. */
const bring = async (link: string): Promise<Uint8Array | undefined> => {
  if (!onThisMachine(link)) return undefined;
  try {
    const answer = await fetch(link, { signal: AbortSignal.timeout(FETCH_MS), redirect: "manual" });
    if (!answer.ok || answer.body === null) return undefined;
    const parts: Uint8Array[] = [];
    let bytes = 0;
    for await (const part of answer.body) {
      bytes += part.length;
      if (bytes > MOST_BYTES) return undefined;
      parts.push(part);
    }
    return new Uint8Array(Buffer.concat(parts));
  } catch {
    return undefined;
  }
};

/** Shape of a picture in pixels; undefined when it cannot be told. */
export const pictureShape = async (link: string): Promise<Size | undefined> => {
  const bytes = await bring(link);
  if (!bytes) return undefined;
  try {
    const { width, height } = await new Bun.Image(bytes).metadata();
    return width > 0 && height > 0 ? { width, height } : undefined;
  } catch {
    return undefined;
  }
};

/** Length, shape and sound of a clip or a sound; undefined when it cannot be told. */
export const clipFacts = async (link: string): Promise<({ ms: number; sound: boolean } & Partial<Size>) | undefined> => {
  const bytes = await bring(link);
  if (!bytes) return undefined;
  const formats = [MP4, QTFF, MATROSKA, WEBM, MP3, WAVE, OGG, FLAC, ADTS];
  const input = new Input({ source: new BufferSource(bytes), formats });
  try {
    const seconds = await input.computeDuration();
    if (!(seconds > 0)) return undefined;
    const video = await input.getPrimaryVideoTrack();
    const audio = await input.getPrimaryAudioTrack();
    const size = video ? { width: video.displayWidth, height: video.displayHeight } : {};
    return { ms: Math.round(seconds * 1000), sound: audio !== null, ...size };
  } catch {
    return undefined;
  } finally {
    input.dispose();
  }
};
