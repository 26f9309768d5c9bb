// Reads a stored file from the place that its row names: the disk of this node, or the bucket.
import type { FileBytes } from "../domain/types.ts";
import { FileMissing, type Files } from "./port.ts";
import { serveThrough } from "./proxy-download.ts";
import { dispositionOf, serveFile } from "./serve.ts";
import { blobFile } from "./verified-file.ts";

/** A stored file: its place in storage, and its recorded properties. `object`: its name in the bucket. */
export type FilePlace = {
  storageId: string;
  fileNo: number;
  object?: string | undefined;
  sha256: string;
  bytes: number;
  mime: string;
};

export interface StoredFiles {
  /** Opens the file on this node's disk; undefined if it is in the bucket, incomplete or missing. */
  open(place: FilePlace): Promise<Blob | undefined>;
  /**
   * Responds to a request for the file or a range of it, wherever it is; undefined if it is missing.
   * @throws StorageUnavailable if the bucket cannot be reached
   */
  serve(place: FilePlace, name: string, request: Request): Promise<Response | undefined>;
  /** The bytes of the file, wherever it is; undefined if it is missing. @throws StorageUnavailable, also while streaming */
  bytes(place: FilePlace): Promise<FileBytes | undefined>;
  /** Reports whether the file exists. @throws StorageUnavailable if this cannot be determined now */
  has(place: FilePlace): Promise<boolean>;
}

/** A link is opened once, by this process or by the provider that it was signed for. */
const CACHE_CONTROL = "private, no-store";
/** The bucket is requested at once, so the link to it is short-lived. */
const LINK_MS = 60_000;

export const createStoredFiles = (files: Pick<Files, "open" | "link">, nowMs: () => number): StoredFiles => {
  const open = async ({ storageId, fileNo, object, bytes }: FilePlace): Promise<Blob | undefined> => {
    // A file with an object name was never on local disk.
    const found = object === undefined ? await files.open(storageId, fileNo) : undefined;
    // A truncated file is never served.
    return found?.size === bytes ? found : undefined;
  };
  const requestBucket = async (place: FilePlace, name: string, request: Request): Promise<Response | undefined> => {
    const { storageId, fileNo, object, sha256, mime } = place;
    const words = { mime, disposition: dispositionOf(mime, name), cacheControl: CACHE_CONTROL };
    const method = request.method === "HEAD" ? "HEAD" : "GET";
    const location = files.link?.(storageId, fileNo, { method, object, ...words, untilMs: nowMs() + LINK_MS });
    if (location === undefined) return undefined;
    try {
      return await serveThrough(location, sha256, request);
    } catch (fault) {
      if (fault instanceof FileMissing) return undefined;
      throw fault;
    }
  };
  const serve = async (place: FilePlace, name: string, request: Request): Promise<Response | undefined> => {
    const blob = await open(place);
    const { sha256, mime } = place;
    if (blob) return serveFile({ blob, mime, sha256, name, request, cacheControl: CACHE_CONTROL });
    return requestBucket(place, name, request);
  };
  const isInBucket = async (place: FilePlace): Promise<boolean> => {
    const response = await requestBucket(place, "", new Request("http://stored.invalid/", { method: "HEAD" }));
    return response?.status === 200;
  };
  const streamFromBucket = async function* (place: FilePlace, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
    const response = await requestBucket(place, "", new Request("http://stored.invalid/", signal ? { signal } : {}));
    if (!response?.body) throw new FileMissing("the bucket has no such file");
    yield* response.body;
  };
  return {
    open,
    serve,
    bytes: async (place) => {
      const local = await open(place);
      if (local) return blobFile(local);
      if (!(await isInBucket(place))) return undefined;
      return { size: place.bytes, read: (signal) => streamFromBucket(place, signal) };
    },
    has: async (place) => (await open(place)) !== undefined || isInBucket(place),
  };
};
