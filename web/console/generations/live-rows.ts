// The rows of the list of generations as news come in: those shown change where they stand, new ones wait while somebody points at the list.
import type { GenerationDto, GenerationUpdate } from "../../../src/console/generations-dto.ts";

export type Rows = { shown: readonly GenerationDto[]; held: readonly GenerationDto[] };

/** Answers and news overtake each other: what has ended does not begin again, and attempts only grow. */
const isOlder = (told: GenerationUpdate | GenerationDto, known: GenerationDto): boolean =>
  told.attempts < known.attempts || (told.completedAtMs === null && known.completedAtMs !== null);

/** Of one generation, what is known with what is told of it now. */
export const withUpdate = <Told extends GenerationUpdate | GenerationDto>(known: GenerationDto, told: Told): GenerationDto =>
  known.id !== told.id || isOlder(told, known) ? known : { ...known, ...told };

/** Whether more will be told of it: it has not ended, or its files were not read yet. */
export const isUnfinished = ({ completedAtMs, status, files, areFilesGone }: GenerationDto): boolean =>
  completedAtMs === null || (status === "succeeded" && files.length === 0 && !areFilesGone);

/** A row with what the news say of it. Its files come with the next reading. */
export const withUpdates = (rows: Rows, news: GenerationUpdate): Rows => {
  const change = (one: GenerationDto): GenerationDto => withUpdate(one, news);
  return { shown: rows.shown.map(change), held: rows.held.map(change) };
};

/** A row as it was read anew. */
export const withRead = (rows: Rows, read: GenerationDto): Rows => {
  const change = (one: GenerationDto): GenerationDto => withUpdate(one, read);
  return { shown: rows.shown.map(change), held: rows.held.map(change) };
};

/** The newest page as it was read anew: rows that are known change, new ones go to the top, or are held back. */
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
