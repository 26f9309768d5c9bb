// Enforces expiry and spend limits of keys in the admission transaction.
import type { Database } from "bun:sqlite";
import { dayOf } from "../../domain/calendar.ts";
import type { Credits } from "../../domain/types.ts";
import type { AdmitResult } from "../mutations.ts";
import { BOUNDS, type Bound, type BoundRow, expiryOf, shortageOf, toBound } from "../sql/key-policy.ts";

/** Maximum number of cached keys. */
const MAX_KNOWN = 10_000;

export const prepareLimits = (db: Database) => {
  const selectBound = db.prepare<BoundRow, [number]>(`${BOUNDS} AND t.key_seq = ?1`);
  const selectSpent = db.prepare<{ credits: number }, [number, number]>(
    "SELECT coalesce(sum(credits), 0) AS credits FROM spend_by_day WHERE spend_limit_seq = ?1 AND day >= ?2",
  );
  const add = db.prepare(
    "INSERT INTO spend_by_day VALUES (?1, ?2, ?3) ON CONFLICT (spend_limit_seq, day) DO UPDATE SET credits = credits + excluded.credits",
  );
  // `verify` reports a wrong spend limit; it must not prevent the end of a generation.
  const takeBack = db.prepare("UPDATE spend_by_day SET credits = max(0, credits - ?3) WHERE spend_limit_seq = ?1 AND day = ?2");
  const selectKey = db.prepare<{ keySeq: number }, [number]>("SELECT key_seq AS keySeq FROM generation WHERE seq = ?1");

  /** Recently used keys, valid until a key changes. */
  const known = new Map<number, Bound | undefined>();
  const boundOf = (keySeq: number): Bound | undefined => {
    if (known.has(keySeq)) return known.get(keySeq);
    const row = selectBound.get(keySeq);
    const bound = row ? toBound(row) : undefined;
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(keySeq, bound);
    return bound;
  };

  const spentSince = (meterSeq: number, day: number): Credits => selectSpent.get(meterSeq, day)?.credits ?? 0;

  return {
    /** Whether the key has expired since authentication. */
    expiry: (keySeq: number, atMs: number): AdmitResult | undefined => expiryOf(boundOf(keySeq), atMs),
    /** The spend limit that does not cover a hold. */
    shortage: (keySeq: number, atMs: number, reservedCredits: Credits): AdmitResult | undefined => {
      const meter = boundOf(keySeq)?.meter;
      return meter ? shortageOf(meter, atMs, reservedCredits, spentSince) : undefined;
    },
    admitted: (keySeq: number, atMs: number, reservedCredits: Credits): void => {
      const meter = boundOf(keySeq)?.meter;
      if (meter && dayOf(atMs) >= meter.fromDay) add.run(meter.seq, dayOf(atMs), reservedCredits);
    },
    /** Returns the released credits of an ended generation to the key, on the day of its submission. */
    settled: (generationSeq: number, createdAtMs: number, backCredits: Credits): void => {
      if (backCredits === 0) return;
      const meter = boundOf(selectKey.get(generationSeq)?.keySeq ?? 0)?.meter;
      if (meter && dayOf(createdAtMs) >= meter.fromDay) takeBack.run(meter.seq, dayOf(createdAtMs), backCredits);
    },
    /** Drops the cache after a key changed or a rollback. */
    forget: (): void => known.clear(),
  };
};
export type Limits = ReturnType<typeof prepareLimits>;
