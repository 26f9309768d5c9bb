// Walks the hash chain of every account from its first movement to the end that the account row names.
import type { JsonObject, LedgerSide, MovementKind } from "../../../terms.ts";
import { chainStart, linkHash } from "../money.ts";
import type { Clause, Seen } from "./check.ts";

type Row = {
  account_seq: number;
  chain_seq: number;
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
  chain_hash: string;
  available_credits: number;
  held_credits: number;
};

const UNFOLLOWING = "the movement does not follow from the one before it";
const ELSEWHERE = "the account row is not where its movements lead";

/** Recomputes hashes and running balances; yields each movement that does not follow, and each account whose end differs. */
const brokenChains = function* ({ db }: Seen): Generator<JsonObject & { fault: string }> {
  const movements = db.query<Row, [number]>("SELECT * FROM movement WHERE account_seq = ?1 ORDER BY chain_seq");
  for (const account of db.query<Account, []>("SELECT * FROM account").iterate()) {
    let [hash, chainSeq, available, held] = [chainStart(account.id), 0, 0, 0];
    let isWhole = true;
    for (const row of movements.iterate(account.seq)) {
      chainSeq += 1;
      const change = (side: LedgerSide) => (row.to_side === side ? row.credits : 0) - (row.from_side === side ? row.credits : 0);
      available += change("available");
      held += change("held");
      hash = linkHash(hash, {
        chainSeq,
        kind: row.kind,
        credits: row.credits,
        from: row.from_side,
        to: row.to_side,
        generationSeq: row.generation_seq,
        attemptN: row.attempt_n,
        availableAfter: available,
        heldAfter: held,
        atMs: row.at_ms,
        note: row.note,
      });
      if (row.hash !== hash || row.chain_seq !== chainSeq || row.available_after !== available || row.held_after !== held) {
        yield { fault: UNFOLLOWING, account: account.id, chain_seq: row.chain_seq };
        isWhole = false;
        break;
      }
    }
    const isEnd =
      account.chain_seq === chainSeq &&
      account.chain_hash === hash &&
      account.available_credits === available &&
      account.held_credits === held;
    if (isWhole && !isEnd) yield { fault: ELSEWHERE, account: account.id, chain_seq: account.chain_seq };
  }
};

export const chainClause: Clause = { faults: [UNFOLLOWING, ELSEWHERE], offending: brokenChains };
