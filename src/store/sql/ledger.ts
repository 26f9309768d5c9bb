// What a movement of credits is: how it chains to the one before it, what it makes of a balance, and how mutations ask for one.
import type { Credits, LedgerSide, TransferKind } from "../../domain/types.ts";
import type { SqlProgram } from "./sql-program.ts";

/** A balance as money sees it: what stands where, and the end of its chain. */
export type Head = {
  availableCredits: Credits;
  heldCredits: Credits;
  /** What was taken back and was not there to take. */
  owedCredits: Credits;
  inProgress: number;
  chainSeq: number;
  /** The last movement as `movement` numbers it: a posting's row, or, below zero, a generation's; null before the first. */
  chainEnd: number | null;
  chainHash: string;
};

/** A movement as its hash sees it. */
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

/** Before the first movement of an account stands the SHA-256 of the account's id. */
export const chainStart = (accountId: string): string => Bun.CryptoHasher.hash("sha256", accountId, "hex");

/**
 * The hash of a movement: SHA-256, hex, of these columns of `movement` joined by `|`, null as nothing, the note last:
 * previous hash, chain_seq, kind, credits, from_side, to_side, generation_seq, attempt_n, available_after, held_after,
 * at_ms, note. So a chain can be recomputed with nothing but the view.
 */
export const linkHash = (previous: string, link: Link): string =>
  Bun.SHA256.hash(
    `${previous}|${link.chainSeq}|${link.kind}|${link.credits}|${link.from}|${link.to}|${link.generationSeq ?? ""}|${link.attemptN ?? ""}|${link.availableAfter}|${link.heldAfter}|${link.atMs}|${link.note ?? ""}`,
    "hex",
  );

export type Transfer = Omit<Link, "chainSeq" | "availableAfter" | "heldAfter"> & {
  /** How the number of generations in progress changes with it. */
  progress: -1 | 0 | 1;
};
/** A move with the place it would have behind `head`. */
export type Chained = { move: Transfer; head: Head; link: Link; hash: string };

/** What a move adds to a side, or takes off it. */
export const changeOf = (move: Transfer, side: LedgerSide): number =>
  (move.to === side ? move.credits : 0) - (move.from === side ? move.credits : 0);

/** What a move would make of an account whose balance is `head`. */
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

/** The balance once a movement is written. @param chainEnd its row. */
export const headAfter = ({ move, head, link, hash }: Chained, chainEnd: number): Head => ({
  availableCredits: link.availableAfter,
  heldCredits: link.heldAfter,
  owedCredits: head.owedCredits,
  inProgress: head.inProgress + move.progress,
  chainSeq: link.chainSeq,
  chainEnd,
  chainHash: hash,
});

/** How a mutation that is not on the fast way moves credits. */
export type RequestedTransfer = {
  /** The balance of an account, which nobody else changes before this transaction is over; undefined where there is no account. */
  head(accountSeq: number): SqlProgram<Head | undefined>;
  /**
   * Any move but a hold, of an account whose balance is `head`. @returns the balance from then on, and the row of the posting.
   * @throws MutationRejected the balance is not what it was taken for, or does not cover the move.
   */
  post(accountSeq: number, head: Head, move: Transfer): SqlProgram<{ head: Head; seq: number }>;
  /** Changes what an account owes by so much, whatever moves. @param head its balance as it stands. */
  owe(accountSeq: number, head: Head, credits: Credits): SqlProgram<void>;
};
