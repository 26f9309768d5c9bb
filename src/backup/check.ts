// Verifies a backup: every file against its manifest, and the invariants of its database.
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isFormer, isPreRelease, schemaVersion } from "../store/sqlite/migrate.ts";
import { DATABASE_FILE } from "../store/sqlite/open.ts";
import { presentRowCounts, withPresentSchema } from "../store/sqlite/snapshot-copy/converted.ts";
import { figuresOf, statsOfSnapshot } from "../store/sqlite/snapshot-copy/stats.ts";
import { verifySnapshot } from "../store/sqlite/snapshot-copy/verify-copy.ts";
import { hashFile, requireFreeSpace, sizeOf, walk } from "./durable-fs.ts";
import { BackupError, codeOf, type Progress, textOf, withDiskErrors } from "./errors.ts";
import { type Entry, MANIFEST_FILE, type Manifest, type Noted, readManifest } from "./manifest.ts";

export type Checked = {
  manifest: Manifest;
  /** Differences from the manifest by path in the backup; empty if there are none. */
  faults: Noted[];
  /** Errors of its database, except for recorded errors of the manifest. */
  databaseFaults: Noted[];
};

/** @throws BackupError if there is no manifest at `place`, or if it is unusable. */
export const manifestOf = (place: string): Manifest => {
  try {
    return readManifest(readFileSync(join(place, MANIFEST_FILE)), place);
  } catch (fault) {
    if (fault instanceof BackupError) throw fault;
    throw new BackupError(
      codeOf(fault) === "ENOENT" || codeOf(fault) === "ENOTDIR" ? "not_found" : "damaged",
      `${place} is not a backup: its ${MANIFEST_FILE} cannot be read (${codeOf(fault) || textOf(fault)}); genrouter backup list DIR lists the backups of a directory`,
    );
  }
};

const entryFault = (place: string, entry: Entry, progress: Progress): string | undefined => {
  const path = join(place, entry.path);
  const size = sizeOf(path);
  if (size === undefined) return "the file is missing";
  if (size !== entry.bytes) return `the file has ${size} bytes, not ${entry.bytes}`;
  const { sha256 } = hashFile(path, progress);
  return sha256 === entry.sha256 ? undefined : "the content differs from the backed-up file";
};

/**
 * Files in a backup that its manifest does not list. Opening its database manually leaves two empty side files, which are
 * accepted.
 */
const unlistedFiles = (place: string, manifest: Manifest): Noted[] => {
  const own = new Set([MANIFEST_FILE, `${DATABASE_FILE}-shm`, ...manifest.entries.map(({ path }) => path)]);
  if (sizeOf(join(place, `${DATABASE_FILE}-wal`)) === 0) own.add(`${DATABASE_FILE}-wal`);
  const { files, strange } = walk(place);
  return [...files.filter((path) => !own.has(path)), ...strange].map((path) => ({
    path,
    why: "the file does not belong to this backup",
  }));
};

const ordered = (value: unknown): string =>
  JSON.stringify(value, (_, inner) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );

/** Space of a converted copy per byte of the original: the copy, its new tables, and the log of the conversion. */
const CONVERSION_FACTOR = 4;
/**
 * Runs work over the path of the database with the present schema. A database of an earlier schema is migrated in a
 * copy in the temporary directory (`TMPDIR`).
 * @throws BackupError `no_room` if the copy does not fit there.
 */
export const withPresentDatabase = <T>(place: string, { schema }: Pick<Manifest, "schema">, work: (path: string) => T): T => {
  const path = join(place, DATABASE_FILE);
  if (!isFormer(schema)) return work(path);
  const dir = tmpdir();
  const name = `${dir} (the temporary directory, set by TMPDIR)`;
  requireFreeSpace(dir, (sizeOf(path) ?? 0) * CONVERSION_FACTOR, name);
  return withDiskErrors(name, () => withPresentSchema(path, work));
};

