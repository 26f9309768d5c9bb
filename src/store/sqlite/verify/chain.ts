// Walks the hash chain of every account from its first movement to the end that the account row names.
import type { Database } from "bun:sqlite";
import type { JsonObject, LedgerSide, MovementKind } from "../../../terms.ts";
import { chainStart, linkHash } from "../money.ts";
import type { Clause, Seen } from "./check.ts";

type Row = {
  seq: number;
  account_seq: number;
  chain_seq: number;
  previous: number | null;
  kind: MovementKind;
  credits: number;
  from_side: LedgerSide;
  to_side: LedgerSide;
  generation_seq: number | null;
  attempt_n: number | null;
  available_after: number;
  held_after: number;
  at_ms: number;
  note: string | null;
  hash: string;
};
type Account = {
  seq: number;
  id: string;
  chain_seq: number;
  chain_end: number | null;
  available_credits: number;
  held_credits: number;
};

const UNFOLLOWING = "the movement does not follow from the one before it";
const ELSEWHERE = "the balance is not where its movements lead";

/** How far the chain of an account was walked. */
type Walked = {
  account: Account;
  hash: string;
  chainSeq: number;
  end: number | null;
  available: number;
  held: number;
  /** Movements that were met before their turn, by their place. */
  early: Map<number, Row>;
};

const walkOn = (walked: Walked, row: Row): void => {
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
    attemptN: row.attempt_n,
    availableAfter: walked.available,
    heldAfter: walked.held,
    atMs: row.at_ms,
    note: row.note,
  });
};

/** The holds of the view `movement`, in the order of their generations. */
const HOLDS = `SELECT -seq AS seq, account_seq, hold_chain_seq AS chain_seq, hold_previous AS previous, 'hold' AS kind,
  reserved_credits AS credits, 'available' AS from_side, 'held' AS to_side, seq AS generation_seq, NULL AS attempt_n,
  hold_available_after AS available_after, hold_held_after AS held_after, created_at_ms AS at_ms, NULL AS note, hold_hash AS hash
  FROM generation ORDER BY seq`;

/** Holds and postings in the order in which they were written, or nearly: a walk puts right what is not. */
const inOrder = function* (db: Database): Generator<Row> {
  const holds = db.query<Row, []>(HOLDS).iterate();
  const postings = db.query<Row & { after_seq: number }, []>("SELECT * FROM posting ORDER BY seq").iterate();
  let [hold, posting] = [holds.next(), postings.next()];
  while (!hold.done || !posting.done)
    if (!hold.done && (posting.done || (hold.value.generation_seq ?? 0) <= posting.value.after_seq)) {
      yield hold.value;
      hold = holds.next();
    } else if (!posting.done) {
      yield posting.value;
      posting = postings.next();
    }
};

/** Recomputes hashes and running balances in one pass over the ledger; yields the first movement of each account that does not follow, and each balance that differs. */
const brokenChains = function* ({ db }: Seen): Generator<JsonObject & { fault: string }> {
  const walks = new Map<number, Walked>();
  const accounts = db.query<Account, []>("SELECT b.*, a.seq, a.id FROM balance b JOIN account a ON a.seq = b.account_seq");
  for (const account of accounts.iterate())
    walks.set(account.seq, {
      ...{ account, hash: chainStart(account.id), chainSeq: 0, end: null, available: 0, held: 0, early: new Map() },
    });
  for (const met of inOrder(db)) {
    const walked = walks.get(met.account_seq);
    if (!walked) continue;
    let row: Row | undefined = met;
    if (met.chain_seq > walked.chainSeq + 1 && !walked.early.has(met.chain_seq)) {
      walked.early.set(met.chain_seq, met);
      row = undefined;
    }
    while (row) {
      const before = walked.end;
      walkOn(walked, row);
      const follows =
        row.hash === walked.hash &&
        row.chain_seq === walked.chainSeq &&
        row.previous === before &&
        row.available_after === walked.available &&
        row.held_after === walked.held;
      if (!follows) {
        walks.delete(row.account_seq);
        yield { fault: UNFOLLOWING, account: walked.account.id, chain_seq: row.chain_seq };
        break;
      }
      row = walked.early.get(walked.chainSeq + 1);
      walked.early.delete(walked.chainSeq + 1);
    }
  }
  for (const { account, early, ...walked } of walks.values()) {
    const [stranded] = early.keys();
    const isEnd =
      account.chain_seq === walked.chainSeq &&
      account.chain_end === walked.end &&
      account.available_credits === walked.available &&
      account.held_credits === walked.held;
    if (stranded !== undefined) yield { fault: UNFOLLOWING, account: account.id, chain_seq: stranded };
    else if (!isEnd) yield { fault: ELSEWHERE, account: account.id, chain_seq: account.chain_seq };
  }
};

export const chainClause: Clause = { isLong: true, faults: [UNFOLLOWING, ELSEWHERE], offending: brokenChains };
