// Lists generations by the filters of the console.
//
// A page ends when it is full or when MAX_EXAMINED rows were read.

import { GENERATION_STATUSES, type GenerationStatus, type MediaKind } from "../domain/types.ts";
import { type ListFilters, type ListPage, readListPage } from "../generations/list.ts";
import type { StoreReads } from "../store/store.ts";
import { ConsoleRefused } from "./request-context.ts";

const PAGE = 50;
/** Rows read for one page. Rarer matches are searched further on demand. */
const MAX_EXAMINED = 20_000;

const KINDS: readonly MediaKind[] = ["image", "video", "audio"];
const oneOf = <T extends string>(query: URLSearchParams, name: string, all: readonly T[]): T | null => {
  const text = query.get(name);
  if (text === null || text === "") return null;
  const found = all.find((one) => one === text);
  if (found === undefined) throw new ConsoleRefused("invalid", `${name}: one of ${all.join(", ")}.`);
  return found;
};
const numberOf = (query: URLSearchParams, name: string): number | null => {
  const text = query.get(name);
  if (text === null || text === "") return null;
  if (!/^-?\d{1,16}$/.test(text) || !Number.isSafeInteger(Number(text)))
    throw new ConsoleRefused("invalid", `${name}: a whole number.`);
  return Number(text);
};

/** @param modelsOf the models of a media kind. @throws ConsoleRefused `invalid` naming the invalid parameter */
export const filtersOf = (
  query: URLSearchParams,
  accountSeq: number | null,
  modelsOf: (kind: MediaKind) => readonly string[],
): ListFilters => {
  const kind = oneOf(query, "kind", KINDS);
  const model = query.get("model") || null;
  const ofKind = kind === null ? null : modelsOf(kind);
  const models = model === null ? ofKind : ofKind === null || ofKind.includes(model) ? [model] : [];
  return {
    accountSeq,
    models,
    status: oneOf<GenerationStatus>(query, "status", GENERATION_STATUSES),
    fromMs: numberOf(query, "from"),
    toMs: numberOf(query, "to"),
    keyId: query.get("key") || null,
    from: numberOf(query, "before"),
  };
};

/** Reads one page of the console. @param breathe yields to the event loop */
export const listPage = (
  reads: Pick<StoreReads, "generationsStep">,
  filters: ListFilters,
  breathe: () => Promise<void>,
): Promise<ListPage> => readListPage(reads, filters, { limit: PAGE, maxExamined: MAX_EXAMINED }, breathe);
