// Result files onto disk: streamed into a `.part` beside their place, taken up again where they broke off, renamed when whole.
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { pauseMs, type Surroundings } from "./asking.ts";
import { GenrouterError } from "./errors.ts";

const EXTENSIONS: Readonly<Record<string, string>> = {
  "image/png": ".png",
  "image/jpeg": ".jpg",
  "image/webp": ".webp",
  "image/gif": ".gif",
  "image/bmp": ".bmp",
  "image/avif": ".avif",
  "image/heic": ".heic",
  "image/heif": ".heif",
  "image/tiff": ".tiff",
  "image/jxl": ".jxl",
  "image/jp2": ".jp2",
  "image/svg+xml": ".svg",
  "image/vnd.adobe.photoshop": ".psd",
  "image/x-exr": ".exr",
  "image/vnd.radiance": ".hdr",
  "image/vnd.microsoft.icon": ".ico",
  "video/mp4": ".mp4",
  "video/quicktime": ".mov",
  "video/webm": ".webm",
  "video/x-matroska": ".mkv",
  "video/x-msvideo": ".avi",
  "video/mp2t": ".ts",
  "video/mpeg": ".mpg",
  "video/ogg": ".ogv",
  "video/3gpp": ".3gp",
  "video/3gpp2": ".3g2",
  "video/x-flv": ".flv",
  "audio/mpeg": ".mp3",
  "audio/wav": ".wav",
  "audio/flac": ".flac",
  "audio/ogg": ".ogg",
  "audio/mp4": ".m4a",
  "audio/aac": ".aac",
  "audio/webm": ".weba",
  "audio/x-matroska": ".mka",
  "audio/aiff": ".aiff",
  "audio/x-caf": ".caf",
  "audio/amr": ".amr",
  "audio/midi": ".mid",
  "model/gltf-binary": ".glb",
  "model/gltf+json": ".gltf",
  "model/obj": ".obj",
  "model/x-ply": ".ply",
  "model/vnd.fbx": ".fbx",
  "application/zip": ".zip",
  "application/gzip": ".gz",
  "application/pdf": ".pdf",
};
/** The usual ending of files of a content type, `.mp4`; undefined for types that are rarely saved. */
export const endingOf = (type: string): string | undefined => EXTENSIONS[type];

/** Breaks in a row without a byte in between, unless told otherwise. */
const TRIES = 5;
/** A connection that gives nothing for so long is taken for broken. */
const LONGEST_SILENCE_MS = 60_000;

export type SavedFile = { path: string; bytes: number; type: string };
/** Opens file `n`, from the byte on where `from` is above 0; the answer may be the whole file all the same. */
export type OpenFile = (n: number, from: number, signal: AbortSignal) => Promise<Response>;
type SaveWishes = {
  tries?: number | undefined;
  to?: string | undefined;
  signal?: AbortSignal | undefined;
  onBytes?: ((n: number, bytes: number) => void) | undefined;
};

const isDirectory = async (path: string): Promise<boolean> => (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
const unwritable = (path: string, cause: unknown): GenrouterError =>
  new GenrouterError("unwritable", `${path} cannot be written: ${cause instanceof Error ? cause.message : cause}`, { cause });

/** For `catch`: a fault of the disk is told as one, and is not taken for a broken connection. */
const orUnwritable =
  (path: string) =>
  (fault: unknown): Promise<never> =>
    Promise.reject(unwritable(path, fault));

/**
 * What files are called: `wanted` for the first and `name-2.png` for the second; in a directory, and without a name, after
 * the generation and their type. @throws GenrouterError `unwritable` when there is no such directory.
 */
export const placeOf = async (wanted: string | undefined): Promise<{ dir: string; name: string | null }> => {
  const isDir = wanted === undefined || /[/\\]$/.test(wanted) || (await isDirectory(wanted));
  const dir = wanted === undefined ? "." : isDir ? wanted : dirname(wanted);
  if (!(await isDirectory(dir))) throw unwritable(wanted ?? dir, `there is no directory ${dir}`);
  return { dir, name: isDir ? null : basename(wanted) };
};
const nameOf = (name: string | null, of: string, n: number, type: string): string => {
  const first = name ?? of + (endingOf(type) ?? ".bin");
  if (n === 1) return first;
  const ending = extname(first);
  return `${first.slice(0, first.length - ending.length)}-${n}${ending}`;
};

/** What an answer says of the file: where its bytes begin, how many there are in all, and its SHA-256 where the tag is one. */
const factsOf = (response: Response) => {
  const range = /^bytes (\d+)-\d+\/(\d+)$/.exec(response.headers.get("content-range") ?? "");
  if (response.status === 206 && !range) {
    const of = { status: 206, requestId: response.headers.get("x-request-id") };
    throw new GenrouterError("unexpected_answer", "HTTP 206: a part of a file that is not told which", of);
  }
  const length = response.headers.has("content-encoding") ? null : response.headers.get("content-length");
  return {
    from: range ? Number(range[1]) : 0,
    bytes: range ? Number(range[2]) : length === null ? null : Number(length),
    sha256: /^"([0-9a-f]{64})"$/.exec(response.headers.get("etag") ?? "")?.[1] ?? null,
    type: (response.headers.get("content-type") ?? "").split(";")[0]?.trim() ?? "",
  };
};

const sha256Of = async (path: string): Promise<string> => {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array);
  return hash.digest("hex");
};

