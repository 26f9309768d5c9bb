// Reads accounts, keys and the ledger.
import type { Database } from "bun:sqlite";
import type { Caller, KeyScope, LedgerSide, MovementKind } from "../../../terms.ts";
import type { AccountRow, KeyRow, MovementRow, StoreReads } from "../../store.ts";

type Reads = Pick<StoreReads, "callerByKeyHash" | "accounts" | "account" | "keys" | "movements" | "movementsOf">;

const ACCOUNT = `SELECT seq, id, name, paused, available_credits AS availableCredits, held_credits AS heldCredits,
  charged_credits AS chargedCredits, owed_credits AS owedCredits, in_progress AS inProgress, burst_per_s AS burstPerS,
  in_progress_limit AS inProgressLimit, created_at_ms AS createdAtMs FROM account`;
const KEY = `SELECT k.id, a.id AS accountId, k.scope, k.name, k.start, k.created_at_ms AS createdAtMs,
  k.revoked_at_ms AS revokedAtMs FROM api_key k JOIN account a ON a.seq = k.account_seq`;
const MOVEMENT = `SELECT m.seq, a.id AS accountId, m.chain_seq AS chainSeq, m.kind, m.credits, m.from_side AS "from",
  m.to_side AS "to", g.id AS generationId, m.attempt_n AS attemptN, m.note, m.available_after AS availableAfter,
  m.held_after AS heldAfter, m.hash, m.at_ms AS atMs
  FROM movement m JOIN account a ON a.seq = m.account_seq LEFT JOIN generation g ON g.seq = m.generation_seq`;

type StoredAccount = Omit<AccountRow, "paused"> & { paused: number };
type StoredCaller = Omit<Caller, "paused" | "scope"> & { paused: number; scope: KeyScope };
type StoredMovement = Omit<MovementRow, "kind" | "from" | "to"> & { kind: MovementKind; from: LedgerSide; to: LedgerSide };

const toAccount = (row: StoredAccount): AccountRow => ({ ...row, paused: row.paused === 1 });

export const prepareAccountReads = (db: Database): Reads => {
  const caller = db.prepare<StoredCaller, [string]>(
    `SELECT k.seq AS keySeq, k.id AS keyId, k.scope, a.seq AS accountSeq, a.id AS accountId, a.paused, a.burst_per_s AS burstPerS,
       a.in_progress_limit AS inProgressLimit FROM api_key k JOIN account a ON a.seq = k.account_seq
     WHERE k.hash = ?1 AND k.revoked_at_ms IS NULL`,
  );
  const accounts = db.prepare<StoredAccount, []>(`${ACCOUNT} ORDER BY seq`);
  const account = db.prepare<StoredAccount, [string]>(`${ACCOUNT} WHERE id = ?1`);
  const keys = db.prepare<KeyRow, []>(`${KEY} ORDER BY k.seq`);
  const keysOf = db.prepare<KeyRow, [string]>(`${KEY} WHERE a.id = ?1 ORDER BY k.seq`);
  // Row numbers and positions in the chain rise together, so the page is found through the index of the chain.
  const movements = db.prepare<StoredMovement, [string, number, number]>(
    `${MOVEMENT} WHERE a.id = ?1 AND m.chain_seq > coalesce((SELECT max(p.chain_seq) FROM movement p
       WHERE p.seq = ?2 AND p.account_seq = a.seq), iif(?2 > 0, (SELECT count(*) FROM movement c
       WHERE c.account_seq = a.seq AND c.seq <= ?2), 0))
     ORDER BY m.chain_seq LIMIT ?3`,
  );
  const movementsOf = db.prepare<StoredMovement, [number]>(`${MOVEMENT} WHERE m.generation_seq = ?1 ORDER BY m.seq`);

  return {
    callerByKeyHash: async (hash) => {
      const row = caller.get(hash);
      return row ? { ...row, paused: row.paused === 1 } : undefined;
    },
    accounts: async () => accounts.all().map(toAccount),
    account: async (id) => {
      const row = account.get(id);
      return row ? toAccount(row) : undefined;
    },
    keys: async (accountId) => (accountId === undefined ? keys.all() : keysOf.all(accountId)),
    movements: async (accountId, afterSeq, limit) => movements.all(accountId, afterSeq, limit),
    movementsOf: async (generationSeq) => movementsOf.all(generationSeq),
  };
};
