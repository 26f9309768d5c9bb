// Reads balances and transfers from the database of the running service, and checks them against its responses.
import { Database } from "bun:sqlite";

export type Standing = { available: number; held: number; charged: number; inProgress: number; chain: number };
export type Moved = { chain: number; kind: string; credits: number; generation: string | null };

export type Books = {
  standing(accountSeq: number): Standing;
  /** The transfers of an account after a position of its chain. */
  since(accountSeq: number, chain: number): Moved[];
  generations(): number;
  close(): void;
};

export const openBooks = (path: string): Books => {
  const db = new Database(path, { readonly: true });
  const standing = db.query<Standing, [number]>(
    `SELECT available_credits AS available, held_credits AS held, charged_credits AS charged, in_progress AS inProgress,
            last_transfer_no AS chain FROM balance WHERE account_seq = ?`,
  );
  const since = db.query<Moved, [number, number]>(
    `WITH RECURSIVE walk (row, chain) AS (SELECT last_transfer_seq, last_transfer_no FROM balance WHERE account_seq = ?1
       UNION ALL SELECT iif(row < 0, (SELECT hold_previous_seq FROM generation WHERE seq = -row), (SELECT previous_seq FROM transfer WHERE seq = row)),
         chain - 1 FROM walk WHERE chain > ?2 + 1)
     SELECT chain, 'hold' AS kind, g.reserved_credits AS credits, g.id AS generation FROM walk CROSS JOIN generation g ON g.seq = -row
       WHERE chain > ?2
     UNION ALL SELECT chain, p.kind, p.credits, (SELECT id FROM generation g WHERE g.seq = p.generation_seq)
       FROM walk CROSS JOIN transfer p ON p.seq = row WHERE chain > ?2 ORDER BY 1`,
  );
  const count = db.query<{ n: number }, []>("SELECT count(*) AS n FROM generation");
  return {
    standing: (accountSeq) => {
      const found = standing.get(accountSeq);
      if (!found) throw new Error(`no account ${accountSeq}`);
      return found;
    },
    since: (accountSeq, chain) => since.all(accountSeq, chain),
    generations: () => count.get()?.n ?? 0,
    close: () => db.close(),
  };
};

/**
 * The contradictions between the ledger and a response. Earlier generations may settle at any time; only a 202 makes a new
 * hold, exactly one, with the reserve of the response.
 */
export const moneyFaults = (
  before: Standing,
  after: Standing,
  moved: readonly Moved[],
  accepted: { id: string; reservedUsd: number } | null,
): string[] => {
  const faults: string[] = [];
  const total = ({ available, held, charged }: Standing) => available + held + charged;
  if (total(before) !== total(after)) faults.push(`available + held + charged was ${total(before)} and is ${total(after)}`);
  if (Math.min(after.available, after.held, after.charged) < 0) faults.push(`a balance below zero: ${JSON.stringify(after)}`);
  const holds = moved.filter(({ kind }) => kind === "hold");
  const foreign = moved.filter(({ kind }) => kind !== "hold" && kind !== "capture" && kind !== "release");
  if (foreign.length > 0)
    faults.push(`no request explains ${foreign.map(({ kind, credits }) => `${kind} ${credits}`).join(", ")}`);
  if (accepted === null) {
    if (holds.length > 0) faults.push(`held ${holds.map(({ credits }) => credits).join(", ")} credits without a 202`);
    return faults;
  }
  const [hold] = holds;
  if (holds.length !== 1 || hold?.generation !== accepted.id)
    faults.push(`a 202 for ${accepted.id} made the holds ${JSON.stringify(holds)}`);
  else if (hold.credits !== Math.round(accepted.reservedUsd * 100))
    faults.push(`reserved_usd ${accepted.reservedUsd} but held ${hold.credits}`);
  return faults;
};
