// Opens the result files where the settings have them: on local disk, there first and then in a bucket, or in a bucket alone.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BadSetting, type Settings } from "../config/schema.ts";
import type { Clock } from "../domain/clock.ts";
import { seqOfGenerationId } from "../domain/ids.ts";
import type { Log } from "../logging/events.ts";
import type { StoreReads } from "../store/store.ts";
import { createDiskSpace } from "./disk-space.ts";
import { createSpool, type Spool } from "./inline-spool.ts";
import { type Copies, createInputCopies } from "./input-copies.ts";
import { createLocalStorage } from "./local.ts";
import { createOutcomeSpool, type OutcomeSpool } from "./outcome-spool.ts";
import type { Files } from "./port.ts";

export type ResultStorage = {
  files: Files;
  /** What came inside providers' answers, until it has been collected. */
  spool: Spool;
  /** Answers of providers that the store has not taken yet; undefined where the store is on the same disk. */
  outcomes?: OutcomeSpool | undefined;
  /** Whether the node's own disk refuses what is written to it; absent where the store is on it, and says so itself. */
  isDiskFull?: (() => boolean) | undefined;
  /** Whether the bucket, without which no result of a node is finished, takes nothing; absent where files stay on the own disk meanwhile. */
  isBucketDown?: (() => boolean) | undefined;
  /** Copies of pinned inputs, until nobody needs them. */
  copies: Copies;
  /** Takes up what a former process has left; nobody waits for it. */
  begin: () => void;
  stop: () => Promise<void>;
  /** Files that wait on disk for the bucket, and why they do; null where no bucket is used. */
  waiting: () => { files: number; setAside: number; reason: string | null } | null;
};

type KeptFilesParts = {
  settings: Settings;
  clock: Clock;
  log: Log;
  store: Pick<StoreReads, "generationBySeq" | "pinsOf">;
  /** Whether other nodes work over the same store: what one has collected, each of them has to find. */
  shared: boolean;
  chance?: () => number;
};

/** Beside the files: which bucket holds some of them. Without it a start under other settings would not find them. */
const MARK = "bucket.json";
type Mark = { endpoint: string; bucket: string; prefix: string };
const filesIn = (settings: Settings): string => join(settings.data.dir, "files");
const markOf = ({ s3: { endpoint, bucket, prefix } }: Settings): Mark => ({ endpoint, bucket, prefix });

/** The bucket is used where files go there, and where files of before are in it. */
const usesBucket = ({ files, s3 }: Settings): boolean => files.store === "s3" || s3.bucket !== "";

const readMark = (path: string): Mark | undefined => {
  if (!existsSync(path)) return undefined;
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Mark;
  } catch {
    throw new BadSetting(
      `${path} cannot be read; it names the bucket that result files are in: restore it, or delete it if none are`,
    );
  }
};

/**
 * Judges the settings of files, without a look at the bucket.
 * @param shared whether nodes share the store
 * @throws BadSetting for settings that name no bucket, or another one than the one that has files of this directory.
 */
export const insistOnBucket = async (settings: Settings, shared = false): Promise<void> => {
  if (shared && settings.files.store !== "s3")
    throw new BadSetting(
      "nodes that share a database keep result files in a bucket, where each of them finds them: set GENROUTER_FILES__STORE=s3 and the settings GENROUTER_S3__… (deploy/S3.md)",
    );
  const path = join(filesIn(settings), MARK);
  const mark = readMark(path);
  if (usesBucket(settings)) {
    const { BucketConfigError, bucketConfigOf } = await import("./s3/bucket-config.ts");
    try {
      bucketConfigOf(settings.s3);
    } catch (fault) {
      throw fault instanceof BucketConfigError ? new BadSetting(fault.message) : fault;
    }
  }
  if (mark === undefined) return;
  const own = markOf(settings);
  if (usesBucket(settings) && JSON.stringify({ ...own, ...mark }) === JSON.stringify(own)) return;
  const place = `bucket ${JSON.stringify(mark.bucket)}${mark.endpoint ? ` at ${mark.endpoint}` : ""}, prefix ${JSON.stringify(mark.prefix)}`;
  throw new BadSetting(
    `result files of this data directory are in ${place}: keep the settings GENROUTER_S3__… as they were (GENROUTER_FILES__STORE may be local), or delete ${path} once none of them is needed there`,
  );
};

/** @throws BadSetting as `insistOnBucket`, StorageRefused when the directory cannot be used. */
export const createResultStorage = async ({
  settings,
  clock,
  log,
  store,
  shared,
  chance = Math.random,
}: KeptFilesParts): Promise<ResultStorage> => {
  await insistOnBucket(settings, shared);
  const dir = filesIn(settings);
  const local = await createLocalStorage(dir);
  const spool = await createSpool(join(settings.data.dir, "spool"), clock.nowMs);
  const pinned = await createLocalStorage(join(settings.data.dir, "pinned"));
  if (!usesBucket(settings)) {
    const copies = createInputCopies(pinned, null, clock.nowMs);
    return { files: local, spool, copies, begin: () => undefined, stop: () => Promise.resolve(), waiting: () => null };
  }
  const moves = settings.files.store === "s3";
  if (moves) {
    const path = join(dir, MARK);
    writeFileSync(`${path}.part`, `${JSON.stringify(markOf(settings))}\n`, { mode: 0o600, flush: true });
    renameSync(`${path}.part`, path);
  }
  // Nothing of it is loaded where files are on local disk alone.
  const { createS3Storage } = await import("./s3/s3-storage.ts");
  const { objectOf } = await import("./s3/upload-before-commit.ts");
  const recordOf = async (id: string) => {
    const seq = seqOfGenerationId(id);
    const record = seq === undefined ? undefined : await store.generationBySeq(seq);
    return record?.id === id ? record : undefined;
  };
  const bucket = { shared, spool, clock, chance, tell: log, linkS: settings.limits.file_link_ttl_s };
  const kept = createS3Storage({ ...bucket, settings: settings.s3, moves, local, recordOf });
  if (!shared) return { ...kept, copies: createInputCopies(pinned, null, clock.nowMs) };
  const outcomes = await createOutcomeSpool(join(settings.data.dir, "outcomes"), clock.nowMs);
  // Of the nodes any may go on with a generation: what one has pinned, each of them has to find.
  const inputs = createS3Storage({
    ...{ ...bucket, settings: { ...settings.s3, prefix: `${settings.s3.prefix}pinned/` }, moves: false, local: pinned },
    recordOf: async (id) => {
      const record = await recordOf(id);
      const pins = record ? await store.pinsOf(record.seq) : [];
      const copies = pins.flatMap(({ copy }) => (copy ? [{ ...copy, object: objectOf(copy) }] : []));
      return record && { ...record, output: { kind: "video", files: copies } };
    },
  });
  const copies = createInputCopies(pinned, inputs.files, clock.nowMs);
  const stop = async () => void (await Promise.all([kept.stop(), inputs.stop()]));
  const room = createDiskSpace({ dir: settings.data.dir, clock, log });
  return { ...room.watched({ ...kept, outcomes }), copies, stop, isDiskFull: room.isFull, isBucketDown: kept.isDown };
};
