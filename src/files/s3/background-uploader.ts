// Uploads files from local disk to the bucket in the background.
//
// The directory itself is the queue, so an upload survives a restart.
import type { Clock } from "../../domain/clock.ts";
import type { LocalFiles } from "../local.ts";
import { BucketError } from "./errors.ts";
import type { BucketHealth, ReportHealth } from "./health.ts";
import type { Bucket } from "./s3-client.ts";
import { LocalDamage, type Upload, uploadFile } from "./upload.ts";

/**
 * The recorded state of a file: upload it, wait, or remove it (its generation failed or its retention expired). Unknown files are
 * left.
 */
export type Fate =
  | { kind: "move"; upload: Omit<Upload, "path" | "name"> }
  | { kind: "wait" }
  | { kind: "remove" }
  | { kind: "leave" };

export type BackgroundUploaderOptions = {
  local: LocalFiles;
  bucket: Bucket;
  standing: BucketHealth;
  clock: Clock;
  report: ReportHealth;
  fateOf: (id: string, n: number) => Promise<Fate>;
  /** Maximum number of concurrent uploads. */
  atOnce?: number;
};

export interface BackgroundUploader {
  /** Queues the files that an earlier process left. */
  begin(): void;
  /** Queues a file that has been stored. */
  kept(id: string, n: number): void;
  /** Reports whether the complete file is in the bucket; its local copy will be deleted. */
  isMoved(id: string, n: number): boolean;
  /** Cancels all work for a generation; resolves when none is running. */
  forget(id: string): Promise<void>;
  /** Stops running uploads; the next process continues them. */
  stop(): Promise<void>;
  /** Number of files that wait or are being uploaded, as far as they have been counted. */
  waiting(): number;
  /** Number of those files that the bucket refused although it accepts others. */
  setAside(): number;
}

const AT_ONCE = 4;
/** The generation of a stored file usually ends within this time. */
const FIRST_CHECK_MS = 500;
const MAX_CHECK_MS = 60_000;
/** A local copy is kept for this time after its upload, for responses that are about to read it. */
const GRACE_MS = 30_000;
/** A file that fails by itself is retried after these pauses, while the others continue. */
const ASIDE_MS = 60_000;
const MAX_ASIDE_MS = 3_600_000;

type Item = { id: string; n: number; looks: number; failures: number; isAgain: boolean };
type Run = { id: string; letGo: AbortController; done: Promise<void> };
const keyOf = (id: string, n: number) => `${id}/${n}`;

