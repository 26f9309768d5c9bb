// Key policy checks in the admission transaction: expiry and spend limits.
import { dayOf, windowEndsAtMs, windowFrom } from "../../domain/calendar.ts";
import type { AdmitResult } from "../../domain/mutations.ts";
import type { Credits, KeyWindow } from "../../domain/types.ts";

export type Meter = { seq: number; fromDay: number; limits: readonly (readonly [KeyWindow, Credits])[] };
/** A key with an expiry or a spend limit. */
export type Bound = { expiresAtMs: number | null; meter: Meter | null };
export type BoundRow = { keySeq: number; expiresAtMs: number | null } & (
  | { seq: number; fromDay: number; day: Credits | null; week: Credits | null; month: Credits | null }
  | { seq: null }
);

/** Selects keys with an expiry or limits; all others have neither. */
export const BOUNDS = `SELECT t.key_seq AS "keySeq", t.expires_at_ms AS "expiresAtMs", m.seq, m.from_day AS "fromDay",
  m.day_limit_credits AS day, m.week_limit_credits AS week, m.month_limit_credits AS month
  FROM api_key_policy t LEFT JOIN spend_limit m ON m.seq = t.spend_limit_seq WHERE (t.expires_at_ms IS NOT NULL OR m.seq IS NOT NULL)`;

/** The window that resets last comes first, because it is reported. */
const MAX_FIRST = ["month", "week", "day"] as const;

export const toBound = (row: BoundRow): Bound => ({
  expiresAtMs: row.expiresAtMs,
  meter:
    row.seq === null
      ? null
      : {
          seq: row.seq,
          fromDay: row.fromDay,
          limits: MAX_FIRST.flatMap((window) => (row[window] === null ? [] : [[window, row[window]] as const])),
        },
});

/** Whether a key has expired since authentication. */
export const isExpired = ({ expiresAtMs }: Bound, atMs: number): boolean => expiresAtMs !== null && atMs >= expiresAtMs;

/**
 * The spend limit that does not cover a hold. @param spentSince credits that the keys of the limit have spent since a day,
 * inclusive.
 */
export const shortageOf = (
  meter: Meter,
  atMs: number,
  reservedCredits: Credits,
  spentSince: (meterSeq: number, day: number) => Credits,
): Extract<AdmitResult, { kind: "key_limit" }> | undefined => {
  for (const [window, limitCredits] of meter.limits) {
    const leftCredits = Math.max(0, limitCredits - spentSince(meter.seq, windowFrom(window, atMs)));
    if (leftCredits < reservedCredits)
      return { kind: "key_limit", window, limitCredits, leftCredits, resetsAtMs: windowEndsAtMs(window, atMs) };
  }
  return undefined;
};

/** A change of the spending of a spend limit on a day; negative credits are returned. */
export type Spend = { meterSeq: number; day: number; credits: Credits };

/** The spending of a day, unless the limit does not count it. @param credits negative: returned. */
export const spendOf = (
  meter: { seq: number; fromDay: number } | null | undefined,
  atMs: number,
  credits: Credits,
): Spend | null => {
  const day = dayOf(atMs);
  return meter && credits !== 0 && day >= meter.fromDay ? { meterSeq: meter.seq, day, credits } : null;
};
