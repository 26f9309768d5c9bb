// End dates of routes: after the last day that a provider names, the route is not used, whatever its health.
import type { Route } from "./schema.ts";

const DAY_MS = 86_400_000;
/** The operator is warned from this many days before the last day. */
export const WARNING_DAYS = 30;

const startOf = (day: string): number => Date.parse(`${day}T00:00:00Z`);

/** Whether a text in the format of a date is a real date; 31 February is not. */
export const isDay = (day: string): boolean => {
  const ms = startOf(day);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day);
};

/** The end of the last day, ms since 1970; undefined for a route without an end date. */
export const endsAtMs = ({ ends }: Pick<Route, "ends">): number | undefined =>
  ends === undefined ? undefined : startOf(ends) + DAY_MS;

export type Ending = { routeId: string; ends: string; hasEnded: boolean };

/** The routes whose last day is over, or within the warning period. */
export const endingRoutes = (
  models: readonly { routes: readonly Pick<Route, "id" | "ends">[] }[],
  nowMs: number,
  withinDays = WARNING_DAYS,
): Ending[] =>
  models.flatMap(({ routes }) =>
    routes.flatMap((route): Ending[] => {
      const endMs = endsAtMs(route);
      if (endMs === undefined || route.ends === undefined || nowMs < endMs - withinDays * DAY_MS) return [];
      return [{ routeId: route.id, ends: route.ends, hasEnded: nowMs >= endMs }];
    }),
  );

/** A text for operators, for example `its last day is 2026-12-03`. */
export const endingText = ({ ends, hasEnded: isOver }: Ending): string =>
  isOver ? `its last day was ${ends}: it is in no plan any more` : `its last day is ${ends}`;
