// Reads about stored files: result files, expired files and copies of pinned inputs.
import type { Pin, StoredFile } from "../domain/types.ts";

/** A generation and its stored result files. */
export type StoredOutput = { seq: number; id: string; files: StoredFile[] };
/** The end of a page of generations with stored files. */
export type StoredThrough = { expireAtMs: number; seq: number };

export interface FileReads {
  /** The pinned links of a generation's input, in order. */
  pinsOf(seq: number): Promise<Pin[]>;
  /** Ended generations without a watched attempt whose copies of pinned inputs can be deleted. */
  spentPins(limit: number): Promise<{ seq: number; id: string }[]>;
  /** Generations whose files are past their retention and that no open generation takes as inputs. */
  expiredFiles(nowMs: number, limit: number): Promise<{ seq: number; id: string; files: number }[]>;
  /** Erased generations whose files have to be deleted now, except those whose results an open generation takes as inputs. */
  pendingFileRemovals(limit: number): Promise<{ seq: number; id: string }[]>;
  /** Whether one generation is among them. */
  isFileRemovalPending(seq: number): Promise<boolean>;
  /** Generations after a row number, in order, whose files expire after `untilMs`. */
  keptOutputs(afterSeq: number, untilMs: number, limit: number): Promise<StoredOutput[]>;
  /** The next `limit` generations with stored files, and the total bytes of these files. */
  keptFiles(after: StoredThrough, limit: number): Promise<{ count: number; bytes: number; upTo: StoredThrough }>;
}
