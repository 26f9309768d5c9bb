// What the store tells of files: those that are kept, those past their retention, and the copies of pinned inputs.
import type { Pin, StoredFile } from "../domain/types.ts";

/** A generation and the result files that are kept of it. */
export type StoredOutput = { seq: number; id: string; files: StoredFile[] };
/** Where a page of generations whose files are kept ended. */
export type StoredThrough = { expireAtMs: number; seq: number };

export interface FileReads {
  /** The links of a generation's input that are pinned, in their order. */
  pinsOf(seq: number): Promise<Pin[]>;
  /** Generations whose copies of pinned inputs nobody needs any more: they have ended, and no attempt is asked about. */
  spentPins(limit: number): Promise<{ seq: number; id: string }[]>;
  /** Generations whose files are past their retention. */
  expiredFiles(nowMs: number, limit: number): Promise<{ seq: number; id: string; files: number }[]>;
  /** Generations behind a row number, in its order, whose files are kept for longer than until a moment. */
  keptOutputs(afterSeq: number, untilMs: number, limit: number): Promise<StoredOutput[]>;
  /** The next `limit` generations whose files are kept, with the bytes of all of them. */
  keptFiles(after: StoredThrough, limit: number): Promise<{ count: number; bytes: number; upTo: StoredThrough }>;
}
