// Queries of accounts, of callers by key, and of transfers.
import type { Caller, KeyScope, LedgerSide, TransferKind } from "../../../domain/types.ts";
import type { AccountActivity, AccountRow, StoreReads, TransferRow } from "../../store.ts";
import type { Dialect } from "../dialect.ts";
import type { Query } from "../sql-program.ts";
import { parsed } from "./record.ts";

type Reads = Pick<StoreReads, "callerByKeyHash" | "accounts" | "account" | "transfers" | "transfersOf" | "activityAmong">;

export const ACCOUNT = `SELECT a.seq, a.id, a.name, a.paused, b.available_credits AS "availableCredits", b.held_credits AS "heldCredits",
  b.charged_credits AS "chargedCredits", b.owed_credits AS "owedCredits", b.in_progress AS "inProgress", a.burst_per_s AS "burstPerS",
  a.in_progress_limit AS "inProgressLimit", a.prompt_retention_s AS "promptRetentionS", a.created_at_ms AS "createdAtMs" FROM account a JOIN balance b ON b.account_seq = a.seq`;
/**
 * Transfers as in the view `transfer_log`, each part selected from its own table. A row is found by its number, which the view
 * negates.
 */
export const HOLD = `SELECT -g.seq AS seq, a.id AS "accountId", g.hold_transfer_no AS "chainSeq", 'hold' AS kind, g.reserved_credits AS credits,
  'available' AS "from", 'held' AS "to", g.id AS "generationId", NULL AS "attemptN", g.request_id AS "requestId", NULL AS note,
  g.hold_available_after AS "availableAfter", g.hold_held_after AS "heldAfter", g.hold_hash AS hash, g.created_at_ms AS "atMs"`;
export const TRANSFER = `SELECT p.seq, a.id, p.transfer_no, p.kind, p.credits, p.from_side, p.to_side, g.id, p.attempt_no, g.request_id, p.note, p.available_after,
  p.held_after, p.hash, p.at_ms`;
export const OF_TRANSFER = "JOIN account a ON a.seq = p.account_seq LEFT JOIN generation g ON g.seq = p.generation_seq";

export type StoredAccount = Omit<AccountRow, "paused" | "promptRetentionS"> & { paused: number; promptRetentionS: number | null };
type StoredCaller = Omit<Caller, "paused" | "scope" | "models" | "isLimited"> & {
  paused: number;
  scope: KeyScope;
  models: string | null;
  isLimited: number;
};
export type StoredTransferRow = Omit<TransferRow, "kind" | "from" | "to"> & {
  kind: TransferKind;
  from: LedgerSide;
  to: LedgerSide;
};

/** A negative number is stored for `forever`. */
const retentionOf = (stored: number | null): AccountRow["promptRetentionS"] =>
  stored !== null && stored < 0 ? "forever" : stored;

export const toAccount = (row: StoredAccount): AccountRow => ({
  ...row,
  paused: row.paused === 1,
  promptRetentionS: retentionOf(row.promptRetentionS),
});

/**
 * The previous transfer of the same account. Both have the number of the ledger, which is the negative row number of a generation
 * for a hold.
 */
export const previousTo = (link: string): string =>
  `CASE WHEN ${link} < 0 THEN (SELECT hold_previous_seq FROM generation WHERE seq = -${link}) ELSE (SELECT previous_seq FROM transfer WHERE seq = ${link}) END`;

const ACCOUNTS = `${ACCOUNT} ORDER BY a.seq`;
const BY_ID = `${ACCOUNT} WHERE a.id = ?1`;
const CALLER = `SELECT k.seq AS "keySeq", k.id AS "keyId", k.scope, t.expires_at_ms AS "expiresAtMs", t.models, a.seq AS "accountSeq",
    a.id AS "accountId", a.paused, a.burst_per_s AS "burstPerS", a.in_progress_limit AS "inProgressLimit",
    CASE WHEN t.models IS NULL AND coalesce(m.day_limit_credits, m.week_limit_credits, m.month_limit_credits) IS NULL THEN 0 ELSE 1 END
      AS "isLimited"
  FROM api_key k JOIN account a ON a.seq = k.account_seq LEFT JOIN api_key_policy t ON t.key_seq = k.seq
    LEFT JOIN spend_limit m ON m.seq = t.spend_limit_seq
  WHERE k.hash = ?1 AND k.revoked_at_ms IS NULL`;
const BEFORE = "CAST(?2 AS bigint)";
// Walks backwards from the last transfer of the account, or from a transfer of the previous page, each by its row number. The `+`
// keeps SQLite from another index.
const TRANSFERS = `WITH RECURSIVE walk (link, remaining) AS (
    SELECT CASE WHEN ${BEFORE} IS NULL THEN b.last_transfer_seq ELSE ${previousTo(BEFORE)} END, CAST(?3 AS bigint)
    FROM account a JOIN balance b ON b.account_seq = a.seq WHERE a.id = ?1
    UNION ALL SELECT ${previousTo("walk.link")}, remaining - 1 FROM walk WHERE remaining > 1 AND walk.link IS NOT NULL)
  ${HOLD} FROM walk JOIN generation g ON g.seq = -walk.link JOIN account a ON a.seq = g.account_seq WHERE a.id = ?1 AND remaining > 0
  UNION ALL ${TRANSFER} FROM walk JOIN transfer p ON p.seq = +walk.link ${OF_TRANSFER} WHERE a.id = ?1 AND remaining > 0
  ORDER BY "chainSeq" DESC`;
const TRANSFERS_OF = `${HOLD} FROM generation g JOIN account a ON a.seq = g.account_seq WHERE g.seq = ?1
  UNION ALL ${TRANSFER} FROM transfer p ${OF_TRANSFER} WHERE p.generation_seq = ?1 ORDER BY "chainSeq"`;

// One pass over the open generations of all accounts, whatever the number of accounts.
const activityIn = ({ items, json }: Dialect): string =>
  `SELECT b.account_seq AS "accountSeq", b.last_transfer_no AS "transferNo", coalesce(r.running, 0) AS running
   FROM ${items(json("CAST(?1 AS text)"), "j")} JOIN balance b ON b.account_seq = CAST(j.value AS bigint)
   LEFT JOIN (SELECT account_seq, count(*) AS running FROM generation INDEXED BY generation_open
     WHERE completed_at_ms IS NULL AND status = 'running' GROUP BY account_seq) r ON r.account_seq = b.account_seq`;

export const accountReads = (query: Query, dialect: Dialect): Reads => ({
  callerByKeyHash: async (hash) => {
    const [row] = await query<StoredCaller>(CALLER, hash);
    return row
      ? { ...row, paused: row.paused === 1, isLimited: row.isLimited === 1, models: parsed<string[]>(row.models) }
      : undefined;
  },
  accounts: async () => (await query<StoredAccount>(ACCOUNTS)).map(toAccount),
  account: async (id) => {
    const [row] = await query<StoredAccount>(BY_ID, id);
    return row ? toAccount(row) : undefined;
  },
  transfers: (accountId, beforeSeq, limit) => query<StoredTransferRow>(TRANSFERS, accountId, beforeSeq, limit),
  transfersOf: (generationSeq) => query<StoredTransferRow>(TRANSFERS_OF, generationSeq),
  activityAmong: async (accountSeqs) => {
    if (accountSeqs.length === 0) return new Map();
    const rows = await query<AccountActivity & { accountSeq: number }>(activityIn(dialect), JSON.stringify(accountSeqs));
    return new Map(rows.map(({ accountSeq, ...activity }) => [accountSeq, activity]));
  },
});
