// Reads of end users: limits, spending and usage.
import type { EndUserLimit } from "../domain/end-users.ts";
import type { Credits } from "../domain/types.ts";

export type EndUserRow = {
  seq: number;
  name: string;
  limit: EndUserLimit | null;
  createdAtMs: number;
  /** Credits of generations submitted in the current window of the limit, or since the beginning without a limit: holds plus costs. */
  spentCredits: Credits;
  /** The part of it that is held. */
  heldCredits: Credits;
};

/** `beforeSeq`: the row number of the end user after which the page begins; null: at the newest. */
export type EndUserUsageQuery = {
  accountSeq: number;
  fromDay: number;
  toDay: number;
  beforeSeq: number | null;
  limit: number;
  /** Maximum number of end users to read for the page. */
  maxExamined: number;
};
export type EndUserUsageRow = { seq: number; name: string; succeeded: number; failed: number; chargedCredits: Credits };

export type EndUserDayRow = Omit<EndUserUsageRow, "name"> & { day: number };

export interface EndUserReads {
  endUser(accountSeq: number, name: string, nowMs: number): Promise<EndUserRow | undefined>;
  /** End users of an account before a row number (null: all), newest first; at most `limit`. */
  endUsers(accountSeq: number, nowMs: number, beforeSeq: number | null, limit: number): Promise<EndUserRow[]>;
  /** The usage of some end users of an account by day, by their row numbers. */
  endUserDays(query: { accountSeq: number; seqs: readonly number[]; fromDay: number; toDay: number }): Promise<EndUserDayRow[]>;
  /**
   * End users with generations that ended in a range of days, newest first. `next`: the row number after which the next page begins;
   * null at the end. A page may have fewer rows than `limit` before the end.
   */
  endUserUsage(query: EndUserUsageQuery): Promise<{ rows: EndUserUsageRow[]; next: number | null }>;
}
