// Reads what the metrics tell of the books: generations not ended, sums of balances and movements, bytes of files that are kept.
import type { Database } from "bun:sqlite";
import type { StoreReads } from "../../store.ts";

type Reads = Pick<StoreReads, "openGenerations" | "bookSums" | "keptFiles">;

const openSumReads = (db: Database): Reads => {
  const open = db.prepare<Awaited<ReturnType<Reads["openGenerations"]>>[number], [number, number]>(
    `SELECT seq, status, model, reserved_credits AS reservedCredits, created_at_ms AS createdAtMs FROM generation
     WHERE completed_at_ms IS NULL AND seq > ?1 ORDER BY seq LIMIT ?2`,
  );
  const movements = db.prepare<
    { count: number; upToSeq: number | null; put: number | null; captured: number | null },
    [number, number]
  >(
    `SELECT count(*) AS count, max(seq) AS upToSeq,
       sum(CASE WHEN kind IN ('topup', 'adjust') THEN iif(to_side = 'available', credits, -credits) ELSE 0 END) AS put,
       sum(iif(kind = 'capture', credits, 0)) AS captured
     FROM (SELECT seq, kind, credits, to_side FROM posting WHERE seq > ?1 ORDER BY seq LIMIT ?2)`,
  );
  const balances = db.prepare<{ availableCredits: number; heldCredits: number; chargedCredits: number }, []>(
    `SELECT coalesce(sum(available_credits), 0) AS availableCredits, coalesce(sum(held_credits), 0) AS heldCredits,
       coalesce(sum(charged_credits), 0) AS chargedCredits FROM balance`,
  );
  const reserved = db.prepare<{ credits: number }, []>(
    "SELECT coalesce(sum(reserved_credits), 0) AS credits FROM generation WHERE completed_at_ms IS NULL",
  );
  const kept = db.prepare<{ expireAtMs: number; seq: number; bytes: number | null }, [number, number, number]>(
    `SELECT files_expire_at_ms AS expireAtMs, seq,
       (SELECT sum(file.value ->> 'bytes') FROM json_each(g.output, '$.files') file) AS bytes
     FROM generation g WHERE files_expire_at_ms IS NOT NULL AND files_expired_at_ms IS NULL
       AND (files_expire_at_ms, seq) > (?1, ?2) ORDER BY files_expire_at_ms, seq LIMIT ?3`,
  );
  // One state of the database for all four, or a commit in between would look like a fault.
  const sums = db.transaction((upToSeq: number, limit: number) => {
    const page = movements.get(upToSeq, limit);
    const isWhole = (page?.count ?? 0) < limit;
    return {
      page,
      isWhole,
      balances: (isWhole && balances.get()) || { availableCredits: 0, heldCredits: 0, chargedCredits: 0 },
      openReservedCredits: (isWhole && reserved.get()?.credits) || 0,
    };
  });
  return {
    openGenerations: async (afterSeq, limit) => open.all(afterSeq, limit),
    bookSums: async (before, limit) => {
      const { page, ...rest } = sums.deferred(before.upToSeq, limit);
      return {
        ...rest,
        upToSeq: page?.upToSeq ?? before.upToSeq,
        putCredits: before.putCredits + (page?.put ?? 0),
        capturedCredits: before.capturedCredits + (page?.captured ?? 0),
      };
    },
    keptFiles: async (after, limit) => {
      const page = kept.all(after.expireAtMs, after.seq, limit);
      const { expireAtMs, seq } = page.at(-1) ?? after;
      return { count: page.length, bytes: page.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0), upTo: { expireAtMs, seq } };
    },
  };
};

/** The statements are made when they are first asked: a start does not wait for what only /metrics needs. */
export const prepareSumReads = (db: Database): Reads => {
  let made: Reads | undefined;
  const reads = (): Reads => {
    made ??= openSumReads(db);
    return made;
  };
  return {
    openGenerations: (afterSeq, limit) => reads().openGenerations(afterSeq, limit),
    bookSums: (before, limit) => reads().bookSums(before, limit),
    keptFiles: (after, limit) => reads().keptFiles(after, limit),
  };
};
