// Lists a ledger with one row for each generation, which groups its transfers, and one for every other transfer.
//
// The transfer of a generation that decides its cost places its row: the capture, else the release, else the hold. No other transfer
// of a generation changes the balance, so the balance of a row follows from the row before it.
import { seqOfGenerationId } from "../domain/ids.ts";
import type { Credits, TransferKind } from "../domain/types.ts";
import type { LedgerGeneration, StoreReads, TransferRow } from "../store/store.ts";
import { type LedgerLine, type LedgerReads, type LedgerRequest, MAX_EXAMINED, STEP, stepsOf, toLines } from "./ledger.ts";

/** `kind`, `atMs` and `balanceCredits`: of the transfer that places the row. `changeCredits`: of all of its transfers. */
export type LedgerRow = Pick<LedgerLine, "seq" | "atMs" | "kind" | "changeCredits" | "balanceCredits" | "purchaseId" | "note"> & {
  generation: { id: string; model: string; prompt: string | null } | null;
  /** Credits that the generation still holds. */
  openHoldCredits: Credits;
  /** Oldest first. */
  lines: LedgerLine[];
};
/** `next`: where the next page begins; null if there is none. */
export type LedgerRowsPage = { rows: LedgerRow[]; next: number | null };
type Reads = LedgerReads & Pick<StoreReads, "ledgerGenerations">;
type Group = { transfers: readonly TransferRow[]; generation: LedgerGeneration | null; place: TransferRow };

/** Maximum transfers of a generation: hold, capture and release. */
const TRANSFERS_OF_GENERATION = 3;
const DECIDING: readonly TransferKind[] = ["capture", "release", "hold"];

const placeOf = (transfers: readonly TransferRow[]): TransferRow | undefined =>
  DECIDING.map((kind) => transfers.find((row) => row.kind === kind)).find((row) => row !== undefined);

const matches = ({ kind, fromMs, toMs }: LedgerRequest, { place, transfers }: Group): boolean =>
  (kind === null || transfers.some((row) => row.kind === kind)) &&
  (fromMs === null || place.atMs >= fromMs) &&
  (toMs === null || place.atMs < toMs);

const toRow = ({ place, generation }: Group, lines: readonly LedgerLine[]): LedgerRow | undefined => {
  const placed = lines.find(({ seq }) => seq === place.seq);
  if (placed === undefined) return undefined;
  const { seq, atMs, kind, balanceCredits, purchaseId, note } = placed;
  return {
    ...{ seq, atMs, kind, balanceCredits, purchaseId, note },
    generation: generation && { id: generation.id, model: generation.model, prompt: generation.prompt },
    changeCredits: lines.reduce((sum, line) => sum + line.changeCredits, 0),
    openHoldCredits: kind === "hold" ? placed.credits : 0,
    lines: [...lines],
  };
};

const toRows = async (reads: Reads, groups: readonly Group[]): Promise<LedgerRow[]> => {
  const lines = await toLines(
    reads,
    groups.flatMap(({ transfers }) => transfers),
  );
  const bySeq = new Map(lines.map((line) => [line.seq, line]));
  return groups.flatMap((group) => {
    const row = toRow(
      group,
      group.transfers.flatMap(({ seq }) => bySeq.get(seq) ?? []),
    );
    return row === undefined ? [] : [row];
  });
};

/** The rows that begin in a step of the walk, each with the transfer that places it. */
const groupsAt = async (reads: Reads, rows: readonly TransferRow[]): Promise<Map<number, Group>> => {
  const ids = new Set(rows.flatMap(({ generationId }) => (generationId === null ? [] : [generationId])));
  const generations = await reads.ledgerGenerations([...ids].flatMap((id) => seqOfGenerationId(id) ?? []));
  const groups = new Map<number, Group>();
  for (const row of rows) {
    const generation = row.generationId === null ? undefined : generations.get(row.generationId);
    const transfers = generation?.transfers ?? [row];
    const place = generation ? placeOf(transfers) : row;
    if (place?.seq === row.seq) groups.set(row.seq, { transfers, generation: generation ?? null, place });
  }
  return groups;
};

/**
 * A page, newest first. A generation is on one page with all of its transfers. `next` is the position of the next page, which may be
 * empty; null if there is none.
 */
export const ledgerRows = async (
  reads: Reads,
  request: LedgerRequest,
  beforeSeq: number | null,
  limit: number,
): Promise<LedgerRowsPage> => {
  const found: Group[] = [];
  let examined = 0;
  const isFiltered = request.kind !== null || request.fromMs !== null || request.toMs !== null;
  const firstStep = isFiltered ? STEP : Math.min(STEP, limit * TRANSFERS_OF_GENERATION);
  for await (const rows of stepsOf(reads, request, beforeSeq, firstStep)) {
    const groups = await groupsAt(reads, rows);
    for (const { seq } of rows) {
      examined += 1;
      const group = groups.get(seq);
      if (group && matches(request, group)) found.push(group);
      if (found.length >= limit || examined >= MAX_EXAMINED) return { rows: await toRows(reads, found), next: seq };
    }
  }
  return { rows: await toRows(reads, found), next: null };
};
