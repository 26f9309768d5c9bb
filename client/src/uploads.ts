// Uploads files as a stream, and lists the uploaded files of the account.
import type { components } from "./api.ts";
import { asJson, type CallOptions, type ClientEnvironment, sendRequest } from "./request.ts";

type Schemas = components["schemas"];
/** A file that was uploaded. Any media field of an input takes its `id` or its `url`. */
export type UploadedFile = Schemas["UploadedFile"];
export type DeletedFile = Schemas["DeletedFile"];
export type UploadOptions = CallOptions & {
  /** Called with the number of bytes that were sent; a retry begins at 0 again. */
  onBytes?: ((bytes: number) => void) | undefined;
};
export type ListOptions = CallOptions & {
  /** Maximum number of files, 1 to 100; default 20. */
  limit?: number | undefined;
  /** `next` of the previous page. */
  after?: string | undefined;
};
/** A page of files, newest first. */
export type FilePage = Pick<Schemas["UploadedFileList"], "data" | "next">;

/** The duration of an upload, ms; the service bounds it to the same. */
const MAX_UPLOAD_MS = 1_800_000;

/** Counts the bytes of a stream as they are read. */
const counted = (file: Blob, onBytes: (bytes: number) => void): ReadableStream<Uint8Array> => {
  let bytes = 0;
  const count = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      bytes += chunk.length;
      onBytes(bytes);
      controller.enqueue(chunk);
    },
  });
  return file.stream().pipeThrough(count);
};

/** A stream can be read once, so each try opens the file again. */
const bodyOf = (file: Blob, { onBytes }: UploadOptions): RequestInit =>
  onBytes ? ({ body: counted(file, onBytes), duplex: "half" } as RequestInit) : { body: file };

export const uploadFile = (
  world: ClientEnvironment,
  { url, headers }: { url: string; headers: Record<string, string> },
  file: Blob,
  options: UploadOptions,
): Promise<UploadedFile> => {
  const { signal, tries, onRetry } = options;
  const plain = { ...headers, "content-type": file.type === "" ? "application/octet-stream" : file.type };
  const init = () => ({ method: "POST", headers: plain, ...bodyOf(file, options) });
  return sendRequest(world, { url, init, signal, tries, onRetry, longestMs: MAX_UPLOAD_MS }, asJson<UploadedFile>);
};

export const listFiles = (
  world: ClientEnvironment,
  { url, headers }: { url: string; headers: Record<string, string> },
  { limit, after, signal, tries, onRetry }: ListOptions,
): Promise<FilePage> => {
  const query = new URLSearchParams();
  if (limit !== undefined) query.set("limit", String(limit));
  if (after !== undefined) query.set("after", after);
  const at = query.size === 0 ? url : `${url}?${query}`;
  return sendRequest(world, { url: at, init: { headers }, signal, tries, onRetry }, asJson<FilePage>);
};

type FileCall = { url: string; headers: Record<string, string> };

export const readFile = (
  world: ClientEnvironment,
  { url, headers }: FileCall,
  { signal, tries, onRetry }: CallOptions,
): Promise<UploadedFile> => sendRequest(world, { url, init: { headers }, signal, tries, onRetry }, asJson<UploadedFile>);

export const deleteFile = (
  world: ClientEnvironment,
  { url, headers }: FileCall,
  { signal, tries, onRetry }: CallOptions,
): Promise<DeletedFile> =>
  sendRequest(world, { url, init: { method: "DELETE", headers }, signal, tries, onRetry }, asJson<DeletedFile>);
