// Copies the files that a copied database names into a backup.
//
// A file that the previous backup has is linked instead.
import { mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathOfFile } from "../files/local.ts";
import { SPOOLED } from "../files/port.ts";
import { DATABASE_FILE, openReader } from "../store/sqlite/open.ts";
import {
  isUploadNeeded,
  namedFiles,
  namedUploads,
  neededFiles,
  spooledFiles,
  statsOfSnapshot,
} from "../store/sqlite/snapshot-copy/stats.ts";
import type { ListedBackup } from "./backup-directory.ts";
import { copyFile, hashFile, linkFile, requireFreeSpace, sizeOf } from "./durable-fs.ts";
import { codeOf, type Progress } from "./errors.ts";
import type { Entry, Manifest, Noted } from "./manifest.ts";

/** A copied file with its recorded size and hash, and its original. */
export type CopiedFiles = { entry: Entry; from: string; isLinked: boolean };
export type Placing = { placed: CopiedFiles[]; faults: Noted[]; leftOut: Manifest["left_out"] };

type Place = {
  dataDir: string;
  /** The incomplete backup, which already contains the database. */
  aside: string;
  nowMs: () => number;
  filesStore: Manifest["files_store"];
  before: ListedBackup | undefined;
};
/** A file to copy: its path in both directories, and its size and hash if the database stores them. */
type FileToCopy = {
  path: string;
  seq: number;
  /** `uploads`: bytes of an uploaded file, whose row `seq` names; otherwise `seq` names a generation. */
  kind: "files" | "spooled" | "uploads";
  bytes: number | null;
  sha256: string | null;
  expireAtMs: number;
};

const pathOf = (dir: string, id: string, n: number): string => `${dir}/${pathOfFile(id, n).replaceAll("\\", "/")}`;

/** The files that the copied database names, and the number of uploaded files that are in the bucket. */
const wantedIn = (aside: string): { all: FileToCopy[]; uploadsInBucket: number } =>
  statsOfSnapshot(join(aside, DATABASE_FILE), (db) => {
    const uploads = namedUploads(db);
    const all = [
      ...namedFiles(db).map(({ id, n, ...rest }): FileToCopy => ({ ...rest, kind: "files", path: pathOf("files", id, n) })),
      ...uploads.onDisk.map(
        ({ id, ...rest }): FileToCopy => ({
          ...{ ...rest, kind: "uploads", path: pathOf("uploads", id, 1) },
          expireAtMs: Number.POSITIVE_INFINITY,
        }),
      ),
      ...spooledFiles(db, SPOOLED).map(
        ({ seq, name }): FileToCopy => ({
          ...{ seq, kind: "spooled", path: `spool/${name}` },
          ...{ bytes: null, sha256: null, expireAtMs: Number.POSITIVE_INFINITY },
        }),
      ),
    ];
    return { all, uploadsInBucket: uploads.inBucket };
  });

const IN_BUCKET = "they are in the bucket, which must be backed up separately";

/** Queries the current database of the data directory over one connection, which is opened on first use. */
const createFileReads = (dataDir: string) => {
  let db: ReturnType<typeof openReader> | undefined;
  return {
    /** Whether a missing file is still needed; it may have been deleted correctly since the database was copied. */
    isMissed: ({ seq, kind }: FileToCopy): boolean => {
      db ??= openReader(join(dataDir, DATABASE_FILE));
      return kind === "uploads" ? isUploadNeeded(db, seq) : neededFiles(db, seq)[kind];
    },
    close: () => db?.close(),
  };
};

