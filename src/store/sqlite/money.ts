// The one way credits move: the account row conditionally, then the movement that chains to the one before it.
import type { Database } from "bun:sqlite";
import type { Credits, LedgerSide, MovementKind } from "../../terms.ts";

/** The account row as money sees it: what stands where, and the end of its chain. */
export type Head = {
  availableCredits: Credits;
  heldCredits: Credits;
  inProgress: number;
  chainSeq: number;
  chainHash: string;
};

/** A movement as its hash sees it. */
export type Link = {
  chainSeq: number;
  kind: MovementKind;
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
 * The hash of a movement: SHA-256, hex, of these columns of its row joined by `|`, null as nothing, the note last:
 * previous hash, chain_seq, kind, credits, from_side, to_side, generation_seq, attempt_n, available_after, held_after,
 * at_ms, note. So a chain can be recomputed with nothing but the table.
 */
export const linkHash = (previous: string, link: Link): string =>
  Bun.CryptoHasher.hash(
    "sha256",
    `${previous}|${link.chainSeq}|${link.kind}|${link.credits}|${link.from}|${link.to}|${link.generationSeq ?? ""}|${link.attemptN ?? ""}|${link.availableAfter}|${link.heldAfter}|${link.atMs}|${link.note ?? ""}`,
    "hex",
  );

export type Move = {
  kind: MovementKind;
  credits: Credits;
  from: LedgerSide;
  to: LedgerSide;
  generationSeq: number | null;
  attemptN: number | null;
  atMs: number;
  note: string | null;
  /** How the number of generations in progress changes with it. */
  progress: -1 | 0 | 1;
};

const NO_LIMIT = Number.MAX_SAFE_INTEGER;

/** Prepares the statements of the ledger for a writer of `epoch`. */
export const prepareMoney = (db: Database, epoch: number) => {
  const selectHead = db.prepare<Head, [number]>(
    `SELECT available_credits AS availableCredits, held_credits AS heldCredits, in_progress AS inProgress,
       chain_seq AS chainSeq, chain_hash AS chainHash FROM account WHERE seq = ?1`,
  );
  const updateAccount = db.prepare<null, [number, number, number, number, string, number, number, number]>(
    `UPDATE account SET available_credits = available_credits + ?1, held_credits = held_credits + ?2,
       charged_credits = charged_credits + ?3, in_progress = in_progress + ?4, chain_seq = chain_seq + 1, chain_hash = ?5
     WHERE seq = ?6 AND chain_seq = ?7 AND available_credits + ?1 >= 0 AND held_credits + ?2 >= 0 AND in_progress < ?8`,
  );
  const insertMovement = db.prepare(
    `INSERT INTO movement (account_seq, chain_seq, kind, credits, from_side, to_side, generation_seq, attempt_n,
       available_after, held_after, at_ms, epoch, hash, note) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ${epoch}, ?12, ?13)`,
  );
  const change = (move: Move, side: LedgerSide): number =>
    (move.to === side ? move.credits : 0) - (move.from === side ? move.credits : 0);

  /**
   * Moves credits of an account whose row is `head`: the row changes only if it still is, and covers the move, and fewer
   * than `inProgressLimit` generations are in progress; the caller then writes the movement with `record`.
   * @returns what to record and the row as it is now; undefined when nothing was changed.
   */
  const shift = (accountSeq: number, head: Head, move: Move, inProgressLimit = NO_LIMIT) => {
    const available = change(move, "available");
    const heldChange = change(move, "held");
    const link: Link = {
      chainSeq: head.chainSeq + 1,
      kind: move.kind,
      credits: move.credits,
      from: move.from,
      to: move.to,
      generationSeq: move.generationSeq,
      attemptN: move.attemptN,
      availableAfter: head.availableCredits + available,
      heldAfter: head.heldCredits + heldChange,
      atMs: move.atMs,
      note: move.note,
    };
    const hash = linkHash(head.chainHash, link);
    const { changes } = updateAccount.run(
      available,
      heldChange,
      change(move, "charged"),
      move.progress,
      hash,
      accountSeq,
      head.chainSeq,
      inProgressLimit,
    );
    if (changes === 0) return undefined;
    const next: Head = {
      availableCredits: link.availableAfter,
      heldCredits: link.heldAfter,
      inProgress: head.inProgress + move.progress,
      chainSeq: link.chainSeq,
      chainHash: hash,
    };
    return { next, link };
  };
  /** Appends the movement of a shift; the schema compares it with the account row. @returns its row number. */
  const record = (accountSeq: number, { next, link }: { next: Head; link: Link }): number =>
    Number(
      insertMovement.run(
        accountSeq,
        link.chainSeq,
        link.kind,
        link.credits,
        link.from,
        link.to,
        link.generationSeq,
        link.attemptN,
        link.availableAfter,
        link.heldAfter,
        link.atMs,
        next.chainHash,
        link.note,
      ).lastInsertRowid,
    );
  return { head: (accountSeq: number): Head | undefined => selectHead.get(accountSeq) ?? undefined, shift, record };
};
export type Money = ReturnType<typeof prepareMoney>;
