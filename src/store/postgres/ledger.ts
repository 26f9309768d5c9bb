// Transfers of mutations outside the fast path: the balance is locked before it is read.

import { chain, headAfter, type RequestedTransfer } from "../sql/ledger.ts";
import { MutationRejected } from "../sql/mutation-rejected.ts";
import { all, change, first } from "../sql/sql-program.ts";
import { type HeadRow, SELECT_HEAD, toHead } from "./lock-balances.ts";

const LOCK = "SELECT account_seq FROM balance WHERE account_seq = ?1 FOR NO KEY UPDATE";
const INSERT_TRANSFER = `INSERT INTO transfer (seq, account_seq, transfer_no, previous_seq, kind, credits, from_side, to_side, generation_seq, attempt_no,
    available_after, held_after, at_ms, epoch, hash, note)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)`;
const MOVE_BALANCE = `UPDATE balance SET available_credits = ?2, held_credits = ?3, charged_credits = charged_credits + ?4, in_progress = ?5,
    last_transfer_no = ?6, last_transfer_seq = ?7 WHERE account_seq = ?1 AND last_transfer_no = ?6 - 1`;
const OWE = "UPDATE balance SET owed_credits = owed_credits + ?2 WHERE account_seq = ?1";

/** @param newTransferSeq returns the next transfer number. */
export const createLedger = (epoch: number, newTransferSeq: () => number): RequestedTransfer => ({
  head: function* (accountSeq) {
    yield* all(LOCK, accountSeq);
    const row = yield* first<HeadRow>(SELECT_HEAD, accountSeq);
    return row ? toHead(row) : undefined;
  },
  post: function* (accountSeq, head, move) {
    const chained = chain(head, move);
    const { link, hash } = chained;
    const after = headAfter(chained, newTransferSeq());
    const seq = after.chainEnd ?? 0;
    const { availableAfter, heldAfter } = link;
    if (availableAfter < 0 || heldAfter < 0)
      throw new MutationRejected(`the balance does not cover the ${move.kind} of ${move.credits} credits`);
    yield* change(
      ...[INSERT_TRANSFER, seq, accountSeq, link.chainSeq, head.chainEnd, link.kind, link.credits, link.from, link.to],
      ...[link.generationSeq, link.attemptN, availableAfter, heldAfter, link.atMs, epoch, hash, link.note],
    );
    const charged = move.to === "charged" ? move.credits : 0;
    const moved = yield* change(
      MOVE_BALANCE,
      accountSeq,
      availableAfter,
      heldAfter,
      charged,
      after.inProgress,
      link.chainSeq,
      seq,
    );
    if (moved === 0) throw new MutationRejected("the balance is not what it was taken for");
    return { head: after, seq };
  },
  owe: function* (accountSeq, _, credits) {
    yield* change(OWE, accountSeq, credits);
  },
});
