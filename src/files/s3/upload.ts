// Brings one file into the bucket: in one request or in parts, hashed as it is read, and looked at afterwards.
import { open } from "node:fs/promises";
import { BucketFault } from "./errors.ts";
import type { Bucket, ObjectHead, ObjectHeaders, Part } from "./s3-client.ts";

/** An object and what is written down of it. */
type Written = { name: string; bytes: number; sha256: string; words: ObjectHeaders };
/** A file and what is written down of it. */
export type Upload = Written & { path: string };
/** Bytes from a place on: a file that is open, or what is in memory. */
type Source = {
  read(into: Uint8Array, offset: number, length: number, position: number): Promise<{ bytesRead: number }>;
};

type Trying = {
  signal: AbortSignal;
  /** A pause in the service's time. */
  pause: (ms: number) => Promise<void>;
  /** Whether there is still time to clean up: a process that ends leaves that to the next one. */
  mayTidy: () => boolean;
};
type UploadOptions = Trying & {
  /** It was tried before, by this process or the one before: parts may be left, or the whole object be there. */
  isAgain: boolean;
};

/** The file on disk is not the one that was written down: nothing of it is sent on, and it stays where it is. */
export class LocalDamage extends Error {}

/** Larger files go in parts of this size: what is in memory of one. */
export const PART_BYTES = 8 * 1024 * 1024;
/** S3 takes no more parts; files that need more have larger ones. */
const MOST_PARTS = 10_000;
/** Read and hashed in one go: a fraction of a millisecond in which nobody is answered. */
const PIECE_BYTES = 256 * 1024;
/** Tries of one part, before the whole is given up for now. */
const PART_TRIES = 3;
const PART_PAUSE_MS = 1_000;

type Hash = Bun.CryptoHasher;
const sha256 = (): Hash => new Bun.CryptoHasher("sha256");

/** Reads the next bytes of a file into the buffer, and hashes them for each who asks. @returns how many there were */
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

/** What was left of a former try is given up; a service that cannot list leaves it to the bucket's own rule. */
const dropLeftovers = async (bucket: Bucket, name: string, signal: AbortSignal): Promise<void> => {
  try {
    for (const id of await bucket.begun(name, signal)) await bucket.abort(name, id, signal);
  } catch (fault) {
    if (!(fault instanceof BucketFault) || fault.kind === "away") throw fault;
  }
};

const inParts = async (bucket: Bucket, file: Source, what: Written, options: Trying): Promise<void> => {
  const { signal, pause, mayTidy } = options;
  const { name, bytes } = what;
  const partBytes = Math.max(PART_BYTES, Math.ceil(bytes / MOST_PARTS));
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
          if (tries === PART_TRIES || !(fault instanceof BucketFault) || fault.kind !== "away") throw fault;
          await pause(PART_PAUSE_MS * tries);
        }
      at += read;
    }
    if (whole.digest("hex") !== what.sha256) throw new LocalDamage("the file has other bytes than it had");
    await bucket.complete(name, id, parts, signal);
  } catch (fault) {
    // A signal of its own: the other one may be what ended it. What cannot be given up now is at the next try.
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

/** What was left of a former try is given up. @returns whether the whole object is there already. */
const isThere = async (bucket: Bucket, what: Written, signal: AbortSignal): Promise<boolean> => {
  // Without the right to list, a service says 403 of what is not there.
  const there = await bucket.head(what.name, signal).catch((fault: unknown) => {
    if (fault instanceof BucketFault && fault.kind !== "away") return undefined;
    throw fault;
  });
  if (what.bytes > PART_BYTES) await dropLeftovers(bucket, what.name, signal);
  return isTheSame(there, what);
};

const send = async (bucket: Bucket, source: Source, what: Written, options: Trying): Promise<ObjectHead> => {
  const { signal } = options;
  if (what.bytes > PART_BYTES) await inParts(bucket, source, what, options);
  else await inOne(bucket, source, what, signal);
  const there = await bucket.head(what.name, signal);
  // Some services do not keep the hash with the object; each has checked it on the way in.
  if (there && isTheSame({ ...there, sha256: there.sha256 ?? what.sha256 }, what)) return there;
  throw new BucketFault("away", "not_there", "the bucket took the file and does not show it");
};

/**
 * Uploads a file; when this resolves, the whole object has been seen in the bucket.
 * @throws BucketFault, LocalDamage, the system's error when the file cannot be read, and the signal's reason.
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

/** The same for bytes that are in memory and have no object yet. @returns what has been seen. @throws BucketFault, the signal's reason */
export const uploadBytes = async (
  bucket: Bucket,
  { bytes, ...what }: Omit<Written, "bytes"> & { bytes: Uint8Array },
  options: Trying,
): Promise<ObjectHead> => {
  if (bytes.length > PART_BYTES) await dropLeftovers(bucket, what.name, options.signal);
  const source: Source = {
    read: async (into, offset, length, position) => {
      const piece = bytes.subarray(position, position + length);
      into.set(piece, offset);
      return { bytesRead: piece.length };
    },
  };
  return send(bucket, source, { ...what, bytes: bytes.length }, options);
};