/** @throws BackupError `no_room`, `stopped`; the system error if the disk fails. */
export const copyFiles = ({ dataDir, aside, nowMs, filesStore, before }: Place, progress: Progress): Placing => {
  const known = new Map(before?.manifest?.entries.map((entry) => [entry.path, entry]));
  const isKnown = ({ path, bytes, sha256 }: FileToCopy): boolean => {
    const entry = known.get(path);
    return sha256 !== null && entry?.sha256 === sha256 && entry.bytes === bytes;
  };
  const { all, uploadsInBucket } = wantedIn(aside);
  const wanted = all.filter(({ expireAtMs }) => expireAtMs > nowMs());
  requireFreeSpace(
    aside,
    wanted.filter((one) => !isKnown(one)).reduce((sum, { path, bytes }) => sum + (bytes ?? sizeOf(join(dataDir, path)) ?? 0), 0),
  );
  const placed: CopiedFiles[] = [];
  const faults: Noted[] = [];
  let expired = all.length - wanted.length;
  let inBucket = 0;
  const fileReads = createFileReads(dataDir);

  const bring = (one: FileToCopy): void => {
    const { path, bytes, sha256 } = one;
    const [from, to] = [join(dataDir, path), join(aside, path)];
    mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
    const isLinked = before !== undefined && isKnown(one) && linkFile(join(before.path, path), to);
    const isThere = sizeOf(from) !== undefined;
    if (!isThere && (one.expireAtMs <= nowMs() || !fileReads.isMissed(one))) {
      rmSync(to, { force: true });
      if (one.kind !== "uploads") expired += 1;
      return;
    }
    if (!isThere && one.kind === "files" && filesStore === "s3") {
      rmSync(to, { force: true });
      inBucket += 1;
      return;
    }
    if (!isThere) {
      const why = "it is missing from the data directory";
      faults.push({ path, why: isLinked ? `${why}; the copy of the previous backup was used` : why });
      if (!isLinked) return;
    }
    if (!isLinked)
      try {
        copyFile(from, to);
      } catch (fault) {
        // The file was deleted between the check and the copy, so the check is repeated.
        if (codeOf(fault) !== "ENOENT" || sizeOf(from) !== undefined) throw fault;
        bring(one);
        return;
      }
    // If the database does not store size and hash, those of the original are recorded.
    const is = bytes === null || sha256 === null ? hashFile(from, progress) : { bytes, sha256 };
    placed.push({ entry: { path, bytes: is.bytes, sha256: is.sha256 }, from, isLinked });
  };

  try {
    for (const [at, one] of wanted.entries()) {
      progress.throwIfStopped();
      progress.report(`files ${at + 1} of ${wanted.length}`);
      bring(one);
    }
  } finally {
    fileReads.close();
  }
  const leftOut = [
    { what: `${expired} result files`, why: "their retention has expired", count: expired },
    { what: `${inBucket} result files`, why: IN_BUCKET, count: inBucket },
    { what: `${uploadsInBucket} uploaded files`, why: IN_BUCKET, count: uploadsInBucket },
  ];
  return { placed, faults, leftOut: leftOut.filter(({ count }) => count > 0).map(({ what, why }) => ({ what, why })) };
};

/**
 * Repairs a copied file that failed the check.
 * @returns the new entry, and the error of its original. @throws Error if the disk does not keep the written bytes.
 */
export const repairFile = (
  { entry, from, isLinked }: CopiedFiles,
  aside: string,
  progress: Progress,
): { entry: Entry; fault: Noted | null } => {
  const to = join(aside, entry.path);
  // The link in the previous backup stays as it is.
  rmSync(to, { force: true });
  const hasOriginal = sizeOf(from) !== undefined;
  if (!hasOriginal) throw new Error(`${from} is missing, and its copy in the previous backup is damaged`);
  copyFile(from, to);
  const is = hashFile(from, progress);
  if (is.sha256 === entry.sha256)
    return {
      entry,
      fault: isLinked
        ? { path: entry.path, why: "the previous backup has different bytes and is damaged; the file was copied again" }
        : null,
    };
  return {
    entry: { path: entry.path, ...is },
    fault: { path: entry.path, why: `in the data directory the content differs from the stored file (SHA-256 ${entry.sha256})` },
  };
};
