// Overview of the service for operators: figures of a period from hourly sums, and what needs attention now.
import { DAY_MS } from "../../domain/calendar.ts";
import type { OutcomeRow } from "../../store/store.ts";
import { OVERVIEW_PERIODS, type OverviewPeriod, type OverviewSums, type OverviewView } from "../operator-dto.ts";
import { ConsoleRefused, type ConsoleRequest } from "../request-context.ts";
import type { BackupService } from "./backup-service.ts";
import type { OperatorDeps } from "./deps.ts";
import { losingRoutes } from "./losing-routes.ts";
import { queueOf } from "./node-list.ts";

const HOUR_MS = 3_600_000;
const DAYS: Readonly<Record<OverviewPeriod, number>> = { today: 1, "7d": 7, "30d": 30 };
/** Minimum interval between two reads of the sums of a period, independent of the number of readers. */
const FIGURES_MS = 5_000;
/** Minimum interval between two counts of orphans, which read the attempts of a week. */
const ORPHANS_MS = 600_000;
const ORPHANS_OF_MS = 7 * DAY_MS;
const MAX_PARKED = 1_000;
const MAX_UNDECIDED = 1_000;

const isPeriod = (text: string): text is OverviewPeriod => OVERVIEW_PERIODS.some((one) => one === text);

export const sumsOf = (rows: readonly Omit<OutcomeRow, "of">[]): OverviewSums => {
  const sums: OverviewSums = { succeeded: 0, failed: 0, chargedCredits: 0, costMicroUsd: 0, uncostedCredits: 0 };
  for (const { outcome, generations, chargedCredits, costMicroUsd, uncostedCredits } of rows) {
    sums[outcome === "succeeded" ? "succeeded" : "failed"] += generations;
    sums.chargedCredits += chargedCredits;
    sums.costMicroUsd += costMicroUsd;
    sums.uncostedCredits += uncostedCredits;
  }
  return sums;
};

/** The hours of a period and of the one before, and the length of a step. */
export const hoursOf = (period: OverviewPeriod, nowMs: number) => {
  const days = DAYS[period];
  const toHour = Math.floor(nowMs / HOUR_MS);
  const fromHour = (Math.floor(nowMs / DAY_MS) - days + 1) * 24;
  return { fromHour, toHour, beforeHours: days * 24, stepHours: days === 1 ? 1 : 24 };
};

const reasonsOf = (rows: readonly OutcomeRow[]): OverviewView["reasons"] => {
  const counts = new Map<string, number>();
  for (const { outcome, generations } of rows)
    if (outcome !== "succeeded") counts.set(outcome, (counts.get(outcome) ?? 0) + generations);
  return [...counts].map(([code, count]) => ({ code, count })).sort((a, b) => b.count - a.count);
};

type Figures = Pick<OverviewView, "fromMs" | "current" | "previous" | "steps" | "reasons">;

const readFigures = async ({ reads }: Pick<OperatorDeps, "reads">, period: OverviewPeriod, nowMs: number): Promise<Figures> => {
  const { fromHour, toHour, beforeHours, stepHours } = hoursOf(period, nowMs);
  const by = stepHours === 1 ? "hour" : "day";
  const [rows, before] = await Promise.all([
    reads.outcomes({ fromHour, toHour, by }),
    reads.outcomes({ fromHour: fromHour - beforeHours, toHour: toHour - beforeHours, by: "day" }),
  ]);
  const inStep = Map.groupBy(rows, ({ of }) => Number(of));
  const first = fromHour / stepHours;
  const steps = Array.from({ length: beforeHours / stepHours }, (_, n) => ({
    atMs: (first + n) * stepHours * HOUR_MS,
    ...sumsOf(inStep.get(first + n) ?? []),
  }));
  return { fromMs: fromHour * HOUR_MS, current: sumsOf(rows), previous: sumsOf(before), steps, reasons: reasonsOf(rows) };
};

/** Counts the orphans of the last week in the background, at most every ten minutes. */
const createOrphanCount = ({ long, clock }: Pick<OperatorDeps, "long" | "clock">) => {
  let counted: OverviewView["orphans"] = null;
  let startedAtMs = Number.NEGATIVE_INFINITY;
  return (): OverviewView["orphans"] => {
    const nowMs = clock.nowMs();
    if (nowMs - startedAtMs >= ORPHANS_MS) {
      startedAtMs = nowMs;
      const sinceMs = nowMs - ORPHANS_OF_MS;
      long.orphans(sinceMs, sinceMs).then(
        (rows) => {
          counted = { count: rows.length, credits: rows.reduce((sum, { priceCredits }) => sum + priceCredits, 0) };
        },
        () => {
          // The next request counts again.
          startedAtMs = Number.NEGATIVE_INFINITY;
        },
      );
    }
    return counted;
  };
};

export const createOverview = (deps: OperatorDeps, backups: BackupService) => {
  const { admin, reads, running, clock, rollUpUsage } = deps;
  const figures = new Map<OverviewPeriod, { atMs: number; read: Promise<Figures> }>();
  const orphans = createOrphanCount(deps);
  const figuresOf = (period: OverviewPeriod, nowMs: number): Promise<Figures> => {
    const known = figures.get(period);
    if (known && nowMs - known.atMs < FIGURES_MS) return known.read;
    const read = rollUpUsage().then(() => readFigures(deps, period, nowMs));
    figures.set(period, { atMs: nowMs, read });
    read.catch(() => figures.delete(period));
    return read;
  };
  return {
    show: async ({ query }: Pick<ConsoleRequest, "query">): Promise<OverviewView> => {
      const period = query.get("period") ?? "today";
      if (!isPeriod(period)) throw new ConsoleRefused("invalid", `period: one of ${OVERVIEW_PERIODS.join(", ")}.`);
      const nowMs = clock.nowMs();
      const [sums, rows, queue, oldest, parked, undecided, backup] = [
        await figuresOf(period, nowMs),
        await admin.listRoutes({ model: null, provider: null }),
        await queueOf(deps),
        await reads.openGenerations(0, 1),
        await reads.parked(MAX_PARKED),
        await reads.undecidedReversals(MAX_UNDECIDED),
        await backups.view(),
      ];
      return {
        ...{ period, toMs: nowMs, ...sums, ...running.readiness(), warnings: [...running.warnings()], backup },
        queue: { ...queue, oldestMs: oldest[0]?.createdAtMs ?? null },
        routes: {
          up: rows.filter(({ state }) => state === "up").length,
          off: rows.filter(({ state }) => state === "off").length,
          down: rows.filter(({ state }) => state === "down").map(({ id, reason, untilMs }) => ({ id, reason, untilMs })),
        },
        losing: losingRoutes(rows),
        parked: parked.length,
        undecided: undecided.length,
        orphans: orphans(),
      };
    },
  };
};
