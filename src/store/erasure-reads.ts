// Reads about erasures by retention.
import type { PromptRetention } from "../domain/types.ts";

/** A generation whose texts are past their retention. */
export type DueErasure = { seq: number; accountSeq: number };

export interface ErasureReads {
  /**
   * Generations of a page of accounts whose texts are past the retention of their account at `nowMs`, at most `limit`. `nextAccount`:
   * where the next page begins; null at the end. `untilAccount`: the last account, inclusive; absent: all.
   * @param service The retention of accounts without one of their own.
   */
  dueErasures(query: {
    nowMs: number;
    service: PromptRetention;
    fromAccount: number;
    untilAccount?: number;
    limit: number;
  }): Promise<{ due: DueErasure[]; nextAccount: number | null }>;
  /** Row numbers of the accounts whose own retention is 0. */
  accountsErasedAtEnd(): Promise<number[]>;
}
