// Uploads one file to the bucket and verifies it afterwards.
//
// Large files are uploaded in parts. Every byte is hashed while it is read.
import { open } from "node:fs/promises";
import { joined } from "../../collections/chunks.ts";
import { BucketError } from "./errors.ts";
import type { Bucket, ObjectHead, ObjectHeaders, Part } from "./s3-client.ts";

/** An object and its recorded properties. */
type Written = { name: string; bytes: number; sha256: string; words: ObjectHeaders };
/** A local file and its recorded properties. */
export type Upload = Written & { path: string };
/** Random access to the bytes of an open file or a buffer. */
type Source = {
  read(into: Uint8Array, offset: number, length: number, position: number): Promise<{ bytesRead: number }>;
};

type Trying = {
  signal: AbortSignal;
  /** Pauses on the service clock. */
  pause: (ms: number) => Promise<void>;
  /** Whether there is time to clean up; a process that exits leaves this to the next one. */
  mayTidy: () => boolean;
};
type UploadOptions = Trying & {
  /** An earlier try may have left parts or the complete object. */
  isAgain: boolean;
};

/** The local file differs from its record. Its upload stops, and it stays in place. */
export class LocalDamage extends Error {}

/** Larger files are uploaded in parts of this size, which is also the memory used for one file. */
export const PART_BYTES = 8 * 1024 * 1024;
/** S3 accepts at most this many parts; larger files have larger parts. */
const MAX_PARTS = 10_000;
/** Bytes read and hashed at once; this blocks the event loop for a fraction of a millisecond. */
const PIECE_BYTES = 256 * 1024;
/** Tries of one part before the upload fails for now. */
const PART_TRIES = 3;
const PART_PAUSE_MS = 1_000;

type Hash = Bun.CryptoHasher;
const sha256 = (): Hash => new Bun.CryptoHasher("sha256");

/** Reads the next bytes of a file into the buffer and adds them to the hashes. @returns the number of bytes */
const readInto = async (file: Source, buffer: Uint8Array, at: number, hashes: readonly Hash[]): Promise<number> => {
  let filled = 0;
  while (filled < buffer.length) {
    const most = Math.min(PIECE_BYTES, buffer.length - filled);
    const { bytesRead } = await file.read(buffer, filled, most, at + filled);
    if (bytesRead === 0) break;
    for (const hash of hashes) hash.update(buffer.subarray(filled, filled + bytesRead));
    filled += bytesRead;
  }
  return filled;
};

const isTheSame = (head: ObjectHead | undefined, { bytes, sha256: hash }: Written): boolean =>
  head !== undefined && head.bytes === bytes && head.sha256 === hash;

/**
 * Aborts unfinished uploads of earlier tries. If the service does not permit listing, the bucket's lifecycle rule removes them.
 */
export const dropLeftovers = async (
  bucket: Bucket,
  { name, bytes }: Pick<Written, "name" | "bytes">,
  signal: AbortSignal,
): Promise<void> => {
  if (bytes <= PART_BYTES) return;
  try {
    for (const id of await bucket.begun(name, signal)) await bucket.abort(name, id, signal);
  } catch (fault) {
    if (!(fault instanceof BucketError) || fault.kind === "unavailable") throw fault;
  }
};

const inParts = async (bucket: Bucket, file: Source, what: Written, options: Trying): Promise<void> => {
  const { signal, pause, mayTidy } = options;
  const { name, bytes } = what;
  const partBytes = Math.max(PART_BYTES, Math.ceil(bytes / MAX_PARTS));
  const id = await bucket.begin(name, what.sha256, what.words, signal);
  try {
    const whole = sha256();
    const buffer = new Uint8Array(partBytes);
    const parts: Part[] = [];
    for (let at = 0; at < bytes; ) {
      const own = sha256();
      const read = await readInto(file, buffer.subarray(0, Math.min(partBytes, bytes - at)), at, [own, whole]);
      if (read === 0) throw new LocalDamage("the file is shorter than it was");
      const hash = own.digest("hex");
      const piece = buffer.subarray(0, read);
      for (let tries = 1; ; tries += 1)
        try {
          parts.push(await bucket.part(name, id, parts.length + 1, piece, hash, signal));
          break;
        } catch (fault) {
          if (tries === PART_TRIES || !(fault instanceof BucketError) || fault.kind !== "unavailable") throw fault;
          await pause(PART_PAUSE_MS * tries);
        }
      at += read;
    }
    if (whole.digest("hex") !== what.sha256) throw new LocalDamage("the file has other bytes than it had");
    await bucket.complete(name, id, parts, signal);
  } catch (fault) {
    // Uses a separate signal, because the other one may have caused the abort. An upload that cannot be aborted now is aborted at
    // the next try.
    if (mayTidy()) await bucket.abort(name, id, new AbortController().signal).catch(() => undefined);
    throw fault;
  }
};

