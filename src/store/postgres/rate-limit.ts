// Cluster-wide rate limit: counts an account's requests of the last second in an unlogged table.
import type { Query } from "../sql/sql-program.ts";

/** A node whose clock is behind counts into the newer second of another node. */
const TAKE = `INSERT INTO rate_limit_window AS b (account_seq, second, requests) VALUES (?1, ?2, 1) ON CONFLICT (account_seq) DO UPDATE
  SET requests = CASE WHEN b.second < excluded.second THEN 1 ELSE b.requests + 1 END, second = greatest(b.second, excluded.second)
  WHERE b.second < excluded.second OR b.requests < CAST(?3 AS bigint) RETURNING requests`;

/** @returns whether a request of `most` was left. */
export const takeFromRateLimit = async (query: Query, accountSeq: number, second: number, most: number): Promise<boolean> =>
  most >= 1 && (await query(TAKE, accountSeq, second, most)).length === 1;