export const createBackgroundUploader = (options: BackgroundUploaderOptions): BackgroundUploader => {
  const { local, bucket, standing, clock, report, fateOf, atOnce = AT_ONCE } = options;
  const queue = new Map<string, Item>();
  const later = new Map<string, { id: string; takeBack: () => void }>();
  const running = new Map<string, Run>();
  const moved = new Map<string, { id: string; takeBack: () => void }>();
  /** Keys of the files that failed by themselves. */
  const aside = new Set<string>();
  let homes: string[] = [];
  let isReading = false;
  let wake: (() => void) | null = null;
  let isStopped = false;

  const retryLater = (item: Item, ms: number) => {
    const key = keyOf(item.id, item.n);
    const takeBack = clock.after(ms, () => {
      later.delete(key);
      queue.set(key, item);
      pump();
    });
    later.set(key, { id: item.id, takeBack });
  };
  const pause = (signal: AbortSignal) => (ms: number) =>
    new Promise<void>((resolve, stop) => {
      const end = () => {
        takeBack();
        stop(signal.reason);
      };
      const takeBack = clock.after(ms, () => {
        signal.removeEventListener("abort", end);
        resolve();
      });
      if (signal.aborted) end();
      else signal.addEventListener("abort", end, { once: true });
    });

  const settle = ({ id, n }: Item) => {
    const key = keyOf(id, n);
    const takeBack = clock.after(GRACE_MS, () => {
      // If the disk refuses the deletion, the next start finds the copy and verifies that the object is in the bucket.
      void local
        .drop(id, n)
        .catch(() => undefined)
        .then(() => moved.delete(key));
    });
    moved.set(key, { id, takeBack });
  };

  const move = async (item: Item, signal: AbortSignal): Promise<void> => {
    const { id, n } = item;
    const fate = await fateOf(id, n).catch((): Fate => ({ kind: "wait" }));
    if (signal.aborted) return;
    if (fate.kind === "wait") return retryLater(item, Math.min(MAX_CHECK_MS, FIRST_CHECK_MS * 2 ** ++item.looks));
    if (fate.kind === "remove") return local.remove(id).catch(() => undefined);
    if (fate.kind === "leave") return;
    const { isAgain } = item;
    item.isAgain = true;
    const what = { ...fate.upload, name: bucket.nameOf(id, n), path: local.pathOf(id, n) };
    await uploadFile(bucket, what, { isAgain, signal, pause: pause(signal), mayTidy: () => !isStopped });
    standing.worked();
    aside.delete(keyOf(id, n));
    if (!signal.aborted) settle(item);
  };

  const failed = (item: Item, fault: unknown) => {
    if (fault instanceof BucketError && fault.kind !== "object") {
      standing.failed(fault);
      // Requeued at the end, so that other files proceed if this one is the cause after all.
      queue.set(keyOf(item.id, item.n), item);
      return;
    }
    if (fault instanceof Error && "code" in fault && fault.code === "ENOENT" && !(fault instanceof BucketError)) return;
    item.failures += 1;
    aside.add(keyOf(item.id, item.n));
    if (item.failures === 1) {
      const reason = fault instanceof BucketError || fault instanceof LocalDamage ? fault.message : "the disk refused";
      report("file not uploaded", { generation_id: item.id, count: item.n, reason });
    }
    retryLater(item, Math.min(MAX_ASIDE_MS, ASIDE_MS * 2 ** (item.failures - 1)));
  };

  const run = (key: string, item: Item) => {
    const letGo = new AbortController();
    const done = move(item, letGo.signal)
      .catch((fault: unknown) => {
        if (!letGo.signal.aborted) failed(item, fault);
      })
      .then(() => {
        running.delete(key);
        pump();
      });
    running.set(key, { id: item.id, letGo, done });
  };

  /** Reads the next directory that an earlier process left. */
  const readOn = () => {
    if (isReading) return;
    const home = homes.shift();
    if (home === undefined) return;
    isReading = true;
    void local
      .keptIn(home)
      .catch(() => [])
      .then((found) => {
        isReading = false;
        for (const { id, n } of found) {
          const key = keyOf(id, n);
          if (!later.has(key) && !running.has(key) && !moved.has(key) && !queue.has(key))
            queue.set(key, { id, n, looks: 0, failures: 0, isAgain: true });
        }
        pump();
      });
  };

  const pump = (): void => {
    if (isStopped) return;
    const restMs = standing.fault() === null ? 0 : standing.againAtMs() - clock.nowMs();
    if (restMs > 0) {
      wake ??= clock.after(restMs, () => {
        wake = null;
        pump();
      });
      return;
    }
    // While the bucket is unavailable, a single upload tests it.
    const most = standing.fault() === null ? atOnce : 1;
    for (const [key, item] of queue) {
      if (running.size >= most) return;
      queue.delete(key);
      run(key, item);
    }
    if (queue.size === 0 && running.size < most) readOn();
  };

  return {
    begin: () => {
      local.homes().then(
        (found) => {
          homes = found;
          pump();
        },
        // An unreadable directory is reported by the next write to it.
        () => undefined,
      );
    },
    kept: (id, n) => {
      const key = keyOf(id, n);
      moved.get(key)?.takeBack();
      moved.delete(key);
      if (isStopped || later.has(key) || queue.has(key)) return;
      retryLater({ id, n, looks: 0, failures: 0, isAgain: false }, FIRST_CHECK_MS);
    },
    isMoved: (id, n) => moved.has(keyOf(id, n)),
    forget: async (id) => {
      for (const key of aside) if (key.startsWith(`${id}/`)) aside.delete(key);
      for (const waiting of [later, moved])
        for (const [key, entry] of waiting)
          if (entry.id === id) {
            entry.takeBack();
            waiting.delete(key);
          }
      for (const [key, item] of queue) if (item.id === id) queue.delete(key);
      const under = [...running.values()].filter((each) => each.id === id);
      for (const { letGo } of under) letGo.abort();
      await Promise.all(under.map(({ done }) => done));
    },
    stop: async () => {
      isStopped = true;
      wake?.();
      for (const { takeBack } of [...later.values(), ...moved.values()]) takeBack();
      for (const { letGo } of running.values()) letGo.abort();
      await Promise.all([...running.values()].map(({ done }) => done));
    },
    waiting: () => queue.size + later.size + running.size,
    setAside: () => aside.size,
  };
};
