// Why a backup cannot be made, used or restored: each is one line that says what is wrong and what to do.

/** `in_use`: somebody else is at it. `unusable`: the place. `damaged`: what is in it. `not_found`, `stopped`, `failed`: as they say. */
export type BackupFaultKind = "in_use" | "no_room" | "unusable" | "damaged" | "not_found" | "stopped" | "failed" | "newer";

export class BackupFault extends Error {
  readonly kind: BackupFaultKind;

  constructor(kind: BackupFaultKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** What long work tells while it goes on, and how it learns that it is to end: it throws then. */
export type Going = {
  tell: (line: string) => void;
  /** @throws BackupFault `stopped` */
  goOn: () => void;
};

/** Code of a fault of the system or of SQLite; empty for any other. */
export const codeOf = (fault: unknown): string =>
  fault instanceof Error && "code" in fault && typeof fault.code === "string" ? fault.code : "";

export const textOf = (fault: unknown): string => (fault instanceof Error ? fault.message : String(fault));

/** Runs work that writes to `place`. @throws BackupFault `no_room` for a disk that is full, else what `work` throws. */
export const withDiskErrors = <T>(place: string, work: () => T): T => {
  try {
    return work();
  } catch (fault) {
    const code = codeOf(fault);
    if (/^(ENOSPC|EDQUOT|SQLITE_FULL)$/.test(code))
      throw new BackupFault("no_room", `${place}: the disk is full (${code}); free space on it or choose another directory`);
    throw fault;
  }
};
