// Reads end users with their limits, and writes their days.
import type { Database } from "bun:sqlite";
import type { Credits } from "../../domain/types.ts";
import {
  END_USER_COLUMNS,
  type EndUser,
  type EndUserColumns,
  type EndUserHold,
  type EndUserSettlement,
  endUserTerm,
  INSERT_NAME,
  toEndUser,
} from "../sql/end-users.ts";

/** Maximum number of cached end users. */
const MAX_KNOWN = 10_000;
const ADD = `INSERT INTO end_user_day VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (end_user_seq, day) DO UPDATE
  SET spent_credits = spent_credits + excluded.spent_credits, held_credits = held_credits + excluded.held_credits,
    succeeded = succeeded + excluded.succeeded, failed = failed + excluded.failed, charged_credits = charged_credits + excluded.charged_credits`;
/** `verify` reports a wrong count; it must not prevent the end of a generation. */
const TAKE_BACK = `UPDATE end_user_day SET spent_credits = max(0, spent_credits - ?3), held_credits = max(0, held_credits - ?4)
  WHERE end_user_seq = ?1 AND day = ?2`;

export const prepareEndUserRows = (db: Database) => {
  const select = db.prepare<EndUserColumns, [number, string]>(
    `SELECT ${END_USER_COLUMNS} FROM end_user u WHERE u.account_seq = ?1 AND u.term = ?2`,
  );
  const insert = db.prepare<{ seq: number }, [number, string, number]>(
    "INSERT INTO end_user (account_seq, term, created_at_ms) VALUES (?1, ?2, ?3) RETURNING seq",
  );
  const insertName = db.prepare(INSERT_NAME);
  const selectSpent = db.prepare<{ credits: number }, [number, number]>(
    "SELECT coalesce(sum(spent_credits), 0) AS credits FROM end_user_day WHERE end_user_seq = ?1 AND day >= ?2",
  );
  const add = db.prepare(ADD);
  const takeBack = db.prepare(TAKE_BACK);

  /** Recently named end users, valid until a limit changes. */
  const known = new Map<string, EndUser>();
  const remember = (name: string, endUser: EndUser): EndUser => {
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(name, endUser);
    return endUser;
  };
  const nameOf = (accountSeq: number, endUser: string): string => `${accountSeq} ${endUser}`;

  return {
    /** A stored end user; undefined if the account has not named it yet. */
    find: (accountSeq: number, endUser: string): EndUser | undefined => {
      const name = nameOf(accountSeq, endUser);
      const before = known.get(name);
      if (before) return before;
      const row = select.get(accountSeq, endUserTerm(endUser));
      return row ? remember(name, toEndUser(row)) : undefined;
    },
    insert: (accountSeq: number, endUser: string, atMs: number): EndUser => {
      const seq = insert.get(accountSeq, endUserTerm(endUser), atMs)?.seq ?? 0;
      insertName.run(seq, endUser);
      return remember(nameOf(accountSeq, endUser), { seq, limit: null });
    },
    /** Credits spent since a day, inclusive. */
    spentSince: (endUserSeq: number, day: number): Credits => selectSpent.get(endUserSeq, day)?.credits ?? 0,
    hold: (endUserSeq: number, { day, credits }: EndUserHold): void => void add.run(endUserSeq, day, credits, credits, 0, 0, 0),
    settle: (settlement: EndUserSettlement | null): void => {
      if (!settlement) return;
      const { endUserSeq, submittedDay, releasedCredits, heldCredits, endDay, succeeded, failed, chargedCredits } = settlement;
      takeBack.run(endUserSeq, submittedDay, releasedCredits, heldCredits);
      add.run(endUserSeq, endDay, 0, 0, succeeded, failed, chargedCredits);
    },
    /** Drops the cache after a limit changed or a rollback. */
    forget: (): void => known.clear(),
  };
};
export type EndUserRows = ReturnType<typeof prepareEndUserRows>;
