// Streams the body of an upload to storage, and counts and hashes it on the way. No more than a chunk is in memory.
import { refuse } from "../domain/api-errors.ts";
import type { Clock } from "../domain/clock.ts";
import type { Incoming } from "../files/port.ts";
import { type BodyReader, createBodyReader, type Interruption, LEAST_BYTES_PER_S } from "./body-reader.ts";
import { readFilePart, type Sink } from "./multipart.ts";
import { releaseChunk } from "./release-chunk.ts";
import { UPLOAD_MS } from "./time-limits.ts";

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
/** The status of a body that did not arrive in time. */
const REQUEST_TIMEOUT = 408;
const RESUME = "send the file over a faster connection, or in pieces with a resumable upload (/v1/files/uploads)";
const interrupted = (why: Interruption) => {
  if (why === "slow")
    refuse("invalid_request", `The body arrived at less than ${LEAST_BYTES_PER_S} bytes per second for a minute; ${RESUME}.`, {
      status: REQUEST_TIMEOUT,
    });
  if (why === "late")
    refuse("invalid_request", `The body did not arrive within ${UPLOAD_MS / 60_000} minutes; ${RESUME}.`, {
      status: REQUEST_TIMEOUT,
    });
  return refuse("invalid_request", "The body did not arrive whole.");
};

/** The chunks of a body. @throws ApiError `invalid_request` if it is interrupted, `body_too_large` above `mostBytes` */
const chunksOf = async function* (reader: BodyReader, mostBytes: number, fileBytes: number) {
  for (let bytes = 0; ; ) {
    const read = await reader.next();
    if (read === "whole") return;
    if (read === "pause") continue;
    if (typeof read === "string") return interrupted(read);
    bytes += read.length;
    if (bytes > mostBytes) tooLarge(fileBytes);
    yield read;
  }
};

const isForm = (contentType: string): boolean => /^multipart\/form-data\b/i.test(contentType.trim());

/**
 * Writes the file of a body: the part `file` of a form, or the whole body.
 * @param signal ends the body like a broken connection
 * @returns its size and SHA-256 in hex
 * @throws ApiError `body_too_large`, `invalid_request`; StorageRefused
 */
export const receiveUpload = async (
  { stream, contentType, contentLength }: UploadBody,
  incoming: Pick<Incoming, "write">,
  { mostBytes, clock, signal }: { mostBytes: number; clock: Clock; signal: AbortSignal },
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
    const reader = createBodyReader(stream, clock, signal);
    const body = chunksOf(reader, mostBody, mostBytes);
    try {
      if (isForm(contentType)) await readFilePart(contentType, body, write);
      else
        for await (const chunk of body) {
          await write(chunk);
          releaseChunk(chunk);
        }
    } finally {
      reader.cancel();
    }
  }
  if (bytes === 0) refuse("invalid_request", "The file is empty; send the bytes of a picture, a clip or sound.");
  return { bytes, sha256: hash.digest("hex") };
};
