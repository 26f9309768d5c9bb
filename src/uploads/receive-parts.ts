// Receives the body of a request that appends to a resumable upload, as parts that become durable one by one.
//
// A part ends after some megabytes or seconds, so a broken or dead connection loses nothing and a killed process loses little. A body with
// a checksum is one part, because nothing of it may be stored before the checksum is verified.
import { refuse } from "../domain/api-errors.ts";
import type { Clock } from "../domain/clock.ts";
import type { Incoming } from "../files/port.ts";
import { createBodyReader, type Interruption, LEAST_BYTES_PER_S } from "./body-reader.ts";
import { releaseChunk } from "./release-chunk.ts";
import { UPLOAD_MS } from "./time-limits.ts";

export type Checksum = { algorithm: "md5" | "sha1" | "sha256" /** Base64. */; digest: string };
/** A part that is being received: the id of its bytes in storage. */
export type OpenPart = { id: string; incoming: Incoming };
export type ReceivedPart = OpenPart & { bytes: number; sha256: string };

export type PartsTarget = {
  open: () => Promise<OpenPart>;
  /** Makes the part durable and moves the offset behind it. */
  store: (part: ReceivedPart) => Promise<void>;
  clock: Clock;
  /** Called for each chunk of the body. */
  onChunk: () => void;
  /** Ends the reception like a broken connection. */
  signal: AbortSignal;
};

/** Size and age at which a part ends, and the time without a byte after which it ends. */
const PART_BYTES = 8 * 1024 * 1024;
const PART_MS = 10_000;
const PAUSE_MS = 3_000;
/** Status of a checksum that does not match, of tus. */
const CHECKSUM_MISMATCH = 460;

type Writing = OpenPart & { bytes: number; hash: Bun.CryptoHasher; begunMs: number };

const createPartWriter = ({ open, store, clock: { nowMs } }: PartsTarget) => {
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
const CONTINUE = "continue at the offset that HEAD returns";
/** A client of tus repeats a request after 503, not after 408. */
const interrupted = (why: Interruption) => {
  if (why === "slow")
    refuse("busy", `The body arrived at less than ${LEAST_BYTES_PER_S} bytes per second for a minute; ${CONTINUE}.`);
  if (why === "late") refuse("busy", `The body did not arrive within ${UPLOAD_MS / 60_000} minutes; ${CONTINUE}.`);
  return refuse("invalid_request", `The body did not arrive whole; ${CONTINUE}.`);
};
const mismatch = () =>
  refuse("invalid_request", "Upload-Checksum: the body has another checksum; its bytes were discarded.", {
    status: CHECKSUM_MISMATCH,
  });

/**
 * Stores the bytes of a body, at most `mostBytes`. Without a checksum, the bytes before a broken connection are stored as well.
 * @throws ApiError `body_too_large`, `invalid_request`, `busy` for a body that is too slow; StorageRefused; the errors of the target
 */
export const receiveParts = async (
  stream: ReadableStream<Uint8Array>,
  { mostBytes, checksum }: { mostBytes: number; checksum: Checksum | null },
  target: PartsTarget,
): Promise<void> => {
  const reader = createBodyReader(stream, target.clock, target.signal);
  const writer = createPartWriter(target);
  const sum = checksum && new Bun.CryptoHasher(checksum.algorithm);
  let bytes = 0;
  try {
    for (;;) {
      const read = await reader.next(PAUSE_MS);
      if (read === "whole") break;
      if (read === "pause") {
        // A request that takes over from this one, maybe on another node, continues behind these bytes.
        if (!sum) await writer.store();
        continue;
      }
      if (typeof read === "string") {
        if (!sum) await writer.store();
        return interrupted(read);
      }
      target.onChunk();
      bytes += read.length;
      if (bytes > mostBytes) tooLong(mostBytes);
      sum?.update(read);
      await writer.write(read);
      releaseChunk(read);
      if (!sum && writer.isFull()) await writer.store();
    }
    if (sum && sum.digest("base64") !== checksum?.digest) mismatch();
    await writer.store();
  } finally {
    reader.cancel();
    await writer.discard();
  }
};
