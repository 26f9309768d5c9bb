// Errors of backups: each is one line with the cause and the remedy.

/**
 * `in_use`: another process uses the directory. `unusable`: the directory. `damaged`: the contents. `no_room`: the disk is full.
 * `newer`: a newer release created it.
 */
export type BackupErrorKind = "in_use" | "no_room" | "unusable" | "damaged" | "not_found" | "stopped" | "failed" | "newer";

export class BackupError extends Error {
  readonly kind: BackupErrorKind;

  constructor(kind: BackupErrorKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** Progress and cancellation of long work: `throwIfStopped` throws if the work must stop. */
export type Progress = {
  report: (line: string) => void;
  /** @throws BackupError `stopped` */
  throwIfStopped: () => void;
};

/** Code of a system or SQLite error; empty for any other. */
export const codeOf = (fault: unknown): string =>
  fault instanceof Error && "code" in fault && typeof fault.code === "string" ? fault.code : "";

export const textOf = (fault: unknown): string => (fault instanceof Error ? fault.message : String(fault));

/** Runs work that writes to `place`. @throws BackupError `no_room` if the disk is full, otherwise the error of `work`. */
export const withDiskErrors = <T>(place: string, work: () => T): T => {
  try {
    return work();
  } catch (fault) {
    const code = codeOf(fault);
    if (/^(ENOSPC|EDQUOT|SQLITE_FULL)$/.test(code))
      throw new BackupError("no_room", `${place}: the disk is full (${code}); free space on it or choose another directory`);
    throw fault;
  }
};
