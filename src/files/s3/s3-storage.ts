// Result files in a bucket: there before they count, or moved by and by; answered from wherever they are, deleted in both places.
import type { Clock } from "../../domain/clock.ts";
import type { GenerationRecord } from "../../domain/types.ts";
import type { Spool } from "../inline-spool.ts";
import type { LocalFiles } from "../local.ts";
import { type Files, StorageUnavailable } from "../port.ts";
import { createBackgroundUploader, type Fate } from "./background-uploader.ts";
import type { BucketSettings } from "./bucket-config.ts";
import { BucketFault } from "./errors.ts";
import { createBucketHealth, type ReportHealth } from "./health.ts";
import { createInlineResults } from "./inline-results.ts";
import { createS3Client } from "./s3-client.ts";
import { createUploadBeforeCommit, headersOf, objectOf } from "./upload-before-commit.ts";

export type BucketFilesOptions = {
  settings: BucketSettings;
  /** Whether what is on disk is moved; if not, the bucket only answers for what is in it already. */
  moves: boolean;
  /** Whether other nodes answer for the same files: then a new one is in the bucket before it counts as kept. */
  shared: boolean;
  local: LocalFiles;
  /** What came inside answers, on this node's disk. */
  spool: Spool;
  clock: Clock;
  /** A number in [0, 1). */
  chance: () => number;
  tell: ReportHealth;
  /** What is written down of a generation. */
  recordOf: (id: string) => Promise<GenerationRecord | undefined>;
  /** Seconds that a link is valid at most. */
  linkS: number;
};

export type BucketFiles = {
  files: Files;
  spool: Spool;
  /** Looks whether the bucket takes files, and takes up what a former process has left; nobody waits for it. */
  begin(): void;
  stop(): Promise<void>;
  /** Files that wait on disk for the bucket, as far as they have been counted, and why they do. */
  /** Whether the bucket takes nothing at the moment. */
  isDown(): boolean;
  waiting(): { files: number; setAside: number; reason: string | null };
};

/** Written and deleted at a start, and by nodes whose bucket is down: it shows that the access key may do both. */
const TRIAL = "genrouter-start";
const LEAST_TRIAL_PAUSE_MS = 1_000;
/** A link that is handed out in the last moment of another one still opens. */
const LEAST_LINK_S = 60;

/** What becomes of a file, by what is written down of its generation. */
const fateIn = (record: GenerationRecord | undefined, n: number): Fate => {
  if (record === undefined) return { kind: "leave" };
  if (record.status === "queued" || record.status === "running") return { kind: "wait" };
  if (record.status === "failed" || record.filesExpiredAtMs !== null) return { kind: "remove" };
  const file = record.output?.files.find((one) => one.n === n);
  if (file === undefined) return { kind: "leave" };
  // What is on disk is of another try, from before nodes shared the bucket.
  if (file.object !== undefined) return { kind: "remove" };
  return { kind: "move", upload: { bytes: file.bytes, sha256: file.sha256, words: headersOf(record.id, file) } };
};

