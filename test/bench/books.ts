// Writes the ledger of a stocked directory: chains the transfers of copied generations to their accounts.
import type { Database } from "bun:sqlite";
import { chain, chainStart, type Head, type Link, linkHash, type Transfer } from "../../src/store/sql/ledger.ts";

type Account = Omit<Head, "chainHash"> & { seq: number; id: string; charged: number; hash: string | null };
type Book = Head & { charged: number };

/** The transfers of a life, each with the cumulative changes of balance and chain. */
const addedBy = (moves: readonly Transfer[]): Link[] => {
  let head: Head = {
    availableCredits: 0,
    heldCredits: 0,
    owedCredits: 0,
    inProgress: 0,
    chainSeq: 0,
    chainEnd: null,
    chainHash: "",
  };
  return moves.map((move) => {
    const { link } = chain(head, move);
    head = { ...head, availableCredits: link.availableAfter, heldCredits: link.heldAfter, chainSeq: link.chainSeq };
    return link;
  });
};

/**
 * Opens the ledger of all accounts for copies of one life; the balances are written at the end.
 * @param moves the hold, then the transfers, with times relative to the submission.
 */
export const openBooks = (db: Database, moves: readonly Transfer[]) => {
  const accounts = db
    .query<Account, []>(
      `SELECT a.seq, a.id, b.available_credits AS availableCredits, b.held_credits AS heldCredits, b.charged_credits AS charged,
         b.in_progress AS inProgress, b.last_transfer_no AS chainSeq, b.last_transfer_seq AS chainEnd,
         coalesce((SELECT hold_hash FROM generation WHERE seq = -b.last_transfer_seq), (SELECT hash FROM transfer WHERE seq = b.last_transfer_seq)) AS hash
       FROM balance b JOIN account a ON a.seq = b.account_seq`,
    )
    .all();
  const books = new Map(
    accounts.map(({ seq, id, hash, ...rest }): [number, Book] => [seq, { ...rest, chainHash: hash ?? chainStart(id) }]),
  );
  const added = addedBy(moves);
  const whole = added.at(-1);
  if (!whole) throw new Error("a life begins with its hold");
  const transfers = moves.length - 1;
  const progress = moves.reduce((sum, move) => sum + move.progress, 0);
  const charged = moves.reduce((sum, { to, credits }) => sum + (to === "charged" ? credits : 0), 0);
  let newest = db.query<{ seq: number | null }, []>("SELECT max(seq) AS seq FROM transfer").get()?.seq ?? 0;
  return {
    /** The changes that each transfer adds. */
    added,
    /**
     * Chains a copy.
     * @returns the account's earlier end of chain, balance and newest transfer, and the hashes of the new transfers.
     */
    enter: (accountSeq: number, seq: number, atMs: number): (string | number | null)[] => {
      const book = books.get(accountSeq);
      if (!book) throw new Error(`there is no account ${accountSeq}`);
      const { chainSeq, chainEnd, availableCredits, heldCredits } = book;
      const entry: (string | number | null)[] = [chainSeq, chainEnd, availableCredits, heldCredits, newest];
      for (const link of added) {
        book.chainHash = linkHash(book.chainHash, {
          ...link,
          chainSeq: chainSeq + link.chainSeq,
          generationSeq: seq,
          availableAfter: availableCredits + link.availableAfter,
          heldAfter: heldCredits + link.heldAfter,
          atMs: atMs + link.atMs,
        });
        entry.push(book.chainHash);
      }
      newest += transfers;
      book.chainSeq += whole.chainSeq;
      book.chainEnd = transfers === 0 ? -seq : newest;
      book.availableCredits += whole.availableAfter;
      book.heldCredits += whole.heldAfter;
      book.charged += charged;
      book.inProgress += progress;
      return entry;
    },
    close: () => {
      const update = db.prepare(
        `UPDATE balance SET available_credits = ?2, held_credits = ?3, charged_credits = ?4, in_progress = ?5, last_transfer_no = ?6,
           last_transfer_seq = ?7 WHERE account_seq = ?1`,
      );
      for (const [seq, { availableCredits, heldCredits, charged, inProgress, chainSeq, chainEnd }] of books)
        update.run(seq, availableCredits, heldCredits, charged, inProgress, chainSeq, chainEnd);
    },
  };
};
