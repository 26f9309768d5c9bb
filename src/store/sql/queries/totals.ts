// Queries of the ledger gauges: open generations, balance and transfer sums, stored bytes.
import type { LedgerTotals, StoreReads } from "../../store.ts";
import type { Dialect } from "../dialect.ts";
import type { Query } from "../sql-program.ts";

type Reads = Pick<StoreReads, "openGenerations" | "ledgerTotals" | "keptFiles">;

type OpenRow = Awaited<ReturnType<Reads["openGenerations"]>>[number];
type Summed = LedgerTotals["balances"] & {
  transfers: number;
  upToSeq: number | null;
  put: number;
  captured: number;
  openReservedCredits: number;
};
type Kept = { expireAtMs: number; seq: number; bytes: number | null };

const OPEN = `SELECT seq, status, model, reserved_credits AS "reservedCredits", created_at_ms AS "createdAtMs" FROM generation
  WHERE completed_at_ms IS NULL AND seq > ?1 ORDER BY seq LIMIT ?2`;
const sum = (of: string): string => `CAST(coalesce(sum(${of}), 0) AS bigint)`;
// One statement, so that all sums are of one state; a commit in between would appear as a violation. Balances and holds are valid
// with the last page only. Before it the limit is 0, so their tables are not read.
const SUMS = `WITH page AS (SELECT seq, kind, credits, to_side FROM transfer WHERE seq > ?1 ORDER BY seq LIMIT ?2),
  summed AS (SELECT count(*) AS transfers, max(seq) AS up_to,
      ${sum("CASE WHEN kind IN ('topup', 'adjust') THEN CASE WHEN to_side = 'available' THEN credits ELSE -credits END ELSE 0 END")} AS put,
      ${sum("CASE WHEN kind = 'capture' THEN credits ELSE 0 END")} AS captured
    FROM page),
  wanted AS (SELECT CASE WHEN transfers < CAST(?2 AS bigint) THEN ${Number.MAX_SAFE_INTEGER} ELSE 0 END AS most FROM summed),
  standing AS (SELECT ${sum("available_credits")} AS available, ${sum("held_credits")} AS held, ${sum("charged_credits")} AS charged
    FROM (SELECT available_credits, held_credits, charged_credits FROM balance LIMIT (SELECT most FROM wanted)) b),
  reserved AS (SELECT ${sum("reserved_credits")} AS credits
    FROM (SELECT reserved_credits FROM generation WHERE completed_at_ms IS NULL LIMIT (SELECT most FROM wanted)) g)
  SELECT summed.transfers, summed.up_to AS "upToSeq", summed.put, summed.captured, standing.available AS "availableCredits",
    standing.held AS "heldCredits", standing.charged AS "chargedCredits", reserved.credits AS "openReservedCredits"
  FROM summed JOIN standing ON true JOIN reserved ON true`;
const keptIn = ({ elements, json }: Dialect): string =>
  `SELECT files_expire_at_ms AS "expireAtMs", seq,
     (SELECT CAST(sum(CAST(file.value ->> 'bytes' AS bigint)) AS bigint)
       FROM ${elements(`${json("g.output")} -> 'files'`, "file")}) AS bytes
   FROM generation g WHERE files_expire_at_ms IS NOT NULL AND files_expired_at_ms IS NULL
     AND (files_expire_at_ms, seq) > (?1, ?2) ORDER BY files_expire_at_ms, seq LIMIT ?3`;

export const sumReads = (query: Query, dialect: Dialect): Reads => {
  const kept = keptIn(dialect);
  return {
    openGenerations: (afterSeq, limit) => query<OpenRow>(OPEN, afterSeq, limit),
    ledgerTotals: async (before, limit) => {
      const [sums] = await query<Summed>(SUMS, before.upToSeq, limit);
      if (!sums) throw new Error("the database has no sums");
      const { transfers, upToSeq, put, captured, openReservedCredits, ...balances } = sums;
      return {
        ...{ isWhole: transfers < limit, balances, openReservedCredits },
        upToSeq: upToSeq ?? before.upToSeq,
        putCredits: before.putCredits + put,
        capturedCredits: before.capturedCredits + captured,
      };
    },
    keptFiles: async (after, limit) => {
      const page = await query<Kept>(kept, after.expireAtMs, after.seq, limit);
      const { expireAtMs, seq } = page.at(-1) ?? after;
      return { count: page.length, bytes: page.reduce((all, { bytes }) => all + (bytes ?? 0), 0), upTo: { expireAtMs, seq } };
    },
  };
};
