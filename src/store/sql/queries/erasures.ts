// Queries of erasures by retention, account by account from the index of generations that are not erased.
import type { StoreReads } from "../../store.ts";
import type { Query } from "../sql-program.ts";

type Reads = Pick<StoreReads, "dueErasures" | "accountsErasedAtEnd">;

/** Accounts that one statement looks at, so that a sweep does not occupy the connection. */
const ACCOUNTS = 500;
const NONE = -1;

const PAGE_END = `SELECT max(seq) AS seq, count(*) AS n FROM
  (SELECT seq FROM account WHERE seq BETWEEN ?1 AND ?3 AND (prompt_retention_s >= 0 OR (prompt_retention_s IS NULL AND ?2 >= 0))
   ORDER BY seq LIMIT ${ACCOUNTS}) page`;
const DUE = `SELECT g.seq, g.account_seq AS "accountSeq" FROM account a JOIN generation g ON g.account_seq = a.seq
  WHERE a.seq BETWEEN ?1 AND ?2 AND coalesce(a.prompt_retention_s, ?3) >= 0
    AND g.completed_at_ms IS NOT NULL AND g.erased_at_ms IS NULL
    AND g.completed_at_ms <= CAST(?4 AS bigint) - coalesce(a.prompt_retention_s, ?3) * 1000
  LIMIT ?5`;

const AT_END = "SELECT seq FROM account WHERE prompt_retention_s = 0 ORDER BY seq";

export const erasureReads = (query: Query): Reads => ({
  dueErasures: async ({ nowMs, service, fromAccount, untilAccount = Number.MAX_SAFE_INTEGER, limit }) => {
    const serviceS = service === "forever" ? NONE : service;
    const [end] = await query<{ seq: number | null; n: number }>(PAGE_END, fromAccount, serviceS, untilAccount);
    if (!end || end.seq === null) return { due: [], nextAccount: null };
    const due = await query<{ seq: number; accountSeq: number }>(DUE, fromAccount, end.seq, serviceS, nowMs, limit);
    return { due, nextAccount: end.n < ACCOUNTS ? null : end.seq + 1 };
  },
  accountsErasedAtEnd: async () => (await query<{ seq: number }>(AT_END)).map(({ seq }) => seq),
});
