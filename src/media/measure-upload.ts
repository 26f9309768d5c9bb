// Measures an uploaded file on local disk, like the media of a request: same formats, bounds and errors.
import { open } from "node:fs/promises";
import { refuse } from "../domain/api-errors.ts";
import type { MediaKind } from "../domain/types.ts";
import { StorageRefused } from "../files/port.ts";
import { type ByteReader, Unreadable } from "./byte-source.ts";
import type { Inspection } from "./formats/inspect.ts";
import { readPictureHeader } from "./formats/picture-header.ts";
import { instead, isOpen, ofSoManyPixels } from "./probe.ts";
import { LONG_HEADER_BYTES } from "./result-kinds.ts";
import { Busy, onDisk, type Sandbox } from "./sandbox/sandbox.ts";
import { sniff } from "./sniff.ts";
import { noMedia } from "./wanted-kinds.ts";

export type UploadedMedia = { kind: MediaKind; mime: string; width?: number; height?: number; ms?: number; pictureMs?: number };
/**
 * @param file its path and size, and the account whose places the inspection occupies
 * @throws ApiError `invalid_input` that names the part `file`; `busy` if no sandbox process was free in time
 */
export type MeasureUpload = (
  file: { path: string; bytes: number; account: string },
  signal: AbortSignal,
) => Promise<UploadedMedia>;

/** Maximum wait for a sandbox process, ms. */
const WAIT_MS = 10_000;

const unreadDisk = () => new StorageRefused("the disk refused to read back");

/** Reads ranges of a file. @throws StorageRefused */
const readerOf = (path: string, sizeBytes: number): ByteReader => ({
  sizeBytes: async () => sizeBytes,
  read: async (start, end) => {
    const file = await open(path, "r").catch(() => Promise.reject(unreadDisk()));
    try {
      const { buffer, bytesRead } = await file.read(new Uint8Array(end - start), 0, end - start, start);
      if (bytesRead !== end - start) throw unreadDisk();
      return buffer;
    } finally {
      await file.close();
    }
  },
});

export const createMeasureUpload = (sandbox: Pick<Sandbox, "run">): MeasureUpload => {
  const measure: MeasureUpload = async ({ path, bytes, account }, signal) => {
    const reader = readerOf(path, bytes);
    const prefix = await reader.read(0, Math.min(bytes, LONG_HEADER_BYTES));
    const wrong = (what: string) => new Unreadable(noMedia(what));
    const sniffed = sniff(prefix);
    if (sniffed?.container === "picture") {
      const { mime, width, height } = await readPictureHeader(reader).then((size) => ({ ...size, ...ofSoManyPixels(size) }));
      return { kind: "image", mime, width, height };
    }
    if (!sniffed && !isOpen(prefix)) throw wrong(instead(prefix));
    const source = onDisk(path, bytes, unreadDisk);
    const requested = { source, who: { share: "input", account }, signal, waitMs: WAIT_MS };
    const found: Inspection = await sandbox.run("inspect", { depth: "counted" }, requested).catch((fault: unknown) => {
      throw !sniffed && fault instanceof Unreadable ? wrong(instead(prefix)) : fault;
    });
    const { mime, kind, width, height, ms, pictureMs, isUncounted } = found;
    if (kind === "image" || kind === "other" || mime === "video/ogg") throw wrong(mime);
    return {
      ...{ kind, mime },
      ...(kind === "video" && width !== undefined && height !== undefined ? { width, height } : {}),
      // An uncounted length has not been compared with the sound, so no price is based on it.
      ...(ms === undefined || isUncounted ? {} : { ms }),
      ...(kind === "video" && pictureMs !== undefined ? { pictureMs } : {}),
    };
  };
  return async (file, signal) => {
    try {
      return await measure(file, signal);
    } catch (fault) {
      if (fault instanceof Busy) return refuse("busy", "No sandbox process is free to read media; send the same file again.");
      if (fault instanceof Unreadable) return refuse("invalid_input", `file: the media cannot be read: ${fault.message}`);
      throw fault;
    }
  };
};
