// Applies events to the rows of the list of generations.
//
// Visible rows change in place. New rows are held back while the user points at the list.
import type { GenerationDto, GenerationUpdate } from "../../../src/console/generations-dto.ts";

export type Rows = { shown: readonly GenerationDto[]; held: readonly GenerationDto[] };

/** Responses and events may arrive out of order. A generation that has ended stays ended, and its attempts only increase. */
const isOlder = (reported: GenerationUpdate | GenerationDto, known: GenerationDto): boolean =>
  reported.attempts < known.attempts || (reported.completedAtMs === null && known.completedAtMs !== null);

/** Merges an update into the known state of a generation. */
export const withUpdate = <Update extends GenerationUpdate | GenerationDto>(
  known: GenerationDto,
  reported: Update,
): GenerationDto => (known.id !== reported.id || isOlder(reported, known) ? known : { ...known, ...reported });

/** True if more updates follow: the generation has not ended, or its files were not loaded yet. */
export const isUnfinished = ({ completedAtMs, status, files, areFilesGone }: GenerationDto): boolean =>
  completedAtMs === null || (status === "succeeded" && files.length === 0 && !areFilesGone);

/** Applies an update to its row. The files follow with the next read. */
export const withUpdates = (rows: Rows, news: GenerationUpdate): Rows => {
  const change = (one: GenerationDto): GenerationDto => withUpdate(one, news);
  return { shown: rows.shown.map(change), held: rows.held.map(change) };
};

/** Replaces a row by its reloaded state. */
export const withRead = (rows: Rows, read: GenerationDto): Rows => {
  const change = (one: GenerationDto): GenerationDto => withUpdate(one, read);
  return { shown: rows.shown.map(change), held: rows.held.map(change) };
};

/** Applies a reloaded first page: known rows change, new rows are added at the top or held back. */
export const withPage = (rows: Rows, page: readonly GenerationDto[], holds: boolean): Rows => {
  const read = new Map(page.map((one) => [one.id, one]));
  const known = new Set([...rows.shown, ...rows.held].map(({ id }) => id));
  const change = (one: GenerationDto): GenerationDto => withUpdate(one, read.get(one.id) ?? one);
  const added = page.filter(({ id }) => !known.has(id));
  const held = [...added, ...rows.held.map(change)];
  const shown = rows.shown.map(change);
  return holds && rows.shown.length > 0 ? { shown, held } : { shown: [...held, ...shown], held: [] };
};

export const withPending = ({ shown, held }: Rows): Rows => ({ shown: [...held, ...shown], held: [] });
