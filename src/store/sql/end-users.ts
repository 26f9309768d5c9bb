// Limits and spending of end users: the rule of an admission, the days that count, limits and erasures.

import { SHA256 } from "bun";
import { dayOf } from "../../domain/calendar.ts";
import {
  type EndUserLimit,
  type EndUserWindow,
  endUserWindowEndsAtMs,
  endUserWindowFrom,
  type SetEndUserLimit,
} from "../../domain/end-users.ts";
import type { AdminResult, AdmitResult } from "../../domain/mutations.ts";
import type { Credits, GenerationRecord } from "../../domain/types.ts";
import type { Dialect } from "./dialect.ts";
import { MutationRejected } from "./mutation-rejected.ts";
import { change, first, insert, type SqlProgram } from "./sql-program.ts";

/** Hexadecimal characters of a digest, which is as unlikely to repeat as a random id. */
const DIGEST_CHARS = 32;
/** How a name is found: SQLite moves the keys of an index, where old bytes of a key can remain after an erasure (see 0006.sql). */
export const endUserTerm = (name: string): string => SHA256.hash(name, "hex").slice(0, DIGEST_CHARS);

/** A stored end user with its limit. */
export type EndUser = { seq: number; limit: EndUserLimit | null };
export type EndUserColumns = { seq: number; limitWindow: EndUserWindow | null; limitCredits: Credits | null };
/** The columns of `EndUserColumns` for an `end_user` with the alias `u`. */
export const END_USER_COLUMNS = 'u.seq, u.limit_window AS "limitWindow", u.limit_credits AS "limitCredits"';

export const toLimit = ({ limitWindow, limitCredits }: Omit<EndUserColumns, "seq">): EndUserLimit | null =>
  limitWindow === null || limitCredits === null ? null : { window: limitWindow, credits: limitCredits };
export const toEndUser = ({ seq, ...limit }: EndUserColumns): EndUser => ({ seq, limit: toLimit(limit) });

/** The error of an end user whose limit does not cover a hold. @param spentSince credits spent since a day, inclusive */
export const endUserShortageOf = (
  endUser: string,
  { seq, limit }: EndUser,
  atMs: number,
  reservedCredits: Credits,
  spentSince: (endUserSeq: number, day: number) => Credits,
): Extract<AdmitResult, { kind: "end_user_limit" }> | undefined => {
  if (limit === null) return undefined;
  const { window, credits: limitCredits } = limit;
  const leftCredits = Math.max(0, limitCredits - spentSince(seq, endUserWindowFrom(window, atMs)));
  if (leftCredits >= reservedCredits) return undefined;
  const resetsAtMs = endUserWindowEndsAtMs(window, atMs);
  return { kind: "end_user_limit", endUser, window, limitCredits, leftCredits, resetsAtMs };
};

/** A hold for an end user on the day of its submission. */
export type EndUserHold = { endUser: string; day: number; credits: Credits };
export const endUserHoldOf = (endUser: string | null | undefined, atMs: number, credits: Credits): EndUserHold | null =>
  typeof endUser === "string" ? { endUser, day: dayOf(atMs), credits } : null;

/** The end of a generation of an end user: what leaves the day of its submission, and what the day of its end counts. */
export type EndUserSettlement = {
  endUserSeq: number;
  submittedDay: number;
  releasedCredits: Credits;
  heldCredits: Credits;
  endDay: number;
  succeeded: number;
  failed: number;
  chargedCredits: Credits;
};

/** @param record the generation after its end */
export const endUserSettlementOf = (endUserSeq: number | null, record: GenerationRecord): EndUserSettlement | null => {
  if (endUserSeq === null || record.completedAtMs === null) return null;
  const { createdAtMs, completedAtMs, reservedCredits, status } = record;
  const chargedCredits = record.costCredits ?? 0;
  const succeeded = status === "succeeded" ? 1 : 0;
  return {
    ...{ endUserSeq, submittedDay: dayOf(createdAtMs), endDay: dayOf(completedAtMs) },
    ...{ releasedCredits: reservedCredits - chargedCredits, heldCredits: reservedCredits },
    ...{ succeeded, failed: 1 - succeeded, chargedCredits },
  };
};

const LOCK_BALANCE = "SELECT account_seq FROM balance WHERE account_seq = ?1";
const SET_LIMIT = `INSERT INTO end_user (account_seq, term, limit_window, limit_credits, created_at_ms) VALUES (?1, ?2, ?3, ?4, ?5)
  ON CONFLICT (account_seq, term) DO UPDATE SET limit_window = excluded.limit_window, limit_credits = excluded.limit_credits
  RETURNING seq`;
export const INSERT_NAME = "INSERT INTO end_user_name (end_user_seq, name) VALUES (?1, ?2) ON CONFLICT (end_user_seq) DO NOTHING";
const REMOVE_LIMIT = `UPDATE end_user SET limit_window = NULL, limit_credits = NULL WHERE account_seq = ?1 AND term = ?2
  RETURNING seq`;
// The term changes, too, so that a later submission with the name begins another end user.
const ERASE = `UPDATE end_user SET erased_at_ms = ?2, term = 'erased ' || CAST(seq AS text)
  WHERE seq = ?1 AND erased_at_ms IS NULL AND limit_window IS NULL AND NOT EXISTS (SELECT 1 FROM generation WHERE end_user_seq = ?1)`;
// SQLite overwrites the row in its page, because it becomes shorter (see 0006.sql).
const ERASE_NAME = "UPDATE end_user_name SET name = '' WHERE end_user_seq = ?1";

/**
 * Mutations of end users. All spending is counted whether there is a limit or not, so a new limit sums up nothing. @param changed called
 * before known end users change
 */
export const prepareEndUsers = ({ forUpdate }: Pick<Dialect, "forUpdate">, changed: () => void) => {
  const lockBalance = `${LOCK_BALANCE} ${forUpdate}`;
  /** Erases the name of an end user without a limit that no generation has any more. */
  const eraseUnused = function* (endUserSeq: number, atMs: number): SqlProgram<void> {
    if ((yield* change(ERASE, endUserSeq, atMs)) === 0) return;
    changed();
    yield* change(ERASE_NAME, endUserSeq);
  };
  return {
    /** Orders what follows after the admissions of an account, which lock its balance first. */
    lockAccount: function* (accountSeq: number): SqlProgram<void> {
      yield* first(lockBalance, accountSeq);
    },
    eraseUnused,
    setLimit: function* (mutation: SetEndUserLimit): SqlProgram<AdminResult> {
      const { accountSeq, endUser, limit, atMs } = mutation;
      if (!(yield* first(lockBalance, accountSeq))) throw new MutationRejected(`there is no account ${accountSeq}`);
      changed();
      const term = endUserTerm(endUser);
      if (limit !== null) {
        const seq = yield* insert(SET_LIMIT, accountSeq, term, limit.window, limit.credits, atMs);
        yield* change(INSERT_NAME, seq, endUser);
        return { kind: "done" };
      }
      const removed = yield* first<{ seq: number }>(REMOVE_LIMIT, accountSeq, term);
      if (!removed) throw new MutationRejected(`there is no end user ${JSON.stringify(endUser)}`);
      yield* eraseUnused(removed.seq, atMs);
      return { kind: "done" };
    },
  };
};
export type EndUserMutations = ReturnType<typeof prepareEndUsers>;
