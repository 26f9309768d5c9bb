// Stores archive objects in the bucket permanently, named by content, never overwritten.
//
// The bucket's lifecycle rules are checked, because they could delete archives.
import type { Clock } from "../../domain/clock.ts";
import type { BucketSettings } from "./bucket-config.ts";
import { BucketError } from "./errors.ts";
import { patiently } from "./retry.ts";
import { type Bucket, createS3Client, type ObjectHead, type ObjectHeaders, TOO_LARGE } from "./s3-client.ts";
import { uploadBytes } from "./upload.ts";

/** Prefix of archive objects. Result files are below their generations (`gen_…`), and sweeps read nothing else. */
const ARCHIVE = "archive";

export interface ArchiveObjects {
  /** Prefix of the object names. */
  below: string;
  describe(name?: string): string;
  /** The last name segments of the objects directly below the prefix. */
  list(): Promise<string[]>;
  read(name: string, mostBytes: number): Promise<Uint8Array | "larger" | undefined>;
  /** @returns false if the name exists with other bytes, which are left unchanged */
  keep(name: string, bytes: Uint8Array): Promise<boolean>;
  /** @returns false if another writer owns the name */
  complete(name: string, bytes: Uint8Array): Promise<boolean>;
  /** The deletion that a lifecycle rule of the bucket has scheduled; undefined if the bucket reports none. */
  danger(name: string): Promise<string | undefined>;
}

export type ArchiveObjectsOptions = {
  settings: BucketSettings;
  clock: Clock;
  signal: AbortSignal;
};

/** A rule that deletes later is a decision about old archives. A rule that deletes earlier was intended for result files. */
const MIN_KEPT_MS = 366 * 86_400_000;
const NAMES = /^[0-9a-f]{16}$/;

const wordsOf = (name: string): ObjectHeaders => ({
  mime: name.endsWith(".json") ? "application/json" : "application/gzip",
  disposition: "attachment",
  cacheControl: "private",
});
const sha256Of = (bytes: Uint8Array): string => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");

const dangerIn = ({ expires }: Pick<ObjectHead, "expires">, nowMs: number): string | undefined => {
  const date = /expiry-date="([^"]*)"/.exec(expires ?? "")?.[1];
  const atMs = date === undefined ? Number.NaN : Date.parse(date);
  if (!(atMs < nowMs + MIN_KEPT_MS)) return undefined;
  return `a rule of the bucket (lifecycle) deletes it on ${new Date(atMs).toISOString().slice(0, 10)}: let the rule leave ${ARCHIVE}/ alone, as in deploy/S3.md`;
};

/** The ids that have archive objects. @throws BucketError, BucketConfigError */
export const archiveObjectsIn = async ({ settings, clock, signal }: ArchiveObjectsOptions): Promise<string[]> => {
  const bucket = createS3Client(settings, clock);
  const { folders } = await bucket.listBelow(bucket.nameOf(ARCHIVE, ""), signal);
  return folders.filter((name) => NAMES.test(name)).sort();
};

const readFrom = async (bucket: Bucket, name: string, mostBytes: number, signal: AbortSignal) => {
  try {
    return await bucket.read(name, signal, mostBytes);
  } catch (fault) {
    if (fault instanceof BucketError && fault.code === TOO_LARGE) return "larger";
    throw fault;
  }
};

/**
 * Opens the archive objects of an id without a request. All methods except `list` retry while the bucket is unavailable for a
 * moment.
 * @throws BucketConfigError; its methods throw BucketError and the reason of the signal
 */
export const createArchiveObjects = (id: string, { settings, clock, signal }: ArchiveObjectsOptions): ArchiveObjects => {
  const bucket = createS3Client(settings, clock);
  const nameOf = (name: string): string => bucket.nameOf(`${ARCHIVE}/${id}`, name);
  const pause = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));
  const patient = <T>(work: () => Promise<T>): Promise<T> => patiently(work, pause);
  const requireNoExpiry = (head: ObjectHead): void => {
    const danger = dangerIn(head, clock.nowMs());
    if (danger !== undefined) throw new BucketError("refused", "expires", `it takes what is archived, and ${danger}`);
  };

  return {
    below: nameOf(""),
    describe: (name = "") => `bucket ${settings.bucket}, ${nameOf(name)}`,
    list: async () => (await bucket.listBelow(nameOf(""), signal)).names,
    read: (name, mostBytes) => patient(() => readFrom(bucket, nameOf(name), mostBytes, signal)),
    keep: (name, bytes) =>
      patient(async () => {
        const what = { name: nameOf(name), bytes, sha256: sha256Of(bytes), words: wordsOf(name) };
        const there = await bucket.head(what.name, signal);
        requireNoExpiry(there ?? (await uploadBytes(bucket, what, { signal, pause, mayTidy: () => !signal.aborted })));
        return there === undefined || (there.bytes === bytes.length && there.sha256 === what.sha256);
      }),
    complete: (name, bytes) =>
      patient(async () => {
        // Some services silently ignore conditional writes.
        if ((await bucket.head(nameOf(name), signal)) === undefined)
          await bucket.putNew(nameOf(name), bytes, sha256Of(bytes), wordsOf(name), signal);
        // If the response was lost, this process's own object looks like that of another writer, so the bytes are compared.
        const there = await readFrom(bucket, nameOf(name), bytes.length, signal);
        if (there === undefined)
          throw new BucketError("unavailable", "not_there", "the bucket took the file and does not show it");
        return there !== "larger" && Buffer.from(there).equals(bytes);
      }),
    danger: async (name) => {
      const there = await patient(() => bucket.head(nameOf(name), signal));
      return there && dangerIn(there, clock.nowMs());
    },
  };
};
