// Streams the body of an upload to storage, and counts and hashes it on the way. No more than a chunk is in memory.
import { refuse } from "../domain/api-errors.ts";
import type { Incoming } from "../files/port.ts";
import { readFilePart, type Sink } from "./multipart.ts";

/** The body of an upload request and what its headers state about it. */
export type UploadBody = {
  stream: ReadableStream<Uint8Array> | null;
  contentType: string;
  /** `Content-Length` in bytes; null if it is absent. */
  contentLength: number | null;
};

/** Bytes of a form beside its file. */
const FORM_BYTES = 64 * 1024;

const tooLarge = (mostBytes: number) =>
  refuse("body_too_large", `The file is over limits.upload_bytes of this service (${mostBytes} bytes).`);
const cutShort = () => refuse("invalid_request", "The body did not arrive whole.");

/** The chunks of a body. @throws ApiError `invalid_request` if the connection breaks, `body_too_large` above `mostBytes` */
const chunksOf = async function* (stream: ReadableStream<Uint8Array>, mostBytes: number, fileBytes: number) {
  const reader = stream.getReader();
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(cutShort);
      if (done) return;
      bytes += value.length;
      if (bytes > mostBytes) tooLarge(fileBytes);
      yield value;
    }
  } finally {
    // Not awaited, so that a response does not wait for a client that is still sending.
    reader.cancel().catch(() => undefined);
  }
};

const isForm = (contentType: string): boolean => /^multipart\/form-data\b/i.test(contentType.trim());

/**
 * Writes the file of a body: the part `file` of a form, or the whole body.
 * @returns its size and SHA-256 in hex
 * @throws ApiError `body_too_large`, `invalid_request`; StorageRefused
 */
export const receiveUpload = async (
  { stream, contentType, contentLength }: UploadBody,
  incoming: Pick<Incoming, "write">,
  mostBytes: number,
): Promise<{ bytes: number; sha256: string }> => {
  const mostBody = isForm(contentType) ? mostBytes + FORM_BYTES : mostBytes;
  if (contentLength !== null && contentLength > mostBody) tooLarge(mostBytes);
  const hash = new Bun.CryptoHasher("sha256");
  let bytes = 0;
  const write: Sink = async (chunk) => {
    bytes += chunk.length;
    if (bytes > mostBytes) tooLarge(mostBytes);
    hash.update(chunk);
    await incoming.write(chunk);
  };
  if (stream !== null) {
    const body = chunksOf(stream, mostBody, mostBytes);
    if (isForm(contentType)) await readFilePart(contentType, body, write);
    else for await (const chunk of body) await write(chunk);
  }
  if (bytes === 0) refuse("invalid_request", "The file is empty; send the bytes of a picture, a clip or sound.");
  return { bytes, sha256: hash.digest("hex") };
};
