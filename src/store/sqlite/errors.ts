// Errors of opening a data directory: each is one line with cause and remedy.
import { StoreUnknown } from "../../domain/commit-errors.ts";

/** Another process owns the directory. */
export class DirectoryInUse extends Error {
  override readonly name = "DirectoryInUse";
}
/** The directory is missing, not writable, or on an unsuitable disk. */
export class DirectoryUnusable extends Error {
  override readonly name = "DirectoryUnusable";
}
/** The file is corrupt. It is not repaired; restore a backup. */
export class StoreDamaged extends Error {
  override readonly name = "StoreDamaged";
}

/** Code of an SQLite or system error (`SQLITE_FULL`, `EACCES`); empty for any other. */
export const faultCode = (fault: unknown): string =>
  fault instanceof Error && "code" in fault && typeof fault.code === "string" ? fault.code : "";

/** Message of an error. */
export const faultText = (fault: unknown): string => (fault instanceof Error ? fault.message : String(fault));

/** The line of a full disk while a directory is opened; undefined for any other error. */
const fullDisk = (path: string, code: string): DirectoryUnusable | undefined =>
  /^(SQLITE_FULL|SQLITE_IOERR_SHMSIZE|ENOSPC|EDQUOT)$/.test(code)
    ? new DirectoryUnusable(`${path}: the disk is full (${code}); free space and start again, or choose another with --data`)
    : undefined;

/**
 * Opens the file at `path`.
 * @throws StoreDamaged if SQLite finds corruption. @throws DirectoryUnusable if the disk is full.
 * @throws StoreUnknown if the disk fails, because the writes of opening may or may not be stored.
 */
export const withCorruptionErrors = <T>(path: string, work: () => T): T => {
  try {
    return work();
  } catch (fault) {
    const code = faultCode(fault);
    if (/^SQLITE_(CORRUPT|NOTADB)/.test(code))
      throw new StoreDamaged(`${path} is damaged (${code}): restore a backup; nothing was changed`);
    const full = fullDisk(path, code);
    if (full) throw full;
    if (code.startsWith("SQLITE_IOERR"))
      throw new StoreUnknown(`${path}: the disk failed while it was opened (${code}); check the disk, then start again`);
    throw fault;
  }
};
