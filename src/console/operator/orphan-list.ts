// Lists orphans for operators: known facts, possible cost and action, grouped by kind.
import { adviceOf } from "../../admin/orphan-advice.ts";
import type { OrphanRow } from "../../store/store.ts";
import type { OrphanKind, OrphanLine, OrphansPage } from "../operator-dto.ts";
import { ConsoleRefused, type ConsoleRequest } from "../request-context.ts";
import type { OperatorDeps } from "./deps.ts";

const HOUR_MS = 3_600_000;
const SINCE_MS: Readonly<Record<string, number>> = { "24h": 24 * HOUR_MS, "7d": 168 * HOUR_MS, "30d": 720 * HOUR_MS };
const MAX_SHOWN = 500;

const lineOf = (row: OrphanRow): OrphanLine => {
  const { known, toDo } = adviceOf(row);
  const { generationId, n, accountId, fate, provider, routeId, jobId, ref, priceCredits, sentAtMs, isWatched } = row;
  return { generationId, n, accountId, fate, provider, routeId, jobId, ref, priceCredits, sentAtMs, isWatched, known, toDo };
};

const sumOf = (rows: readonly OrphanRow[]) => rows.reduce((sum, { priceCredits }) => sum + priceCredits, 0);

const kindsOf = (rows: readonly OrphanRow[]): OrphanKind[] => {
  const kinds = Map.groupBy(rows, (row) => {
    const { known, general } = adviceOf(row);
    return JSON.stringify([row.fate, known, general]);
  });
  return [...kinds.values()].flatMap((alike) =>
    alike.slice(0, 1).map((row) => {
      const { known, general } = adviceOf(row);
      return { fate: row.fate, known, toDo: general, count: alike.length, credits: sumOf(alike) };
    }),
  );
};

export const createOrphans = ({ long, clock }: OperatorDeps) => ({
  list: async ({ query }: ConsoleRequest): Promise<OrphansPage> => {
    const since = query.get("since") ?? "all";
    const back = SINCE_MS[since];
    if (since !== "all" && back === undefined)
      throw new ConsoleRefused("invalid", `since: one of ${Object.keys(SINCE_MS).join(", ")}, all.`);
    const rows = await long.orphans(back === undefined ? 0 : clock.nowMs() - back);
    return { count: rows.length, credits: sumOf(rows), kinds: kindsOf(rows), orphans: rows.slice(0, MAX_SHOWN).map(lineOf) };
  },
});
