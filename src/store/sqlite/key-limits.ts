// Reads expiry and spend limits of keys, and writes the spending.
import type { Database } from "bun:sqlite";
import type { Credits } from "../../domain/types.ts";
import { BOUNDS, type Bound, type BoundRow, type Meter, type Spend, toBound } from "../sql/key-policy.ts";

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

  return {
    /** Expiry and spend limit of a key; undefined: neither. */
    boundOf,
    /** The spend limit of the key of a generation. */
    meterOf: (generationSeq: number): Meter | null => boundOf(selectKey.get(generationSeq)?.keySeq ?? 0)?.meter ?? null,
    /** Credits that the keys of a spend limit have spent since a day, inclusive. */
    spentSince: (meterSeq: number, day: number): Credits => selectSpent.get(meterSeq, day)?.credits ?? 0,
    /** Adds to the spending of a day, or takes back if the credits are negative. */
    spend: (spend: Spend | null): void => {
      if (!spend) return;
      if (spend.credits > 0) add.run(spend.meterSeq, spend.day, spend.credits);
      else takeBack.run(spend.meterSeq, spend.day, -spend.credits);
    },
    /** Drops the cache after a key changed or a rollback. */
    forget: (): void => known.clear(),
  };
};
export type Limits = ReturnType<typeof prepareLimits>;