/** Writes an answer's bytes to where they belong in the file. Returns where the file ends then. */
const pour = async (
  file: FileHandle,
  part: string,
  response: Response,
  from: number,
  told: (end: number) => void,
): Promise<number> => {
  let end = from;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    for (let at = 0; at < chunk.length; ) {
      const { bytesWritten } = await file.write(chunk, at, chunk.length - at, end + at).catch(orUnwritable(part));
      at += bytesWritten;
    }
    end += chunk.length;
    told(end);
  }
  return end;
};

/** A signal that fires when the caller's does, or when nothing has been told of for too long. */
const watchdog = (outer: AbortSignal | undefined) => {
  const controller = new AbortController();
  const stop = () => controller.abort(outer?.reason);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const bark = () => controller.abort(new Error(`nothing came for ${LONGEST_SILENCE_MS / 1000} s`));
  const alive = () => {
    clearTimeout(timer);
    timer = setTimeout(bark, LONGEST_SILENCE_MS);
  };
  if (outer?.aborted) stop();
  else outer?.addEventListener("abort", stop, { once: true });
  const end = () => {
    clearTimeout(timer);
    outer?.removeEventListener("abort", stop);
  };
  return { signal: controller.signal, alive, end };
};

const sizeOf = async (path: string): Promise<number> => (await stat(path).catch(() => undefined))?.size ?? 0;

/** One connection's worth of a file. Returns its facts once it is whole, undefined when it broke off. */
const once = async (part: string, openFile: OpenFile, n: number, { signal, onBytes }: SaveWishes) => {
  const have = await sizeOf(part);
  const dog = watchdog(signal);
  let file: FileHandle | undefined;
  try {
    // The last byte once more: a part that is whole already is then not past the end, and the answer tells what it is.
    const response = await openFile(n, Math.max(0, have - 1), dog.signal);
    const facts = factsOf(response);
    const opened = await open(part, facts.from > 0 ? "r+" : "w").catch(orUnwritable(part));
    file = opened;
    dog.alive();
    const end = await pour(opened, part, response, facts.from, (bytes) => {
      dog.alive();
      onBytes?.(n, bytes);
    });
    await opened.sync().catch(orUnwritable(part));
    return facts.bytes === null || facts.bytes === end ? { ...facts, bytes: end } : undefined;
  } catch (fault) {
    if (signal?.aborted) throw signal.reason;
    if (!(fault instanceof GenrouterError)) return undefined;
    // A no that stays does not get better with what is there already; a part that is longer than the file never was of it.
    if (fault.status >= 400 && fault.status < 500) await rm(part, { force: true });
    if (fault.status === 416) return undefined;
    throw fault;
  } finally {
    dog.end();
    await file?.close();
  }
};

/**
 * Saves file `n` under its final name, whole or not at all. What has arrived before a break is kept in the part, whose name
 * tells whose it is, and taken up again, by a later call too.
 * @throws GenrouterError `broken_file` when it breaks off or holds other bytes again and again, `unwritable`, or what the service answers.
 */
const saveFile = async (
  world: Surroundings,
  openFile: OpenFile,
  of: string,
  n: number,
  wishes: SaveWishes,
): Promise<SavedFile> => {
  const { dir, name } = await placeOf(wishes.to);
  const part = join(dir, `${name === null ? "" : `${name}.`}${of}-${n}.part`);
  let size = await sizeOf(part);
  const tries = wishes.tries ?? TRIES;
  let isOther = false;
  for (let breaks = 0; breaks < tries; ) {
    if (breaks > 0) await world.sleep(pauseMs(breaks, null, world.random), wishes.signal);
    const facts = await once(part, openFile, n, wishes);
    if (facts && (facts.sha256 === null || facts.sha256 === (await sha256Of(part)))) {
      const path = join(dir, nameOf(name, of, n, facts.type));
      await rename(part, path).catch(orUnwritable(path));
      return { path, bytes: facts.bytes, type: facts.type };
    }
    // Whole, and not what it should be: nothing of it can be kept.
    isOther = facts !== undefined;
    if (isOther) await rm(part, { force: true });
    const now = await sizeOf(part);
    breaks = now > size ? 1 : breaks + 1;
    size = now;
  }
  throw new GenrouterError(
    "broken_file",
    isOther
      ? `file ${n} of ${of} came whole, but its bytes do not match its SHA-256; none are kept: download it again, and if it stays so tell the operator`
      : `file ${n} of ${of} broke off ${tries} times in a row; downloading again goes on`,
  );
};

/** Saves every file of a generation, one after the other. */
export const saveAll = async (
  world: Surroundings,
  openFile: OpenFile,
  { id, output }: { id: string; output: { urls: readonly string[] } | null },
  wishes: SaveWishes,
): Promise<SavedFile[]> => {
  const saved: SavedFile[] = [];
  for (let n = 1; n <= (output?.urls.length ?? 0); n++) saved.push(await saveFile(world, openFile, id, n, wishes));
  return saved;
};
