// Lists the transfers of an account with the resulting balance, in pages or as CSV.

import type { Credits, TransferKind } from "../domain/types.ts";
import type { StoreReads, TransferRow } from "../store/store.ts";
import { csvRow } from "./csv.ts";

/** A transfer with the balance after it. `n` numbers the account's transfers from 1. */
export type LedgerLine = {
  seq: number;
  n: number;
  atMs: number;
  kind: TransferKind;
  credits: Credits;
  /** Change of the balance: 0 for a hold and its release. */
  changeCredits: Credits;
  balanceCredits: Credits;
  availableCredits: Credits;
  heldCredits: Credits;
  generationId: string | null;
  purchaseId: string | null;
  note: string | null;
};
/** `next`: where the next page begins; null if there is none. */
export type LedgerPage = { lines: LedgerLine[]; next: number | null };

/** Selects transfers of one account: of one kind or all, from a time (inclusive) to a time (exclusive), ms since 1970. */
export type LedgerRequest = { accountId: string; kind: TransferKind | null; fromMs: number | null; toMs: number | null };
export type LedgerReads = Pick<StoreReads, "transfers" | "purchasesOfTransfers">;

/** Number of transfers per read. */
export const STEP = 500;
/** Number of transfers examined for one page. A filter with few matches is answered in several pages. */
export const MAX_EXAMINED = 5_000;
/** Transfers are stored in commit order; their timestamps are slightly older and may be out of order by up to this period. */
const UNORDERED_MS = 60_000;

/** Change of the balance by a transfer. A hold and its release move credits within the balance. */
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

const matchesFilter = ({ kind, fromMs, toMs }: LedgerRequest, row: TransferRow): boolean =>
  (kind === null || row.kind === kind) && (fromMs === null || row.atMs >= fromMs) && (toMs === null || row.atMs < toMs);

/**
 * Yields transfers in steps, from the newest or from before the given one, until no further transfer can match.
 * @param firstStep number of transfers in the first step
 */
export const stepsOf = async function* (
  reads: LedgerReads,
  request: LedgerRequest,
  beforeSeq: number | null,
  firstStep = STEP,
): AsyncGenerator<TransferRow[]> {
  for (let [before, size] = [beforeSeq, firstStep]; ; size = STEP) {
    const rows = await reads.transfers(request.accountId, before, size);
    const last = rows.at(-1);
    if (!last) return;
    yield rows;
    if (rows.length < size || (request.fromMs !== null && last.atMs < request.fromMs - UNORDERED_MS)) return;
    before = last.seq;
  }
};

export const toLines = async (reads: LedgerReads, rows: readonly TransferRow[]): Promise<LedgerLine[]> => {
  const outside = rows.filter(({ kind }) => kind === "topup" || kind === "adjust").map(({ seq }) => seq);
  const purchases = outside.length === 0 ? new Map<number, string>() : await reads.purchasesOfTransfers(outside);
  return rows.map((row) => toLine(row, purchases.get(row.seq)));
};

/** A page, newest first. `next` is the position of the next page, which may be empty; null if there is none. */
export const ledgerPage = async (
  reads: LedgerReads,
  request: LedgerRequest,
  beforeSeq: number | null,
  limit: number,
): Promise<LedgerPage> => {
  const found: TransferRow[] = [];
  let looked = 0;
  const isFiltered = request.kind !== null || request.fromMs !== null || request.toMs !== null;
  for await (const rows of stepsOf(reads, request, beforeSeq, isFiltered ? STEP : Math.min(STEP, limit))) {
    for (const row of rows) {
      looked += 1;
      if (matchesFilter(request, row)) found.push(row);
      if (found.length >= limit || looked >= MAX_EXAMINED) return { lines: await toLines(reads, found), next: row.seq };
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

/** All matching transfers as CSV, newest first. The file is streamed and never in memory as a whole. */
export const ledgerCsv = (reads: LedgerReads, request: LedgerRequest): ReadableStream<Uint8Array> => {
  const encoder = new TextEncoder();
  const steps = stepsOf(reads, request, null);
  return new ReadableStream({
    start: (controller) => controller.enqueue(encoder.encode(csvRow(COLUMNS))),
    pull: async (controller) => {
      const { value: rows, done } = await steps.next();
      if (done) return controller.close();
      const lines = await toLines(
        reads,
        rows.filter((row) => matchesFilter(request, row)),
      );
      controller.enqueue(encoder.encode(lines.map(toCsv).join("")));
    },
    cancel: async () => {
      await steps.return(undefined);
    },
  });
};