/** Opens it; nothing is asked of the bucket before `begin`. @throws BucketConfigError */
export const createS3Storage = (options: BucketFilesOptions): BucketFiles => {
  const { local, clock, chance, tell, recordOf, linkS } = options;
  const bucket = createS3Client(options.settings, clock);
  const ending = new AbortController();
  const deleting = createBucketHealth({ clock, chance, tell, consequence: "files past their retention stay in it for now" });
  const consequence = options.shared
    ? "results wait for it, and are charged when they are in it"
    : "files stay on disk and are served from there";
  const standing = createBucketHealth({ clock, chance, tell, consequence });
  let takeBackTrial: (() => void) | null = null;
  const planTrial = () => {
    const pauseMs = Math.max(LEAST_TRIAL_PAUSE_MS, standing.againAtMs() - clock.nowMs());
    takeBackTrial ??= clock.after(pauseMs, () => {
      takeBackTrial = null;
      void tryIt();
    });
  };
  const failed = (fault: BucketFault) => {
    standing.failed(fault);
    // A node takes no work while the bucket is down: nothing but this trial would find that it is back.
    if (options.shared && !ending.signal.aborted) planTrial();
  };
  const moving = { ...standing, failed };
  const mover = options.moves
    ? createBackgroundUploader({
        local,
        bucket,
        standing: moving,
        clock,
        tell,
        fateOf: async (id, n) => fateIn(await recordOf(id), n),
      })
    : null;

  const drop = async (name: string): Promise<void> => {
    try {
      await bucket.delete(name, ending.signal);
      deleting.worked();
    } catch (fault) {
      if (fault instanceof BucketFault) deleting.failed(fault);
      throw new StorageUnavailable(fault instanceof BucketFault ? fault.message : "the service is stopping");
    }
  };
  const arriving = options.shared
    ? createUploadBeforeCommit({ local, bucket, standing: moving, clock, tell, ending: ending.signal })
    : null;
  /** What is there besides what is written down: of a node that did not live to tell of it, or of an attempt that did not deliver. */
  const untold = async (id: string): Promise<string[]> => {
    try {
      return options.shared ? await bucket.list(id, ending.signal) : [];
    } catch (fault) {
      // Without the right to list it is left to the bucket's own rule.
      if (fault instanceof BucketFault && fault.kind !== "away") return [];
      if (fault instanceof BucketFault) deleting.failed(fault);
      throw new StorageUnavailable(fault instanceof BucketFault ? fault.message : "the service is stopping");
    }
  };
  const trial = `${options.settings.prefix}${TRIAL}`;
  const putTrial = async (): Promise<void> => {
    const bytes = new TextEncoder().encode("written and deleted by genrouter to see whether the bucket takes files\n");
    const words = { mime: "text/plain", disposition: "inline", cacheControl: "no-store" };
    await bucket.put(trial, bytes, new Bun.CryptoHasher("sha256").update(bytes).digest("hex"), words, ending.signal);
  };
  const tryIt = async (): Promise<void> => {
    try {
      await putTrial();
      await bucket.head(trial, ending.signal);
    } catch (fault) {
      if (!(fault instanceof BucketFault)) return;
      moving.failed(fault);
      planTrial();
      return;
    }
    moving.worked();
    await drop(trial).catch(() => undefined);
  };

  return {
    files: {
      ...(arriving ? { objectOf, isAway: () => moving.fault() !== null } : {}),
      receive: async (id, n) => {
        if (arriving) return arriving.receive(id, n);
        const incoming = await local.receive(id, n);
        if (mover === null) return incoming;
        const keep = async () => {
          await incoming.keep();
          mover.kept(id, n);
        };
        return { ...incoming, keep };
      },
      open: async (id, n) => (mover?.isMoved(id, n) ? undefined : local.open(id, n)),
      link: (id, n, { method, object, untilMs, ...words }) => {
        const leftS = untilMs === undefined ? linkS : Math.floor((untilMs - clock.nowMs()) / 1000);
        return bucket.link(method, bucket.nameOf(id, object ?? n), words, Math.min(linkS, Math.max(LEAST_LINK_S, leftS)));
      },
      remove: async (id) => {
        await mover?.forget(id);
        const record = await recordOf(id);
        const files = record?.output?.files ?? [];
        // What has been moved leaves gaps, where the other way of removing would stop.
        for (const { n } of files) await local.drop(id, n);
        await local.remove(id);
        const told = files.map(({ n, object }) => object ?? `${n}`);
        for (const object of new Set([...told, ...(await untold(id))])) await drop(bucket.nameOf(id, object));
      },
    },
    spool: arriving
      ? createInlineResults({ bucket, standing: moving, arriving, former: options.spool, ending: ending.signal })
      : options.spool,
    begin: () => {
      mover?.begin();
      if (mover) void tryIt();
    },
    stop: async () => {
      ending.abort();
      takeBackTrial?.();
      await mover?.stop();
    },
    isDown: moving.isDown,
    waiting: () => ({
      files: mover?.waiting() ?? 0,
      setAside: (mover?.setAside() ?? 0) + (arriving?.setAside() ?? 0),
      reason: moving.fault()?.message ?? null,
    }),
  };
};
