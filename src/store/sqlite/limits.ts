// Holds keys to their terms where it counts, in the transaction that accepts: when they expire, and what they may spend.
import type { Database } from "bun:sqlite";
import { dayOf } from "../../days.ts";
import type { AdmitOutcome } from "../../deeds.ts";
import type { Credits } from "../../terms.ts";
import { BOUNDS, type Bound, type BoundRow, expiryOf, shortageOf, toBound } from "../sql/bounds.ts";

export const prepareLimits = (db: Database) => {
  const selectBound = db.prepare<BoundRow, []>(BOUNDS);
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

  const spentSince = (meterSeq: number, day: number): Credits => selectSpent.get(meterSeq, day)?.credits ?? 0;

  return {
    /** Whether the key has expired since it was let in. */
    expiry: (keySeq: number, atMs: number): AdmitOutcome | undefined => expiryOf(bound().get(keySeq), atMs),
    /** The limit that does not cover a reserve. */
    shortage: (keySeq: number, atMs: number, reservedCredits: Credits): AdmitOutcome | undefined => {
      const meter = bound().get(keySeq)?.meter;
      return meter ? shortageOf(meter, atMs, reservedCredits, spentSince) : undefined;
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
