// Chain walk: verifies the hash chain of every account from streamed transfers.
import type { LedgerSide, TransferKind } from "../../../domain/types.ts";
import { chainStart, linkHash } from "../ledger.ts";
import type { Offender } from "./check.ts";

/** A row of `transfer_log`. */
export type ChainRow = {
  seq: number;
  account_seq: number;
  transfer_no: number;
  previous_seq: number | null;
  kind: TransferKind;
  credits: number;
  from_side: LedgerSide;
  to_side: LedgerSide;
  generation_seq: number | null;
  attempt_no: number | null;
  available_after: number;
  held_after: number;
  at_ms: number;
  note: string | null;
  hash: string;
};
export type ChainAccount = {
  seq: number;
  id: string;
  last_transfer_no: number;
  last_transfer_seq: number | null;
  available_credits: number;
  held_credits: number;
};

/** The accounts, which the walk reads first. */
export const CHAIN_ACCOUNTS = `SELECT a.seq, a.id, b.last_transfer_no, b.last_transfer_seq, b.available_credits, b.held_credits
  FROM balance b JOIN account a ON a.seq = b.account_seq`;
/** The transfers in chain order, in which no transfer must be buffered. */
export const CHAIN_ROWS = "SELECT * FROM transfer_log ORDER BY account_seq, transfer_no";

const UNFOLLOWING = "the transfer does not follow its predecessor";
const ELSEWHERE = "the balance differs from the end of its chain";
export const CHAIN_FAULTS = [UNFOLLOWING, ELSEWHERE] as const;

/** Progress in the chain of an account. */
type Walked = {
  account: ChainAccount;
  hash: string;
  chainSeq: number;
  end: number | null;
  available: number;
  held: number;
  /** Buffered transfers whose predecessor has not arrived, by position. */
  early: Map<number, ChainRow>;
};

const walkOn = (walked: Walked, row: ChainRow): void => {
  const change = (side: LedgerSide) => (row.to_side === side ? row.credits : 0) - (row.from_side === side ? row.credits : 0);
  walked.chainSeq += 1;
  walked.end = row.seq;
  walked.available += change("available");
  walked.held += change("held");
  walked.hash = linkHash(walked.hash, {
    chainSeq: walked.chainSeq,
    kind: row.kind,
    credits: row.credits,
    from: row.from_side,
    to: row.to_side,
    generationSeq: row.generation_seq,
    attemptN: row.attempt_no,
    availableAfter: walked.available,
    heldAfter: walked.held,
    atMs: row.at_ms,
    note: row.note,
  });
};

/**
 * Recomputes hashes and running balances. It receives every account first, then every transfer in any order. It buffers a
 * transfer until its predecessor arrives, so input near chain order needs little memory.
 */
export const createChainWalk = () => {
  const walks = new Map<number, Walked>();

  const begin = (account: ChainAccount): void => {
    walks.set(account.seq, {
      ...{ account, hash: chainStart(account.id), chainSeq: 0, end: null, available: 0, held: 0, early: new Map() },
    });
  };

  /** @returns the first transfer of the account that does not follow its predecessor, as soon as this is established. */
  const meet = (met: ChainRow): Offender | undefined => {
    const walked = walks.get(met.account_seq);
    if (!walked) return undefined;
    if (met.transfer_no > walked.chainSeq + 1 && !walked.early.has(met.transfer_no)) {
      walked.early.set(met.transfer_no, met);
      return undefined;
    }
    for (let row: ChainRow | undefined = met; row; row = walked.early.get(walked.chainSeq + 1)) {
      walked.early.delete(row.transfer_no);
      const before = walked.end;
      walkOn(walked, row);
      const follows =
        row.hash === walked.hash &&
        row.transfer_no === walked.chainSeq &&
        row.previous_seq === before &&
        row.available_after === walked.available &&
        row.held_after === walked.held;
      if (follows) continue;
      walks.delete(row.account_seq);
      return { fault: UNFOLLOWING, account: walked.account.id, transfer_no: row.transfer_no };
    }
    return undefined;
  };

  /** After the last transfer: accounts with leftover transfers, and accounts whose balance differs. */
  const end = function* (): Generator<Offender> {
    for (const { account, early, ...walked } of walks.values()) {
      const [stranded] = early.keys();
      const isEnd =
        account.last_transfer_no === walked.chainSeq &&
        account.last_transfer_seq === walked.end &&
        account.available_credits === walked.available &&
        account.held_credits === walked.held;
      if (stranded !== undefined) yield { fault: UNFOLLOWING, account: account.id, transfer_no: stranded };
      else if (!isEnd) yield { fault: ELSEWHERE, account: account.id, transfer_no: account.last_transfer_no };
    }
  };

  return { begin, meet, end };
};
