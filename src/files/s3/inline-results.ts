// Stores embedded result files in the shared bucket before their address is recorded.

import { type Spool, spooledAs } from "../inline-spool.ts";
import { SPOOLED, StorageUnavailable } from "../port.ts";
import { BucketError } from "./errors.ts";
import type { BucketHealth } from "./health.ts";
import type { Bucket } from "./s3-client.ts";
import { type Arriving, objectOf } from "./upload-before-commit.ts";

export type AnsweredOptions = {
  bucket: Bucket;
  standing: BucketHealth;
  arriving: Arriving;
  /** This node's disk: files from before nodes shared the bucket, and files stored while it was unavailable. */
  former: Spool;
  ending: AbortSignal;
};

/** Hashing yields to the event loop after this many bytes. */
const HASHED_AT_ONCE = 4 * 1024 * 1024;

/** The body of a generation id, the attempt number and the object below the generation. */
const ADDRESS = new RegExp(`^${SPOOLED}([0-9a-z]{1,76})-\\d{1,4}/([1-9]\\d?-[0-9a-f]{32})$`);

/**
 * The address names the object of the final result. When the result has been collected and verified, the object already exists;
 * it needs no upload and no deletion. An object of an attempt that did not deliver is deleted with the files of its generation.
 */
export const createInlineResults = ({ bucket, standing, arriving, former, ending }: AnsweredOptions): Spool => {
  const keep: Spool["keep"] = async (ref, n, pieces, mime) => {
    const hash = new Bun.CryptoHasher("sha256");
    let hashed = 0;
    for (const piece of pieces) {
      hash.update(piece);
      hashed += piece.length;
      if (hashed < HASHED_AT_ONCE) continue;
      await new Promise(setImmediate);
      hashed = 0;
    }
    const bytes = Buffer.concat(pieces);
    const sha256 = hash.digest("hex");
    const object = objectOf({ n, sha256 });
    await arriving.send(`gen_${ref.slice(0, ref.lastIndexOf("-"))}`, { n, sha256, bytes: bytes.length, mime, object }, bytes);
    return `${SPOOLED}${ref}/${object}`;
  };
  return {
    keep,
    keepHere: former.keep,
    share: async (url, mime) => {
      const { ref, n } = spooledAs(url) ?? {};
      const blob = ref === undefined ? undefined : await former.open(url);
      if (ref === undefined || n === undefined || blob === undefined) return url;
      return keep(ref, n, [await blob.bytes()], mime);
    },
    open: async (url) => {
      const [, body, object] = ADDRESS.exec(url) ?? [];
      if (body === undefined || object === undefined) return former.open(url);
      try {
        const bytes = await bucket.read(bucket.nameOf(`gen_${body}`, object), ending);
        return bytes && new Blob([bytes]);
      } catch (fault) {
        if (fault instanceof BucketError && fault.kind !== "object") standing.failed(fault);
        throw new StorageUnavailable(fault instanceof BucketError ? fault.message : "the service is stopping");
      }
    },
    sweep: former.sweep,
  };
};
