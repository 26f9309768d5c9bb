// Why a data directory cannot be opened: each fault is one line that says what is wrong and what to do.
import { StoreUnknown } from "../mutations.ts";

/** Another process owns the directory. */
export class DirectoryInUse extends Error {
  override readonly name = "DirectoryInUse";
}
/** The directory is missing, not writable, or on a disk that cannot be trusted with it. */
export class DirectoryUnusable extends Error {
  override readonly name = "DirectoryUnusable";
}
/** The file is not a sound database: nothing is repaired, a backup must come back. */
export class StoreDamaged extends Error {
  override readonly name = "StoreDamaged";
}

/** Code of an error of SQLite or of the system (`SQLITE_FULL`, `EACCES`); empty for any other. */
export const faultCode = (fault: unknown): string =>
  fault instanceof Error && "code" in fault && typeof fault.code === "string" ? fault.code : "";

/** What a fault says, for a message. */
export const faultText = (fault: unknown): string => (fault instanceof Error ? fault.message : String(fault));

/** The line of a disk that is full while a directory is opened; undefined for any other fault. */
const fullDisk = (path: string, code: string): DirectoryUnusable | undefined =>
  /^(SQLITE_FULL|SQLITE_IOERR_SHMSIZE|ENOSPC|EDQUOT)$/.test(code)
    ? new DirectoryUnusable(`${path}: the disk is full (${code}); free some space and start again, or choose another with --data`)
    : undefined;

/**
 * Opens the file at `path`.
 * @throws StoreDamaged when SQLite finds that it is not sound. @throws DirectoryUnusable when the disk is full.
 * @throws StoreUnknown when the disk fails: what opening writes may be there or not.
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
      throw new StoreUnknown(`${path}: the disk failed while it was opened (${code}); look after the disk, then start again`);
    throw fault;
  }
};
