// Lists generations by the filters of the console.
//
// A page ends when it is full or when MAX_EXAMINED rows were read.

import { GENERATION_STATUSES, type GenerationStatus, type MediaKind } from "../domain/types.ts";
import { type ListFilters, type ListPage, readListPage } from "../generations/list.ts";
import type { ListedGeneration, StoreReads } from "../store/store.ts";
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
    endUser: query.get("end_user") || null,
    from: numberOf(query, "before"),
  };
};

/** Length of a search text in characters. */
const SEARCH_AT_MOST = 200;

/**
 * The search text of the query: its words, which the id, the model or the beginning of the prompt contains. Undefined without one.
 * @throws ConsoleRefused `invalid`
 */
export const searchOf = (query: URLSearchParams): ((one: ListedGeneration) => boolean) | undefined => {
  const text = query.get("q")?.trim() ?? "";
  if (text.length > SEARCH_AT_MOST) throw new ConsoleRefused("invalid", `q: at most ${SEARCH_AT_MOST} characters.`);
  if (text === "") return undefined;
  const parts = text.toLowerCase().split(/\s+/);
  return ({ record: { id, model }, prompt }) => {
    const found = `${id} ${model} ${prompt ?? ""}`.toLowerCase();
    return parts.every((part) => found.includes(part));
  };
};

/** Reads one page of the console. @param breathe yields to the event loop */
export const listPage = (
  reads: Pick<StoreReads, "generationsStep">,
  filters: ListFilters,
  breathe: () => Promise<void>,
  isWanted?: (one: ListedGeneration) => boolean,
): Promise<ListPage> => readListPage(reads, filters, { limit: PAGE, maxExamined: MAX_EXAMINED }, breathe, isWanted);
