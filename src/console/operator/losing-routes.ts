// Lists the usable routes whose price can be below the cost of their provider, the worst first.
import type { RouteRow } from "../../routing/inventory.ts";
import type { LosingRoute } from "../operator-dto.ts";

export const losingRoutes = (rows: readonly Pick<RouteRow, "id" | "state" | "margin">[]): LosingRoute[] =>
  rows
    .flatMap(({ id, state, margin }) =>
      (state === "up" || state === "down") && margin !== null && margin.leastPercent < 0 ? [{ id, ...margin }] : [],
    )
    .sort((a, b) => a.leastPercent - b.leastPercent);
