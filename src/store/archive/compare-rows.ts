// Compares the rows of an archive with those of the store, in their common order.
//
// It covers the rows that the store still has.

import type { Failure } from "../../domain/types.ts";
import { ERASED, erasedEvent, erasedFailure } from "../decide/erasure.ts";
import type { ArchiveStorage } from "./archive-storage.ts";
import { type AccountChainRange, ArchiveError, type Kind, type Manifest, type Row, rowsIn } from "./format.ts";
import { listsOf, settledIn } from "./select-rows.ts";
import type { ArchiveSource } from "./source.ts";

/** A row of the store. */
type LiveRow = { row: Row; isErased: boolean };
type AccountChainRanges = ReadonlyMap<number, AccountChainRange>;

const TRANSFERS = "SELECT * FROM transfer_log ORDER BY account_seq, transfer_no";
const transfersIn = async function* ({ rows }: ArchiveSource, pieces: AccountChainRanges): AsyncGenerator<LiveRow> {
  for await (const row of rows<Row>(TRANSFERS)) {
    const piece = pieces.get(Number(row.account_seq));
    const at = Number(row.transfer_no);
    if (piece && at > piece.from.chainSeq && at <= piece.to.chainSeq) yield { row, isErased: false };
  }
};

/** An archive keeps the texts that were erased after it was written, so its row is compared without them. */
const WITHOUT_TEXTS: Partial<Record<Kind, (row: Row) => Row>> = {
  generation: (row) => ({ ...row, body: ERASED.body, input_defaults: ERASED.inputDefaults, labels: null }),
  attempt: (row) => ({
    ...row,
    results: null,
    failure: typeof row.failure === "string" ? JSON.stringify(erasedFailure(JSON.parse(row.failure) as Failure)) : null,
  }),
  attempt_request: (row) => ({ ...row, request: ERASED.request }),
  generation_event: (row) => ({ ...row, event: erasedEvent(String(row.event)) }),
};

/** Compares the archived columns only, because a later release may add columns. */
const isSame = (archived: Row, row: Row): boolean => Object.entries(archived).every(([name, value]) => row[name] === value);

const nameOf = (kind: Kind, { seq, generation_seq, attempt_no, change_no, version }: Row): string =>
  [kind, seq ?? generation_seq, attempt_no ?? change_no ?? version].filter((part) => part !== undefined).join(" ");

/** The first row of a kind in which archive and store differ; undefined if they match. */
const partedAt = async (
  kind: Kind,
  archived: AsyncIterator<Row, unknown>,
  live: AsyncIterable<LiveRow>,
): Promise<string | undefined> => {
  const withoutTexts = WITHOUT_TEXTS[kind] ?? ((row) => row);
  for await (const { row, isErased } of live) {
    const next = await archived.next();
    if (next.done === true || !isSame(isErased ? withoutTexts(next.value) : next.value, row)) return nameOf(kind, row);
  }
  const left = await archived.next();
  return left.done === true ? undefined : nameOf(kind, left.value);
};

/** @returns the first difference of each kind between archive and store. */
export const differences = async (
  source: ArchiveSource,
  archiveStorage: ArchiveStorage,
  manifest: Manifest,
): Promise<string[]> => {
  try {
    const pieces = new Map<number, AccountChainRange>();
    for await (const piece of rowsIn<AccountChainRange>(archiveStorage, manifest, "account")) pieces.set(piece.seq, piece);
    const found = [await partedAt("transfer", rowsIn(archiveStorage, manifest, "transfer"), transfersIn(source, pieces))];
    for (const list of listsOf(source))
      found.push(
        await partedAt(
          list.kind,
          rowsIn(archiveStorage, manifest, list.kind),
          settledIn(source, list, manifest.beforeMs, pieces),
        ),
      );
    return found.filter((one) => one !== undefined);
  } catch (fault) {
    // The check of the archive has already reported it.
    if (fault instanceof ArchiveError) return [];
    throw fault;
  }
};
