// Locks balances in the order of their accounts and reads them for the ledger.
import { chainStart, type Head } from "../sql/ledger.ts";
import { integers } from "./parameters.ts";

/** Balances of accounts (?1) and of the accounts of ending generations (?2). */
const CONCERNED = `b.account_seq IN (SELECT unnest(${integers("?1")})
  UNION SELECT account_seq FROM generation WHERE seq = ANY(${integers("?2")}))`;
export const LOCK_BALANCES = `SELECT b.account_seq FROM balance b WHERE ${CONCERNED} ORDER BY b.account_seq FOR NO KEY UPDATE`;

/** The same plus the accounts of purchases by id (?3) and payment (?4) as JSON, before a batch of several groups. */
export const LOCK_ALL_BALANCES = `SELECT b.account_seq FROM balance b WHERE b.account_seq IN (SELECT unnest(${integers("?1")})
  UNION SELECT account_seq FROM generation WHERE seq = ANY(${integers("?2")})
  UNION SELECT account_seq FROM purchase WHERE id IN (SELECT json_array_elements_text(CAST(CAST(?3 AS text) AS json)))
  UNION SELECT account_seq FROM purchase WHERE payment_intent IN (SELECT json_array_elements_text(CAST(CAST(?4 AS text) AS json))))
  ORDER BY b.account_seq FOR NO KEY UPDATE`;

export type HeadRow = Omit<Head, "chainHash"> & { accountSeq: number; accountId: string; hash: string | null };
const HEAD = `SELECT b.account_seq AS "accountSeq", b.available_credits AS "availableCredits", b.held_credits AS "heldCredits", b.owed_credits AS "owedCredits",
  b.in_progress AS "inProgress", b.last_transfer_no AS "chainSeq", b.last_transfer_seq AS "chainEnd", a.id AS "accountId",
  CASE WHEN b.last_transfer_seq < 0 THEN (SELECT hold_hash FROM generation WHERE seq = -b.last_transfer_seq)
    ELSE (SELECT hash FROM transfer WHERE seq = b.last_transfer_seq) END AS hash
  FROM balance b JOIN account a ON a.seq = b.account_seq`;
export const SELECT_HEADS = `${HEAD} WHERE ${CONCERNED}`;
export const SELECT_HEAD = `${HEAD} WHERE b.account_seq = ?1`;

export const toHead = ({ accountSeq: _, accountId, hash, ...head }: HeadRow): Head => ({
  ...head,
  chainHash: hash ?? chainStart(accountId),
});
