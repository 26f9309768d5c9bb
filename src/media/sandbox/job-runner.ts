// How the jobs are done, in the child: nothing here runs in the service itself.
import type { ByteReader } from "../byte-source.ts";
import { Unreadable } from "../byte-source.ts";
import { inspect } from "../formats/inspect.ts";
import type { JobName, JobOptions, JobReply } from "./jobs.ts";

/** Where a job puts a file that it makes; the service bounds how large it becomes. */
export type Output = { write(place: number, bytes: Uint8Array): void };

export type Work = { [J in JobName]: (file: ByteReader, options: JobOptions<J>, output: Output) => Promise<JobReply<J>> };

/** Nothing ends a job but its own end or that of the process. */
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
    // Loaded where it is needed, which is seldom.
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