/** Errors of a database whose bytes match the manifest. */
const databaseFaultsIn = (place: string, manifest: Manifest): Noted[] => {
  const faults: Noted[] = [];
  const report = (why: string) => void faults.push({ path: DATABASE_FILE, why });
  const path = join(place, DATABASE_FILE);
  withPresentDatabase(place, manifest, (readable) => {
    const stats = statsOfSnapshot(readable, figuresOf);
    const now = { ...stats, schema: statsOfSnapshot(path, schemaVersion), rows: presentRowCounts(stats.rows, stats.schema) };
    const then = { ...manifest, rows: presentRowCounts(manifest.rows, manifest.schema) };
    for (const member of ["rows", "ledger", "schema", "mode", "epoch", "lineage"] as const)
      if (ordered(now[member]) !== ordered(then[member])) report(`its ${member} differs from the manifest`);
    for (const { name, offending } of verifySnapshot(readable))
      for (const row of offending) report(`${name}: ${JSON.stringify(row)}`);
  });
  return faults;
};

/** A database fault as `databaseFaultsIn` writes it: the invariant, then the row as JSON. */
const ROW_FAULT = /^([^:]+): (\{.*\})$/s;
/**
 * What identifies a fault of the database in a manifest. Builds before the first release used other words and other keys, so
 * for their manifests it is the invariant and the values of the row.
 */
const identityOf = (why: string, { schema }: Manifest): string => {
  const [, invariant, row] = isPreRelease(schema) ? (ROW_FAULT.exec(why) ?? []) : [];
  if (invariant === undefined || row === undefined) return why;
  const { fault: _, ...values } = JSON.parse(row) as Record<string, unknown>;
  return JSON.stringify([invariant, ...Object.values(values)]);
};

/** Errors of the database, or the reason why it cannot be read. @throws BackupError `stopped` */
const databaseFaults = (place: string, manifest: Manifest): Noted[] => {
  try {
    return databaseFaultsIn(place, manifest);
  } catch (fault) {
    if (fault instanceof BackupError) throw fault;
    return [{ path: DATABASE_FILE, why: `its database cannot be verified: ${textOf(fault)}` }];
  }
};

/**
 * Reads every byte of a backup.
 * @param only Verify only these entries and not the database, after a repair that followed a complete check.
 * @throws BackupError if there is no usable manifest.
 */
export const checkBackup = (place: string, progress: Progress, only?: ReadonlySet<string>): Checked => {
  const manifest = manifestOf(place);
  const faults: Noted[] = [];
  const entries = manifest.entries.filter(({ path }) => only === undefined || only.has(path));
  for (const [at, entry] of entries.entries()) {
    progress.throwIfStopped();
    progress.report(`checking ${at + 1} of ${entries.length} files`);
    const why = entryFault(place, entry, progress);
    if (why !== undefined) faults.push({ path: entry.path, why });
  }
  if (only !== undefined) return { manifest, faults, databaseFaults: [] };
  faults.push(...unlistedFiles(place, manifest));
  if (!entries.some(({ path }) => path === DATABASE_FILE))
    faults.push({ path: DATABASE_FILE, why: "the file is not in the manifest" });
  if (faults.some(({ path }) => path === DATABASE_FILE)) return { manifest, faults, databaseFaults: [] };
  progress.report("verifying the database");
  const known = new Set(manifest.faults.map(({ why }) => identityOf(why, manifest)));
  const found = databaseFaults(place, manifest).filter(({ why }) => !known.has(identityOf(why, manifest)));
  return { manifest, faults, databaseFaults: found };
};

/** A quick check of a backup: an intact manifest, and files of the recorded sizes. */
export const inspectBackup = (place: string): { manifest: Manifest; bytes: number; fault: string | null } => {
  const manifest = manifestOf(place);
  const off = manifest.entries.find(({ path, bytes }) => sizeOf(join(place, path)) !== bytes);
  return {
    manifest,
    bytes: manifest.entries.reduce((sum, { bytes }) => sum + bytes, 0),
    fault: off === undefined ? null : `${off.path} is missing or has another size`,
  };
};
