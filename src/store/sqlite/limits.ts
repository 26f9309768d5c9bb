// Holds keys to their terms where it counts, in the transaction that accepts: when they expire, and what they may spend.
import type { Database } from "bun:sqlite";
import { dayOf, windowEndsAtMs, windowFrom } from "../../days.ts";
import type { AdmitOutcome } from "../../deeds.ts";
import type { Credits, KeyWindow } from "../../terms.ts";

type Meter = { seq: number; fromDay: number; limits: readonly (readonly [KeyWindow, Credits])[] };
/** A key that not everything is open to for ever. */
type Bound = { expiresAtMs: number | null; meter: Meter | null };
type BoundRow = { keySeq: number; expiresAtMs: number | null } & (
  | { seq: number; fromDay: number; day: Credits | null; week: Credits | null; month: Credits | null }
  | { seq: null }
);
/** The window that begins anew last comes first: it is the one to name. */
const LONGEST_FIRST = ["month", "week", "day"] as const;

const toBound = (row: BoundRow): Bound => ({
  expiresAtMs: row.expiresAtMs,
  meter:
    row.seq === null
      ? null
      : {
          seq: row.seq,
          fromDay: row.fromDay,
          limits: LONGEST_FIRST.flatMap((window) => (row[window] === null ? [] : [[window, row[window]] as const])),
        },
});

export const prepareLimits = (db: Database) => {
  const selectBound = db.prepare<BoundRow, []>(
    `SELECT t.key_seq AS keySeq, t.expires_at_ms AS expiresAtMs, m.seq, m.from_day AS fromDay, m.day_limit_credits AS day,
       m.week_limit_credits AS week, m.month_limit_credits AS month FROM key_terms t LEFT JOIN meter m ON m.seq = t.meter_seq
     WHERE t.expires_at_ms IS NOT NULL OR m.seq IS NOT NULL`,
  );
  const selectSpent = db.prepare<{ credits: number }, [number, number]>(
    "SELECT coalesce(sum(credits), 0) AS credits FROM key_spend WHERE meter_seq = ?1 AND day >= ?2",
  );
  const add = db.prepare(
    "INSERT INTO key_spend VALUES (?1, ?2, ?3) ON CONFLICT (meter_seq, day) DO UPDATE SET credits = credits + excluded.credits",
  );
  // A meter that went wrong is for `verify` to tell; it must not keep a generation from ending.
  const takeBack = db.prepare("UPDATE key_spend SET credits = max(0, credits - ?3) WHERE meter_seq = ?1 AND day = ?2");
  const selectKey = db.prepare<{ keySeq: number }, [number]>("SELECT key_seq AS keySeq FROM generation WHERE seq = ?1");

  /** Every key with an expiry or limits, which are few, as long as none of them changes: other keys cost one look at it. */
  let known: Map<number, Bound> | undefined;
  const bound = (): Map<number, Bound> => {
    known ??= new Map(selectBound.all().map((row) => [row.keySeq, toBound(row)]));
    return known;
  };

  return {
    /** Whether the key has expired since it was let in. */
    expiry: (keySeq: number, atMs: number): AdmitOutcome | undefined => {
      const { expiresAtMs = null } = bound().get(keySeq) ?? {};
      return expiresAtMs !== null && atMs >= expiresAtMs ? { kind: "key_expired" } : undefined;
    },
    /** The limit that does not cover a reserve. */
    shortage: (keySeq: number, atMs: number, reservedCredits: Credits): AdmitOutcome | undefined => {
      const meter = bound().get(keySeq)?.meter;
      if (!meter) return undefined;
      for (const [window, limitCredits] of meter.limits) {
        const spent = selectSpent.get(meter.seq, windowFrom(window, atMs))?.credits ?? 0;
        const leftCredits = Math.max(0, limitCredits - spent);
        if (leftCredits < reservedCredits)
          return { kind: "key_limit", window, limitCredits, leftCredits, anewAtMs: windowEndsAtMs(window, atMs) };
      }
      return undefined;
    },
    admitted: (keySeq: number, atMs: number, reservedCredits: Credits): void => {
      const meter = bound().get(keySeq)?.meter;
      if (meter && dayOf(atMs) >= meter.fromDay) add.run(meter.seq, dayOf(atMs), reservedCredits);
    },
    /** A generation has ended: what it reserved and did not cost is the key's again, on the day it was submitted. */
    settled: (generationSeq: number, createdAtMs: number, backCredits: Credits): void => {
      if (backCredits === 0 || bound().size === 0) return;
      const meter = bound().get(selectKey.get(generationSeq)?.keySeq ?? 0)?.meter;
      if (meter && dayOf(createdAtMs) >= meter.fromDay) takeBack.run(meter.seq, dayOf(createdAtMs), backCredits);
    },
    /** A key has changed, or something was rolled back: the rows are read anew. */
    forget: (): void => {
      known = undefined;
    },
  };
};
export type Limits = ReturnType<typeof prepareLimits>;
