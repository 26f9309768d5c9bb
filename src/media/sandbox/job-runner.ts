// Implements the jobs that run inside a sandbox child, never in the service.
import type { ByteReader } from "../byte-source.ts";
import { Unreadable } from "../byte-source.ts";
import { inspect } from "../formats/inspect.ts";
import type { JobName, JobOptions, JobReply } from "./jobs.ts";

/** Output file of a job; the service bounds its size. */
export type Output = { write(place: number, bytes: Uint8Array): void };

export type Work = { [J in JobName]: (file: ByteReader, options: JobOptions<J>, output: Output) => Promise<JobReply<J>> };

/** A job ends by itself or with the process, so its signal never aborts. */
const NEVER = new AbortController().signal;

const whole = async (file: ByteReader): Promise<Uint8Array> => file.read(0, await file.sizeBytes());

export const WORK: Work = {
  inspect: (file, { depth }) => inspect(file, { depth, signal: NEVER }) as Promise<JobReply<"inspect">>,
  thumbnail: async (file, { sidePx, mostPixels }, output) => {
    const picture = new Bun.Image(await whole(file), { maxPixels: mostPixels });
    const made = await picture
      .resize(sidePx, sidePx, { fit: "inside", withoutEnlargement: true })
      .webp({ quality: 80 })
      .bytes()
      .catch(() => {
        throw new Unreadable("it is not a picture that opens");
      });
    output.write(0, made);
    return { mime: "image/webp" };
  },
  convert: async (file, { to, from, mostPixels }, output) => {
    // Loaded on demand, because conversions are rare.
    if (to === "video/mp4") {
      const { remux } = await import("../convert/remux.ts");
      await remux(file, output.write);
    } else {
      const { toPng } = await import("../convert/to-png.ts");
      output.write(0, await toPng(file, from, mostPixels));
    }
    return { mime: to };
  },
  readAgain: async (file) => {
    const { readAgain } = await import("../reference-probe.ts");
    return readAgain(file);
  },
};
