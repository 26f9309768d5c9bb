// Copies of pinned inputs: kept beside the result files, short-lived, in no backup; in the bucket too where nodes share one.
import type { LocalFiles } from "./local.ts";
import { type Files, type Incoming, StorageUnavailable } from "./port.ts";
import { serveThrough } from "./proxy-download.ts";
import { dispositionOf, serveFile } from "./serve.ts";

/** A copy as it is written down. */
export type Copy = { n: number; sha256: string; mime: string };

export interface Copies extends Pick<Files, "receive" | "objectOf"> {
  receive(generationId: string, n: number): Promise<Incoming>;
  /** Whether it is there. @throws StorageUnavailable where that cannot be asked now */
  has(generationId: string, copy: Copy): Promise<boolean>;
  /** A blob that streams from disk, brought there where it is not; undefined when it is gone. @throws StorageRefused */
  open(generationId: string, copy: Copy): Promise<Blob | undefined>;
  /** Answers a request for it, whole or in part; undefined when it is gone. */
  serve(generationId: string, copy: Copy, request: Request): Promise<Response | undefined>;
  /** Deletes those of a generation; fine when there are none. @throws StorageRefused */
  remove(generationId: string, copies: readonly number[]): Promise<void>;
  /** Where nodes share a bucket: deletes what this node has brought for generations that are over. @throws StorageRefused */
  sweep(isOver: (generationId: string) => Promise<boolean>): Promise<void>;
}

/** It is opened once, and by nobody but whom it was made for. */
const CACHE_CONTROL = "private, no-store";
/** A link to the bucket is used at once. */
const LINK_MS = 60_000;

/** @param shared where nodes share a bucket: the copies there, which each of them reaches */
export const createInputCopies = (local: LocalFiles, shared: Files | null, nowMs: () => number): Copies => {
  const nameOf = (id: string, { n }: Copy) => `${id}-input-${n}`;

  /** Asks the bucket for it; undefined where there is none to ask. */
  const askBucket = async (id: string, copy: Copy, request: Request): Promise<Response | undefined> => {
    const { n, sha256, mime } = copy;
    const object = shared?.objectOf?.({ n, sha256 });
    const method = request.method === "HEAD" ? "HEAD" : "GET";
    const words = { mime, disposition: dispositionOf(mime, nameOf(id, copy)), cacheControl: CACHE_CONTROL };
    const location = shared?.link?.(id, n, { method, object, ...words, untilMs: nowMs() + LINK_MS });
    return location === undefined ? undefined : serveThrough(location, sha256, request);
  };

  /** Only a copy of these very bytes is left under its name: another may have been fetched by a process that was ended since. */
  const bring = async (id: string, copy: Copy): Promise<void> => {
    const answer = await askBucket(id, copy, new Request("http://copy.invalid/"));
    if (answer?.status !== 200) return;
    const incoming = await local.receive(id, copy.n);
    const hash = new Bun.CryptoHasher("sha256");
    try {
      for await (const piece of answer.body ?? []) {
        hash.update(piece);
        await incoming.write(piece);
      }
      if (hash.digest("hex") === copy.sha256) await incoming.keep();
    } finally {
      await incoming.discard();
    }
  };

  return {
    receive: (id, n) => (shared ?? local).receive(id, n),
    ...(shared?.objectOf ? { objectOf: shared.objectOf } : {}),
    has: async (id, copy) => {
      if (await local.open(id, copy.n)) return true;
      const answer = await askBucket(id, copy, new Request("http://copy.invalid/", { method: "HEAD" }));
      return answer?.status === 200;
    },
    open: async (id, copy) => {
      if (!(await local.open(id, copy.n)))
        await bring(id, copy).catch((fault: unknown) => {
          if (!(fault instanceof StorageUnavailable)) throw fault;
        });
      return local.open(id, copy.n);
    },
    serve: async (id, copy, request) => {
      const blob = await local.open(id, copy.n);
      const { sha256, mime } = copy;
      if (blob) return serveFile({ blob, mime, sha256, name: nameOf(id, copy), request, cacheControl: CACHE_CONTROL });
      return askBucket(id, copy, request);
    },
    remove: async (id, copies) => {
      for (const n of copies) await local.drop(id, n);
      await local.remove(id);
      await shared?.remove(id);
    },
    sweep: async (isOver) => {
      if (!shared) return;
      for (const home of await local.homes())
        for (const { id, n } of await local.keptIn(home)) if (await isOver(id)) await local.drop(id, n);
    },
  };
};
