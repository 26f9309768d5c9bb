// Ledger rules: how a transfer follows from the previous one and changes a balance.
import type { Credits, LedgerSide, TransferKind } from "../../domain/types.ts";
import type { SqlProgram } from "./sql-program.ts";

/** The balance of an account for transfers: credits by side and the end of its chain. */
export type Head = {
  availableCredits: Credits;
  heldCredits: Credits;
  /** The debt of the account. */
  owedCredits: Credits;
  inProgress: number;
  chainSeq: number;
  /** The last transfer as numbered by `transfer_log`: the row of a transfer or, negative, of a generation; null before the first. */
  chainEnd: number | null;
  chainHash: string;
};

/** The hashed columns of a transfer. */
export type Link = {
  chainSeq: number;
  kind: TransferKind;
  credits: Credits;
  from: LedgerSide;
  to: LedgerSide;
  generationSeq: number | null;
  attemptN: number | null;
  availableAfter: Credits;
  heldAfter: Credits;
  atMs: number;
  note: string | null;
};

/** The chain of an account starts with the SHA-256 of the account's id. */
export const chainStart = (accountId: string): string => Bun.CryptoHasher.hash("sha256", accountId, "hex");

/**
 * Hash of a transfer: SHA-256 in hex of these columns of `transfer_log` joined by `|`, null as nothing, the note last: previous hash,
 * transfer_no, kind, credits, from_side, to_side, generation_seq, attempt_no, available_after, held_after, at_ms, note. The view is
 * sufficient to recompute a chain.
 */
export const linkHash = (previous: string, link: Link): string =>
  Bun.SHA256.hash(
    `${previous}|${link.chainSeq}|${link.kind}|${link.credits}|${link.from}|${link.to}|${link.generationSeq ?? ""}|${link.attemptN ?? ""}|${link.availableAfter}|${link.heldAfter}|${link.atMs}|${link.note ?? ""}`,
    "hex",
  );

export type Transfer = Omit<Link, "chainSeq" | "availableAfter" | "heldAfter"> & {
  /** Change of the number of generations in progress. */
  progress: -1 | 0 | 1;
};
/** A transfer with its position after `head`. */
export type Chained = { move: Transfer; head: Head; link: Link; hash: string };

/** Change of a side by a transfer. */
export const changeOf = (move: Transfer, side: LedgerSide): number =>
  (move.to === side ? move.credits : 0) - (move.from === side ? move.credits : 0);

/** Computes the transfer that follows `head`. */
export const chain = (head: Head, move: Transfer): Chained => {
  const link: Link = {
    chainSeq: head.chainSeq + 1,
    kind: move.kind,
    credits: move.credits,
    from: move.from,
    to: move.to,
    generationSeq: move.generationSeq,
    attemptN: move.attemptN,
    availableAfter: head.availableCredits + changeOf(move, "available"),
    heldAfter: head.heldCredits + changeOf(move, "held"),
    atMs: move.atMs,
    note: move.note,
  };
  return { move, head, link, hash: linkHash(head.chainHash, link) };
};

/** The balance after a transfer was written. @param chainEnd its row. */
export const headAfter = ({ move, head, link, hash }: Chained, chainEnd: number): Head => ({
  availableCredits: link.availableAfter,
  heldCredits: link.heldAfter,
  owedCredits: head.owedCredits,
  inProgress: head.inProgress + move.progress,
  chainSeq: link.chainSeq,
  chainEnd,
  chainHash: hash,
});

/** Transfers of mutations outside the fast path. */
export type RequestedTransfer = {
  /** Reads and locks the balance of an account until the end of the transaction; undefined without an account. */
  head(accountSeq: number): SqlProgram<Head | undefined>;
  /**
   * Writes any transfer but a hold for an account whose balance is `head`. @returns the new balance and the row of the transfer.
   * @throws MutationRejected if the balance differs from `head` or does not cover the transfer.
   */
  post(accountSeq: number, head: Head, move: Transfer): SqlProgram<{ head: Head; seq: number }>;
  /** Changes the debt of an account. @param head its current balance. */
  owe(accountSeq: number, head: Head, credits: Credits): SqlProgram<void>;
};
