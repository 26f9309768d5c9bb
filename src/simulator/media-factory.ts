// Media factory: generates result files and caches the latest ones.
import { makeClip } from "./clip.ts";
import { drawPicture } from "./picture.ts";
import { oddFile } from "./prebuilt-files.ts";
import { makeMp3, makeWav } from "./sound.ts";
import { type FileFormat, stamp } from "./watermark.ts";

/** The properties of one file. Sizes in pixels, length in ms; properties that the format lacks are ignored. */
export type Sketch = { format: FileFormat; width: number; height: number; ms: number; sound: boolean };

/**
 * Variants of each kind of file; a job's seed selects one. The number is small, so that a busy simulator renders each only once.
 */
const VARIANTS = 12;
const CACHE_BYTES = 96 * 1024 * 1024;

export type MediaFactory = {
  /** Generates a file. Equal sketches and marks give equal bytes; different marks always give different bytes. */
  make(sketch: Sketch, seed: number, mark: string): Promise<Uint8Array>;
};

const draw = (sketch: Sketch, look: number): Promise<Uint8Array> => {
  switch (sketch.format) {
    case "mp4":
      return makeClip(sketch, sketch.ms, sketch.sound, look);
    case "mp3":
      return Promise.resolve(makeMp3(sketch.ms, look));
    case "flac":
    case "opus":
      // One second, whatever was requested.
      return Promise.resolve(oddFile(sketch.format));
    case "wav":
      return Promise.resolve(makeWav(sketch.ms, look));
    default:
      return drawPicture(sketch.format, sketch, look);
  }
};

/** Creates a media factory with a cache of at most 96 MB; the oldest entry is evicted first. */
export const createMediaFactory = (): MediaFactory => {
  const kept = new Map<string, Promise<Uint8Array>>();
  const sizes = new Map<string, number>();
  let keptBytes = 0;

  const drop = (key: string) => {
    kept.delete(key);
    keptBytes -= sizes.get(key) ?? 0;
    sizes.delete(key);
  };

  const base = (sketch: Sketch, look: number): Promise<Uint8Array> => {
    const key = JSON.stringify([sketch.format, sketch.width, sketch.height, sketch.ms, sketch.sound, look]);
    const found = kept.get(key);
    if (found) {
      kept.delete(key);
      kept.set(key, found);
      return found;
    }
    const drawn = draw(sketch, look);
    kept.set(key, drawn);
    drawn.then(
      (bytes) => {
        if (kept.get(key) !== drawn) return;
        sizes.set(key, bytes.length);
        keptBytes += bytes.length;
        for (const oldest of kept.keys()) {
          if (keptBytes <= CACHE_BYTES) break;
          drop(oldest);
        }
      },
      () => drop(key),
    );
    return drawn;
  };

  return {
    make: async (sketch, seed, mark) => stamp(await base(sketch, Math.abs(seed) % VARIANTS), sketch.format, mark),
  };
};
