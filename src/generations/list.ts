// Lists the generations of an account, newest first, at a bounded cost for each page.
//
// The store finds a list without filter, by status, by model or by one metadata name without examining other rows. Any other filter examines at most
// MAX_EXAMINED rows for one page and returns a cursor to the position where it stopped.
//
// Generations are in the order of their admission, or with a status or a model in the order of their row numbers. A generation that was
// admitted before the first page was read is on exactly one page. One that is admitted while pages are read is on a later page if
// its row number is below the cursor, and else on the first page of the next listing. Other nodes number their own rows, so
// both happen.
import { refuse } from "../domain/api-errors.ts";
import type { Cursors } from "../domain/cursors.ts";
import type { Caller, GenerationStatus } from "../domain/types.ts";
import type { GenerationsQuery, ListedGeneration, StoreReads } from "../store/store.ts";
import { type Cancellation, pendingSinceMs } from "./cancel.ts";

/** Rows examined without yielding to the event loop (a few ms). */
const STEP = 500;
/** Rows of the ledger for each generation: its hold, and usually two transfers of its settlement. */
const ROWS_EACH = 4;
const MAX_EXAMINED = 10_000;

export type ListFilters = Omit<GenerationsQuery, "limit" | "maxExamined">;
/** `next`: where the store continues; null at the end. */
export type ListPage = { found: ListedGeneration[]; examined: number; next: number | null };

/**
 * Reads one page in steps. @param breathe yields to the event loop
 * @param isWanted a further condition, which no index serves; a page may then be longer than the limit, by less than a step
 */
export const readListPage = async (
  reads: Pick<StoreReads, "generationsStep">,
  { afterSeq, ...filters }: ListFilters,
  { limit, maxExamined }: Pick<GenerationsQuery, "limit" | "maxExamined">,
  breathe: () => Promise<void>,
  isWanted?: (one: ListedGeneration) => boolean,
): Promise<ListPage> => {
  const found: ListedGeneration[] = [];
  let examined = 0;
  let start: Pick<GenerationsQuery, "from" | "afterSeq"> = {
    from: filters.from,
    ...(afterSeq === undefined ? {} : { afterSeq }),
  };
  for (;;) {
    // Most pages are full after the first step.
    const rows = Math.min(examined === 0 ? ROWS_EACH * limit : STEP, STEP, maxExamined - examined);
    const most = isWanted ? rows : limit - found.length;
    const step = await reads.generationsStep({ ...filters, ...start, limit: most, maxExamined: rows });
    found.push(...(isWanted ? step.found.filter(isWanted) : step.found));
    examined += step.examined;
    start = { from: step.next };
    if (step.next === null || found.length >= limit || examined >= maxExamined) return { found, examined, next: step.next };
    await breathe();
  }
};

export type ListRequest = {
  caller: Caller;
  limit: number;
  /** A generation of the previous page, or its `next`. */
  after: string | null;
  status: GenerationStatus | null;
  model: string | null;
  /** Exclusive bounds of the creation time, ms. */
  createdAfterMs: number | null;
  createdBeforeMs: number | null;
  /** Metadata that each generation has, as `[name, value]`. */
  metadata: readonly (readonly [name: string, value: string])[];
};
/** `next`: the `after` of the next page; null at the end. */
export type ListResult = { generations: Cancellation[]; next: string | null };
/** @throws ApiError `invalid_request` for an invalid `after` */
export type ListGenerations = (request: ListRequest) => Promise<ListResult>;

export type ListDeps = {
  reads: Pick<StoreReads, "generationsStep" | "findGeneration" | "snapshotOf">;
  cursors: Cursors;
  breathe: () => Promise<void>;
};

const scopeOf = ({ caller, status, model, createdAfterMs, createdBeforeMs, metadata }: ListRequest): string => {
  const filters = [status, model, createdAfterMs, createdBeforeMs, ...(metadata.length === 0 ? [] : [JSON.stringify(metadata)])];
  return ["generations", caller.accountSeq, caller.isLimited ? caller.keySeq : "", ...filters].join("|");
};

export const createListGenerations = ({ reads, cursors, breathe }: ListDeps): ListGenerations => {
  /** The start of a page. An id of another account or key is answered like one that does not exist. */
  const startOf = async (request: ListRequest): Promise<Pick<GenerationsQuery, "from" | "afterSeq">> => {
    const { after, caller } = request;
    if (after === null) return { from: null };
    const from = cursors.read(scopeOf(request), after);
    if (from !== undefined) return { from };
    const found = await reads.findGeneration(after);
    const isOwn = found?.accountId === caller.accountId && (!caller.isLimited || found.key.id === caller.keyId);
    if (found && isOwn) return { from: null, afterSeq: found.seq };
    return refuse(
      "invalid_request",
      "after: must be the id of a generation in this list, or next of a page with the same filters.",
    );
  };
  return async (request) => {
    const { caller, limit, status, model, createdAfterMs, createdBeforeMs, metadata } = request;
    const filters: ListFilters = {
      accountSeq: caller.accountSeq,
      // A limited key lists only the generations that it made.
      keyId: caller.isLimited ? caller.keyId : null,
      status,
      models: model === null ? null : [model],
      fromMs: createdAfterMs === null ? null : createdAfterMs + 1,
      toMs: createdBeforeMs,
      metadata,
      withPrompts: false,
      ...(await startOf(request)),
    };
    // One more than the page, which decides whether there is a next one.
    const page = await readListPage(reads, filters, { limit: limit + 1, maxExamined: MAX_EXAMINED }, breathe);
    const records = page.found.slice(0, limit).map(({ record }) => record);
    const generations = await Promise.all(
      records.map(async (record) => ({ record, requestedAtMs: await pendingSinceMs(reads, record) })),
    );
    if (page.found.length > limit) return { generations, next: records.at(-1)?.id ?? null };
    return { generations, next: page.next === null ? null : cursors.sign(scopeOf(request), page.next) };
  };
};
