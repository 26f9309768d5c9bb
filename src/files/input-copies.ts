// Stores copies of pinned inputs on disk and in the shared bucket, if any.
//
// The copies are short-lived and not part of backups.
import type { LocalFiles } from "./local.ts";
import { type Files, type Incoming, StorageUnavailable } from "./port.ts";
import { serveThrough } from "./proxy-download.ts";
import { dispositionOf, serveFile } from "./serve.ts";

/** A copy as recorded in the store. */
export type Copy = { n: number; sha256: string; mime: string };

export interface Copies extends Pick<Files, "receive" | "objectOf"> {
  receive(generationId: string, n: number): Promise<Incoming>;
  /** Reports whether the copy exists. @throws StorageUnavailable if this cannot be determined now */
  has(generationId: string, copy: Copy): Promise<boolean>;
  /**
   * Opens a copy from disk, after downloading it from the bucket if necessary; undefined if it no longer exists. @throws
   * StorageRefused
   */
  open(generationId: string, copy: Copy): Promise<Blob | undefined>;
  /** Responds to a request for a copy or a range of it; undefined if it no longer exists. */
  serve(generationId: string, copy: Copy, request: Request): Promise<Response | undefined>;
  /** Deletes the copies of a generation; succeeds if there are none. @throws StorageRefused */
  remove(generationId: string, copies: readonly number[]): Promise<void>;
  /** With a shared bucket, deletes local copies of generations that have ended. @throws StorageRefused */
  sweep(isOver: (generationId: string) => Promise<boolean>): Promise<void>;
}

/** A copy is requested once, by the provider that its link was signed for. */
const CACHE_CONTROL = "private, no-store";
/** The response redirects or proxies at once, so the link to the bucket is short-lived. */
const LINK_MS = 60_000;

/** @param shared the copies in the bucket that nodes share, or null */
export const createInputCopies = (local: LocalFiles, shared: Files | null, nowMs: () => number): Copies => {
  const nameOf = (id: string, { n }: Copy) => `${id}-input-${n}`;

  /** Requests the copy from the bucket; undefined without a bucket. */
  const requestBucket = async (id: string, copy: Copy, request: Request): Promise<Response | undefined> => {
    const { n, sha256, mime } = copy;
    const object = shared?.objectOf?.({ n, sha256 });
    const method = request.method === "HEAD" ? "HEAD" : "GET";
    const words = { mime, disposition: dispositionOf(mime, nameOf(id, copy)), cacheControl: CACHE_CONTROL };
    const location = shared?.link?.(id, n, { method, object, ...words, untilMs: nowMs() + LINK_MS });
    return location === undefined ? undefined : serveThrough(location, sha256, request);
  };

  /**
   * Downloads a copy and keeps it only if its hash matches. A process that has since exited may have uploaded other bytes under
   * this name.
   */
  const fetchCopy = async (id: string, copy: Copy): Promise<void> => {
    const answer = await requestBucket(id, copy, new Request("http://copy.invalid/"));
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
      const answer = await requestBucket(id, copy, new Request("http://copy.invalid/", { method: "HEAD" }));
      return answer?.status === 200;
    },
    open: async (id, copy) => {
      if (!(await local.open(id, copy.n)))
        await fetchCopy(id, copy).catch((fault: unknown) => {
          if (!(fault instanceof StorageUnavailable)) throw fault;
        });
      return local.open(id, copy.n);
    },
    serve: async (id, copy, request) => {
      const blob = await local.open(id, copy.n);
      const { sha256, mime } = copy;
      if (blob) return serveFile({ blob, mime, sha256, name: nameOf(id, copy), request, cacheControl: CACHE_CONTROL });
      return requestBucket(id, copy, request);
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
