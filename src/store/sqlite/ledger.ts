// Writes transfers: the chained row, then the conditional balance, which must match.
import type { Database } from "bun:sqlite";
import { ClockCache } from "../../collections/clock-cache.ts";
import type { Credits } from "../../domain/types.ts";
import { type Chained, chain, chainStart, changeOf, type Head, headAfter, type Transfer } from "../sql/ledger.ts";
import { MutationRejected } from "../sql/mutation-rejected.ts";

/** Minimum number of cached balances, about 200 bytes each; more than are busy at a time. */
const HEADS_AT_LEAST = 10_000;

/** Prepares the statements of the ledger for a writer with `epoch`. */
export const prepareLedger = (db: Database, epoch: number) => {
  const selectHead = db.prepare<Omit<Head, "chainHash"> & { id: string; hash: string | null }, [number]>(
    `SELECT b.available_credits AS availableCredits, b.held_credits AS heldCredits, b.owed_credits AS owedCredits, b.in_progress AS inProgress, b.last_transfer_no AS chainSeq,
       b.last_transfer_seq AS chainEnd, a.id, CASE WHEN b.last_transfer_seq < 0 THEN (SELECT hold_hash FROM generation WHERE seq = -b.last_transfer_seq)
         ELSE (SELECT hash FROM transfer WHERE seq = b.last_transfer_seq) END AS hash
     FROM balance b JOIN account a ON a.seq = b.account_seq WHERE b.account_seq = ?1`,
  );
  const selectNewest = db.prepare<{ transfer: number | null; generation: number | null }, []>(
    "SELECT (SELECT max(seq) FROM transfer) AS transfer, (SELECT max(seq) FROM generation) AS generation",
  );
  const insertTransfer = db.prepare(
    `INSERT INTO transfer (seq, account_seq, transfer_no, previous_seq, after_generation_seq, kind, credits, from_side, to_side, generation_seq, attempt_no,
       available_after, held_after, at_ms, epoch, hash, note)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ${epoch}, ?15, ?16)`,
  );
  const updateBalance = db.prepare<null, [number, number, number, number, number, number, number]>(
    `UPDATE balance SET available_credits = available_credits + ?1, held_credits = held_credits + ?2,
       charged_credits = charged_credits + ?3, in_progress = in_progress + ?4, last_transfer_no = last_transfer_no + 1, last_transfer_seq = ?5
     WHERE account_seq = ?6 AND last_transfer_no = ?7 AND available_credits + ?1 >= 0 AND held_credits + ?2 >= 0`,
  );
  const updateOwed = db.prepare("UPDATE balance SET owed_credits = owed_credits + ?2 WHERE account_seq = ?1");
  /** Cached balances. They are valid until a rollback, because there is no other writer. */
  const heads = new ClockCache<number, Head>(HEADS_AT_LEAST);
  let newest: { transfer: number; generation: number } | undefined;
  const newestRows = () => {
    const { transfer, generation } = newest ?? selectNewest.get() ?? { transfer: 0, generation: 0 };
    newest ??= { transfer: transfer ?? 0, generation: generation ?? 0 };
    return newest;
  };
  const remember = (accountSeq: number, head: Head): Head => {
    heads.set(accountSeq, head);
    return head;
  };

  /**
   * Updates the balance for a transfer whose row is already written.
   * @param chainEnd that row. @throws MutationRejected if the balance differs from `head` or does not cover the transfer.
   */
  const settleBalance = (accountSeq: number, chained: Chained, chainEnd: number): Head => {
    const { move, head } = chained;
    const available = changeOf(move, "available");
    const held = changeOf(move, "held");
    const { changes } = updateBalance.run(
      available,
      held,
      changeOf(move, "charged"),
      move.progress,
      chainEnd,
      accountSeq,
      head.chainSeq,
    );
    if (changes === 0) throw new MutationRejected(`the balance does not cover the ${move.kind} of ${move.credits} credits`);
    return remember(accountSeq, headAfter(chained, chainEnd));
  };

  return {
    head: (accountSeq: number): Head | undefined => {
      const known = heads.get(accountSeq);
      if (known) return known;
      const read = selectHead.get(accountSeq);
      if (!read) return undefined;
      const { id, hash, ...rest } = read;
      return remember(accountSeq, { ...rest, chainHash: hash ?? chainStart(id) });
    },
    /** Places a hold, which is part of the generation row that was just written. */
    hold: (accountSeq: number, chained: Chained, generationSeq: number): Head => {
      const rows = newestRows();
      rows.generation = Math.max(rows.generation, generationSeq);
      return settleBalance(accountSeq, chained, -generationSeq);
    },
    /**
     * Writes any transfer but a hold for an account whose balance is `head`. @returns the new balance and the row of the transfer.
     */
    post: (accountSeq: number, head: Head, move: Transfer): { head: Head; seq: number } => {
      const chained = chain(head, move);
      const { link, hash } = chained;
      const rows = newestRows();
      rows.transfer += 1;
      const seq = rows.transfer;
      insertTransfer.run(
        seq,
        accountSeq,
        link.chainSeq,
        head.chainEnd,
        rows.generation,
        link.kind,
        link.credits,
        link.from,
        link.to,
        link.generationSeq,
        link.attemptN,
        link.availableAfter,
        link.heldAfter,
        link.atMs,
        hash,
        link.note,
      );
      return { head: settleBalance(accountSeq, chained, seq), seq };
    },
    /** Changes the debt of an account. */
    owe: (accountSeq: number, head: Head, credits: Credits): void => {
      updateOwed.run(accountSeq, credits);
      remember(accountSeq, { ...head, owedCredits: head.owedCredits + credits });
    },
    epoch,
    /** Drops cached rows after a rollback. */
    forget: (): void => {
      heads.clear();
      newest = undefined;
    },
  };
};
export type Ledger = ReturnType<typeof prepareLedger>;
