// When routes end: providers name a last day, and after it a route is of no use whatever its health.
import type { Route } from "./schema.ts";

const DAY_MS = 86_400_000;
/** From how many days before the last on the operator is told. */
export const WARNING_DAYS = 30;

const startOf = (day: string): number => Date.parse(`${day}T00:00:00Z`);

/** Whether a text that looks like a day is one: there is no 31st of February. */
export const isDay = (day: string): boolean => {
  const ms = startOf(day);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day);
};

/** When its last day is over, ms since 1970; undefined for a route without one. */
export const endsAtMs = ({ ends }: Pick<Route, "ends">): number | undefined =>
  ends === undefined ? undefined : startOf(ends) + DAY_MS;

export type Ending = { routeId: string; ends: string; hasEnded: boolean };

/** The routes whose last day is over, or near enough to be told of. */
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

/** `its last day is 2026-12-03`, for an operator. */
export const endingText = ({ ends, hasEnded: isOver }: Ending): string =>
  isOver ? `its last day was ${ends}: it is in no plan any more` : `its last day is ${ends}`;
