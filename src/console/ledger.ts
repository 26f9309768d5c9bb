// The ledger as people see it: every movement with what it did to the balance and what it belongs to, in pages or as CSV.

import type { TransferKind } from "../domain/types.ts";
import type { StoreReads, TransferRow } from "../store/store.ts";
import type { LedgerLine, LedgerPage } from "./credits-dto.ts";
import { csvRow } from "./csv.ts";

/** Which movements: of one account, of one kind or all, from a time (included) up to one (not included), ms since 1970. */
export type LedgerRequest = { accountId: string; kind: TransferKind | null; fromMs: number | null; toMs: number | null };
type Reads = Pick<StoreReads, "movements" | "purchasesOfMovements">;

/** Movements read at a time. */
const STEP = 500;
/** So many are looked through for one page: a filter that fits few of them is answered in parts. */
const LOOKED_THROUGH = 5_000;
/** Movements stand in the order of their commits; the times in them are of a little before. */
const UNORDERED_MS = 60_000;

/** What a movement did to the balance: a hold and its release move credits within it. */
const changeOf = ({ kind, credits, to }: TransferRow): number => {
  if (kind === "capture") return -credits;
  if (kind === "topup") return credits;
  if (kind === "adjust") return to === "available" ? credits : -credits;
  return 0;
};

const toLine = (row: TransferRow, purchaseId: string | undefined): LedgerLine => ({
  seq: row.seq,
  n: row.chainSeq,
  atMs: row.atMs,
  kind: row.kind,
  credits: row.credits,
  changeCredits: changeOf(row),
  balanceCredits: row.availableAfter + row.heldAfter,
  availableCredits: row.availableAfter,
  heldCredits: row.heldAfter,
  generationId: row.generationId,
  purchaseId: purchaseId ?? null,
  note: row.note,
});

const isAsked = ({ kind, fromMs, toMs }: LedgerRequest, row: TransferRow): boolean =>
  (kind === null || row.kind === kind) && (fromMs === null || row.atMs >= fromMs) && (toMs === null || row.atMs < toMs);

/** Movements from the newest on, or from before one of them, in steps; ends where none can be asked for any more. */
const stepsOf = async function* (reads: Reads, ask: LedgerRequest, beforeSeq: number | null): AsyncGenerator<TransferRow[]> {
  for (let before = beforeSeq; ; ) {
    const rows = await reads.movements(ask.accountId, before, STEP);
    const last = rows.at(-1);
    if (!last) return;
    yield rows;
    if (rows.length < STEP || (ask.fromMs !== null && last.atMs < ask.fromMs - UNORDERED_MS)) return;
    before = last.seq;
  }
};

const toLines = async (reads: Reads, rows: readonly TransferRow[]): Promise<LedgerLine[]> => {
  const outside = rows.filter(({ kind }) => kind === "topup" || kind === "adjust").map(({ seq }) => seq);
  const purchases = outside.length === 0 ? new Map<number, string>() : await reads.purchasesOfMovements(outside);
  return rows.map((row) => toLine(row, purchases.get(row.seq)));
};

/** A page, newest first. `next` says where to go on (there may be nothing more behind it); null: there is nothing more. */
export const ledgerPage = async (
  reads: Reads,
  ask: LedgerRequest,
  beforeSeq: number | null,
  limit: number,
): Promise<LedgerPage> => {
  const found: TransferRow[] = [];
  let looked = 0;
  for await (const rows of stepsOf(reads, ask, beforeSeq)) {
    for (const row of rows) {
      looked += 1;
      if (isAsked(ask, row)) found.push(row);
      if (found.length >= limit || looked >= LOOKED_THROUGH) return { lines: await toLines(reads, found), next: row.seq };
    }
  }
  return { lines: await toLines(reads, found), next: null };
};

const usd = (credits: number): string => (credits / 100).toFixed(2);
const COLUMNS = [
  ...["n", "time", "kind", "amount_usd", "change_usd", "balance_usd", "available_usd", "held_usd"],
  ...["generation", "purchase", "note"],
];

const toCsv = (line: LedgerLine): string =>
  csvRow([
    line.n,
    new Date(line.atMs).toISOString(),
    line.kind,
    ...[line.credits, line.changeCredits, line.balanceCredits, line.availableCredits, line.heldCredits].map(
      (credits) => ({ number: usd(credits) }) as const,
    ),
    line.generationId,
    line.purchaseId,
    line.note,
  ]);

/** All of it as CSV, newest first, made as it is read: nobody waits for the whole, and it is never in memory at once. */
export const ledgerCsv = (reads: Reads, ask: LedgerRequest): ReadableStream<Uint8Array> => {
  const encoder = new TextEncoder();
  const steps = stepsOf(reads, ask, null);
  return new ReadableStream({
    start: (controller) => controller.enqueue(encoder.encode(csvRow(COLUMNS))),
    pull: async (controller) => {
      const { value: rows, done } = await steps.next();
      if (done) return controller.close();
      const lines = await toLines(
        reads,
        rows.filter((row) => isAsked(ask, row)),
      );
      controller.enqueue(encoder.encode(lines.map(toCsv).join("")));
    },
    cancel: async () => {
      await steps.return(undefined);
    },
  });
};
