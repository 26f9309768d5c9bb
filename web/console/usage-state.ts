// The view of the usage page, in the URL: period, grouping, figure and filters.
import { useLocation, useSearch } from "wouter-preact";
import type { SeriesGrouping } from "../../src/console/keys-dto.ts";
import { me } from "../components/api.ts";
import { queryOf } from "./credits/amounts.ts";

export const RANGES = [7, 30, 90, 365] as const;
export const METRICS = ["spend", "generations", "success", "wait"] as const;
export type Metric = (typeof METRICS)[number];
export const FILTERS = ["model", "key", "end_user"] as const;
export type FilterName = (typeof FILTERS)[number];
type Filters = Readonly<Record<FilterName, string>>;
/** `account`: an id, `*` for all accounts, or empty for the user's own. */
export type UsageState = Filters & { days: number; by: SeriesGrouping; metric: Metric; account: string };

const DAY_MS = 86_400_000;
const dayText = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** True if the usage of all accounts is shown. */
export const isOfAll = ({ account }: Pick<UsageState, "account">): boolean => {
  const who = me.value?.signedIn;
  return who?.role !== "member" && (account === "*" || (account === "" && (who?.accountId ?? null) === null));
};

/** The groupings of a view: accounts of all accounts, end users of one account. */
export const groupingsOf = (state: Pick<UsageState, "account">): SeriesGrouping[] =>
  isOfAll(state) ? ["model", "key", "account"] : ["model", "key", "end_user"];

/** What a change implies: usage is counted by end user, or by model and key. */
const consistent = (state: UsageState): UsageState => {
  const isOfEndUsers = state.by === "end_user" || state.end_user !== "";
  const by = groupingsOf(state).includes(state.by) ? state.by : "model";
  if (state.by === "end_user" && by === "end_user") return { ...state, model: "", key: "" };
  return isOfEndUsers ? { ...state, by, end_user: "" } : { ...state, by };
};

export const useUsageState = (): [UsageState, (changes: Partial<UsageState>) => void] => {
  const query = new URLSearchParams(useSearch());
  const [path, go] = useLocation();
  const text = (name: string): string => query.get(name) ?? "";
  const oneOf = <T>(all: readonly T[], value: unknown, otherwise: T): T => all.find((one) => one === value) ?? otherwise;
  const state = consistent({
    days: oneOf(RANGES, Number(text("days")), 30),
    by: oneOf<SeriesGrouping>(["model", "key", "account", "end_user"], text("by"), "model"),
    metric: oneOf(METRICS, text("metric"), "spend"),
    ...{ model: text("model"), key: text("key"), end_user: text("end_user"), account: text("account") },
  });
  const set = (changes: Partial<UsageState>) => {
    const next = consistent({ ...state, ...changes });
    const days = next.days === 30 ? "" : next.days;
    const shown = { ...next, days, by: next.by === "model" ? "" : next.by, metric: next.metric === "spend" ? "" : next.metric };
    go(`${path}${queryOf(shown)}`, { replace: true });
  };
  return [state, set];
};

/** The days of the range, both inclusive, in UTC. */
export const rangeOf = (days: number, nowMs: number) => ({ from: dayText(nowMs - (days - 1) * DAY_MS), to: dayText(nowMs) });

export const seriesPath = ({ days, by, model, key, end_user, account }: UsageState, nowMs: number): string =>
  `/console/api/usage/series${queryOf({ ...rangeOf(days, nowMs), by, model, key, end_user, account })}`;

export const csvPath = ({ days, model, key, account }: UsageState, by: string, nowMs: number): string =>
  `/console/api/usage.csv${queryOf({ ...rangeOf(days, nowMs), by, model, key, account })}`;

/** The generations of a group, with the filters of the view. */
export const generationsPath = (state: UsageState, of: string, nowMs: number): string => {
  const { from } = rangeOf(state.days, nowMs);
  const filters = { model: state.model, key: state.key, end_user: state.end_user, account: state.account };
  return `/console/generations${queryOf({ ...filters, [state.by]: of, from })}`;
};
