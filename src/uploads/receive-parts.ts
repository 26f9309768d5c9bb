// Receives the body of a request that appends to a resumable upload, as parts that become durable one by one.
//
// A part ends after some megabytes or seconds, so a broken connection loses nothing and a killed process loses little. A body with
// a checksum is one part, because nothing of it may be stored before the checksum is verified.
import { refuse } from "../domain/api-errors.ts";
import type { Incoming } from "../files/port.ts";
import { BUSY, UPLOAD_MS } from "./store-upload.ts";

export type Checksum = { algorithm: "md5" | "sha1" | "sha256" /** Base64. */; digest: string };
/** A part that is being received: the id of its bytes in storage. */
export type OpenPart = { id: string; incoming: Incoming };
export type ReceivedPart = OpenPart & { bytes: number; sha256: string };

export type PartsTarget = {
  open: () => Promise<OpenPart>;
  /** Makes the part durable and moves the offset behind it. */
  store: (part: ReceivedPart) => Promise<void>;
  nowMs: () => number;
  /** Called for each chunk of the body. */
  onChunk: () => void;
  /** Ends the reception like a broken connection. */
  signal: AbortSignal;
};

/** Size and age at which a part ends. */
const PART_BYTES = 8 * 1024 * 1024;
const PART_MS = 10_000;
/** Status of a checksum that does not match, of tus. */
const CHECKSUM_MISMATCH = 460;

type Writing = OpenPart & { bytes: number; hash: Bun.CryptoHasher; begunMs: number };

const createPartWriter = ({ open, store, nowMs }: PartsTarget) => {
  let part: Writing | undefined;
  return {
    write: async (chunk: Uint8Array): Promise<void> => {
      part ??= { ...(await open()), bytes: 0, hash: new Bun.CryptoHasher("sha256"), begunMs: nowMs() };
      part.bytes += chunk.length;
      part.hash.update(chunk);
      await part.incoming.write(chunk);
    },
    isFull: (): boolean => part !== undefined && (part.bytes >= PART_BYTES || nowMs() - part.begunMs >= PART_MS),
    store: async (): Promise<void> => {
      if (!part) return;
      const { hash, id, incoming, bytes } = part;
      await store({ id, incoming, bytes, sha256: hash.digest("hex") });
      await incoming.discard();
      part = undefined;
    },
    discard: async (): Promise<void> => part?.incoming.discard(),
  };
};

const tooLong = (mostBytes: number) =>
  refuse("body_too_large", `The body goes beyond Upload-Length; at most ${mostBytes} bytes follow the offset.`);
const cutShort = () => refuse("invalid_request", "The body did not arrive whole; continue at the offset that HEAD returns.");
const mismatch = () =>
  refuse("invalid_request", "Upload-Checksum: the body has another checksum; its bytes were discarded.", {
    status: CHECKSUM_MISMATCH,
  });

type Reader = { read: () => Promise<{ done: boolean; value?: Uint8Array | undefined }> };

/** The next chunk; null at the end, undefined if the connection broke. */
const nextChunk = async (reader: Reader): Promise<Uint8Array | null | undefined> => {
  const next = await reader.read().catch(() => undefined);
  return next?.done ? null : next?.value;
};

/**
 * Stores the bytes of a body, at most `mostBytes`. Without a checksum, the bytes before a broken connection are stored as well.
 * @throws ApiError `body_too_large`, `invalid_request`, `busy` after half an hour; StorageRefused; the errors of the target
 */
export const receiveParts = async (
  stream: ReadableStream<Uint8Array>,
  { mostBytes, checksum }: { mostBytes: number; checksum: Checksum | null },
  target: PartsTarget,
): Promise<void> => {
  const reader = stream.getReader();
  const writer = createPartWriter(target);
  const sum = checksum && new Bun.CryptoHasher(checksum.algorithm);
  const startedMs = target.nowMs();
  const cancel = () => void reader.cancel().catch(() => undefined);
  target.signal.addEventListener("abort", cancel);
  let bytes = 0;
  try {
    for (;;) {
      const chunk = target.signal.aborted ? undefined : await nextChunk(reader);
      // A cancelled body ends like a whole one.
      if (chunk === null && !target.signal.aborted) break;
      const isLate = target.nowMs() - startedMs > UPLOAD_MS;
      if (!chunk || isLate) {
        if (!sum) await writer.store();
        return isLate ? refuse("busy", BUSY) : cutShort();
      }
      target.onChunk();
      bytes += chunk.length;
      if (bytes > mostBytes) tooLong(mostBytes);
      sum?.update(chunk);
      await writer.write(chunk);
      if (!sum && writer.isFull()) await writer.store();
    }
    if (sum && sum.digest("base64") !== checksum?.digest) mismatch();
    await writer.store();
  } finally {
    // Not awaited, so that a response does not wait for a client that is still sending.
    cancel();
    target.signal.removeEventListener("abort", cancel);
    await writer.discard();
  }
};