const inOne = async (bucket: Bucket, file: Source, what: Written, signal: AbortSignal): Promise<void> => {
  const whole = sha256();
  const buffer = new Uint8Array(what.bytes);
  const read = await readInto(file, buffer, 0, [whole]);
  if (read < what.bytes) throw new LocalDamage("the file is shorter than it was");
  if (whole.digest("hex") !== what.sha256) throw new LocalDamage("the file has other bytes than it had");
  await bucket.put(what.name, buffer, what.sha256, what.words, signal);
};

/** Aborts unfinished uploads of earlier tries. @returns whether the complete object already exists */
const isThere = async (bucket: Bucket, what: Written, signal: AbortSignal): Promise<boolean> => {
  // Without the permission to list, a service returns 403 for an object that does not exist.
  const there = await bucket.head(what.name, signal).catch((fault: unknown) => {
    if (fault instanceof BucketError && fault.kind !== "unavailable") return undefined;
    throw fault;
  });
  await dropLeftovers(bucket, what, signal);
  return isTheSame(there, what);
};

/** Looks at an object that the service has taken. @throws BucketError unless the service shows it complete */
const requireThere = async (bucket: Bucket, what: Written, signal: AbortSignal): Promise<ObjectHead> => {
  const there = await bucket.head(what.name, signal);
  // Some services do not store the hash with the object, but each has verified it during the upload.
  if (there && isTheSame({ ...there, sha256: there.sha256 ?? what.sha256 }, what)) return there;
  throw new BucketError("unavailable", "not_there", "the bucket took the file and does not show it");
};

const send = async (bucket: Bucket, source: Source, what: Written, options: Trying): Promise<ObjectHead> => {
  if (what.bytes > PART_BYTES) await inParts(bucket, source, what, options);
  else await inOne(bucket, source, what, options.signal);
  return requireThere(bucket, what, options.signal);
};

/**
 * Uploads a file; when the promise resolves, the complete object has been verified in the bucket.
 * @throws BucketError, LocalDamage, the system error if the file cannot be read, and the reason of the signal
 */
export const uploadFile = async (bucket: Bucket, what: Upload, options: UploadOptions): Promise<void> => {
  if (options.isAgain && (await isThere(bucket, what, options.signal))) return;
  const file = await open(what.path, "r");
  try {
    const { size } = await file.stat();
    if (size !== what.bytes) throw new LocalDamage(`the file has ${size} bytes and had ${what.bytes}`);
    await send(bucket, file, what, options);
  } finally {
    await file.close();
  }
};

/**
 * Like `uploadFile`, for a small file in memory, with one request. A service that has verified the hash and answers with the entity
 * tag has stored the object; another answer comes from something else, and the object is looked at.
 */
export const uploadHeld = async (
  bucket: Bucket,
  what: Written,
  chunks: readonly Uint8Array[],
  signal: AbortSignal,
): Promise<void> => {
  if (!(await bucket.put(what.name, joined(chunks), what.sha256, what.words, signal))) await requireThere(bucket, what, signal);
};

/**
 * Like `uploadFile`, for bytes in memory that have no object yet. @returns the verified metadata. @throws BucketError, the reason
 * of the signal
 */
export const uploadBytes = async (
  bucket: Bucket,
  { bytes, ...what }: Omit<Written, "bytes"> & { bytes: Uint8Array },
  options: Trying,
): Promise<ObjectHead> => {
  await dropLeftovers(bucket, { name: what.name, bytes: bytes.length }, options.signal);
  const source: Source = {
    read: async (into, offset, length, position) => {
      const piece = bytes.subarray(position, position + length);
      into.set(piece, offset);
      return { bytesRead: piece.length };
    },
  };
  return send(bucket, source, { ...what, bytes: bytes.length }, options);
};
