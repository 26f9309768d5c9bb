// Result files onto disk: streamed beside their place, then renamed, so that a file with its final name is whole.
import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { dirname, extname, join } from "node:path";
import type { Client, GenerationResource } from "./client.ts";
import { CommandFault, EXITS } from "./exits.ts";

const EXTENSIONS: Readonly<Record<string, string>> = {
  "video/mp4": ".mp4",
  "image/png": ".png",
  "image/jpeg": ".jpg",
  "image/webp": ".webp",
  "audio/mpeg": ".mp3",
  "audio/wav": ".wav",
};

export type SavedFile = { path: string; bytes: number; type: string };

/** Place of file `n`: `name.png`, then `name-2.png`; without a name the generation's id and the type of the file. */
export const placeOf = (wanted: string | null, id: string, n: number, type: string): string => {
  const name = wanted ?? id + (EXTENSIONS[type] ?? ".bin");
  if (n === 1) return name;
  const ending = extname(name);
  return `${name.slice(0, name.length - ending.length)}-${n}${ending}`;
};

const isDirectory = async (path: string): Promise<boolean> => (await stat(path).catch(() => undefined))?.isDirectory() ?? false;

const writeAll = async (
  file: FileHandle,
  body: ReadableStream<Uint8Array>,
  onBytes: (bytes: number) => void,
): Promise<number> => {
  let bytes = 0;
  for await (const chunk of body) {
    for (let at = 0; at < chunk.length; ) at += (await file.write(chunk, at)).bytesWritten;
    bytes += chunk.length;
    onBytes(bytes);
  }
  return bytes;
};

/**
 * Downloads every file of a generation that has succeeded.
 * @param wanted a file name, a directory, or null for the generation's id in the current directory.
 * @throws CommandFault when a place cannot be written or a file arrives short.
 */
export const downloadAll = async (
  client: Client,
  generation: GenerationResource,
  wanted: string | null,
  onBytes: (n: number, bytes: number) => void,
): Promise<SavedFile[]> => {
  const inside = wanted !== null && (wanted.endsWith("/") || (await isDirectory(wanted)));
  const saved: SavedFile[] = [];
  for (let n = 1; n <= (generation.output?.urls.length ?? 0); n++) {
    const response = await client.file(generation.id, n);
    const type = (response.headers.get("content-type") ?? "").split(";")[0]?.trim() ?? "";
    const name = placeOf(inside ? null : wanted, generation.id, n, type);
    const path = inside && wanted !== null ? join(wanted, name) : name;
    const part = `${path}.part`;
    const file = await open(part, "w").catch((fault: Error) => {
      throw new CommandFault(EXITS.failure, `${path} cannot be written: ${fault.message}`, {
        fix: `the generation is safe; genrouter download ${generation.id} -o FILE saves it elsewhere`,
        code: "unwritable",
      });
    });
    try {
      const bytes = response.body ? await writeAll(file, response.body, (so) => onBytes(n, so)) : 0;
      const announced = Number(response.headers.get("content-length") ?? bytes);
      if (bytes !== announced)
        throw new CommandFault(EXITS.failure, `${path}: ${bytes} of ${announced} bytes arrived`, {
          fix: `genrouter download ${generation.id} -o ${path} tries again`,
          code: "short_file",
        });
      await file.sync();
      await file.close();
      await rename(part, path);
      saved.push({ path, bytes, type });
    } catch (fault) {
      await file.close().catch(() => undefined);
      await rm(part, { force: true });
      if (fault instanceof CommandFault) throw fault;
      throw new CommandFault(EXITS.failure, `${path}: ${fault instanceof Error ? fault.message : fault}`, {
        fix: `the generation is safe; genrouter download ${generation.id} -o ${path} tries again`,
        code: "download_failed",
      });
    }
  }
  return saved;
};

/** Refuses a place that cannot work before anything is generated and charged. */
export const checkPlace = async (wanted: string | null): Promise<void> => {
  if (wanted === null) return;
  const place = wanted.endsWith("/") ? wanted : dirname(wanted);
  if (!(await isDirectory(place)))
    throw new CommandFault(EXITS.usage, `-o ${wanted}: there is no directory ${place}`, {
      fix: `mkdir -p ${place}`,
      code: "bad_flag",
    });
};
