// `/console/usage`: spend and generations by day, stacked by model, key, account or end user, with filters and tables.

import { ChartColumn, X } from "lucide";
import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import type { SeriesGrouping, UsageLine, UsageSeriesDto } from "../../src/console/keys-dto.ts";
import { me } from "../components/api.ts";
import { EmptyState } from "../components/empty-state.tsx";
import { usd } from "../components/format.ts";
import { Icon } from "../components/icon.tsx";
import { Skeleton } from "../components/skeleton.tsx";
import { useQuery } from "../components/use-query.ts";
import { words } from "../words/console-words.ts";
import { numberText } from "./credits/amounts.ts";
import { waited } from "./format.ts";
import { type Series, UsageChart } from "./usage-chart.tsx";
import {
  csvPath,
  FILTERS,
  generationsPath,
  groupingsOf,
  isOfAll,
  METRICS,
  type Metric,
  RANGES,
  seriesPath,
  type UsageState,
  useUsageState,
} from "./usage-state.ts";
import { DayTable, GroupTable, percentText, successOf } from "./usage-table.tsx";

type Choices<T> = { label: string; values: readonly (readonly [T, string])[]; current: T; choose: (value: T) => void };

const Segments = <T extends string | number>({ label, values, current, choose }: Choices<T>): VNode => (
  <fieldset class="segments joined">
    <legend class="unseen">{label}</legend>
    {values.map(([value, text]) => (
      <label key={value} class="segment">
        <input type="radio" name={label} checked={value === current} onChange={() => choose(value)} />
        <span>{text}</span>
      </label>
    ))}
  </fieldset>
);

/** How a figure is read from a line, shown, and summed up. */
const FIGURES: Readonly<
  Record<
    Metric,
    { of: (line: UsageLine) => number; format: (value: number) => string; total: (total: UsageLine) => string; most: number }
  >
> = {
  spend: {
    of: ({ chargedCredits }) => chargedCredits,
    format: (n) => usd(Math.round(n)),
    total: (all) => usd(all.chargedCredits),
    most: 0,
  },
  generations: {
    of: ({ count }) => count,
    format: (n) => numberText(Number(n.toFixed(1))),
    total: (all) => numberText(all.count),
    most: 0,
  },
  success: {
    of: (line) => successOf(line) ?? 0,
    format: percentText,
    total: (all) => (all.count === 0 ? "–" : percentText(successOf(all) ?? 0)),
    most: 1,
  },
  wait: {
    of: ({ medianWaitMs }) => medianWaitMs ?? 0,
    format: waited,
    total: ({ medianWaitMs }) => (medianWaitMs === null ? "–" : waited(medianWaitMs)),
    most: 0,
  },
};

/** The bars of a figure: the groups and the rest of each day, or one value for each day. */
const seriesOf = (view: UsageSeriesDto, metric: Metric): Series[] => {
  const { of } = FIGURES[metric];
  const whole = view.days.map(of);
  if (metric !== "spend" && metric !== "generations") return [{ of: "", name: words.usage.metrics[metric], values: whole }];
  const groups = view.series.map(({ of: id, name, chargedCredits, counts }) => ({
    ...{ of: id, name, values: metric === "spend" ? chargedCredits : counts },
  }));
  const rest = whole.map((value, day) => groups.reduce((left, { values }) => left - (values[day] ?? 0), value));
  const name = view.by === "end_user" ? words.usage.noEndUser : words.usage.rest;
  return rest.some((value) => value > 0) ? [...groups, { of: "", name, values: rest }] : groups;
};

type StateProps = { state: UsageState; set: (changes: Partial<UsageState>) => void };

const Controls = ({ state, set }: StateProps): VNode => {
  const { usage } = words;
  const who = me.value?.signedIn;
  const maySwitch = who?.role !== "member" && (who?.accountId ?? null) !== null;
  return (
    <div class="usage-controls">
      <Segments
        label={usage.range}
        values={RANGES.map((days) => [days, usage.ranges[days]] as const)}
        current={state.days}
        choose={(days) => set({ days })}
      />
      <label class="filter-day">
        <span>{usage.by}</span>
        <select value={state.by} onChange={({ currentTarget }) => set({ by: currentTarget.value as SeriesGrouping })}>
          {groupingsOf(state).map((by) => (
            <option key={by} value={by}>
              {usage.groups[by]}
            </option>
          ))}
        </select>
      </label>
      {maySwitch && (
        <Segments
          label={usage.scope}
          values={[
            ["", usage.own],
            ["*", usage.all],
          ]}
          current={state.account}
          choose={(account) => set({ account, model: "", key: "", end_user: "" })}
        />
      )}
    </div>
  );
};

/** The filters that are set, each with a button that removes it. */
const FilterChips = ({ state, set, nameOf }: StateProps & { nameOf: (of: string) => string }): VNode | null => {
  const { usage } = words;
  const found = FILTERS.filter((name) => state[name] !== "");
  if (found.length === 0) return null;
  return (
    <ul class="chips" aria-label={usage.filters}>
      {found.map((name) => {
        const says = usage.filter(usage.groups[name], nameOf(state[name]));
        return (
          <li key={name}>
            <button type="button" class="button is-small" aria-label={usage.remove(says)} onClick={() => set({ [name]: "" })}>
              {says}
              <Icon of={X} size={14} />
            </button>
          </li>
        );
      })}
    </ul>
  );
};

const Report = ({ view, state, set, nowMs }: StateProps & { view: UsageSeriesDto; nowMs: number }): VNode => {
  const { usage } = words;
  const { metric } = state;
  const figure = FIGURES[metric];
  const series = useMemo(() => seriesOf(view, metric), [view, metric]);
  // A chosen account is the account of the view; other groups are filters of it.
  const choose = (of: string) => set({ [view.by]: state[view.by] === of ? "" : of });
  return (
    <>
      <UsageChart
        title={usage.metrics[metric]}
        total={figure.total(view.total)}
        days={view.days.map(({ of }) => of)}
        series={series}
        format={figure.format}
        most={figure.most}
        isStacked={metric === "spend" || metric === "generations"}
        choose={choose}
        controls={
          <Segments
            label={usage.metric}
            values={METRICS.map((name) => [name, usage.metrics[name]] as const)}
            current={metric}
            choose={(name) => set({ metric: name })}
          />
        }
      />
      <GroupTable
        view={view}
        csv={view.by === "end_user" ? null : csvPath(state, view.by, nowMs)}
        hrefOf={(of) => generationsPath(state, of, nowMs)}
      />
      <DayTable view={view} csv={view.by === "end_user" ? null : csvPath(state, "day", nowMs)} />
    </>
  );
};

export const UsagePage = (): VNode => {
  const { usage } = words;
  const [state, set] = useUsageState();
  // The range stays the same while the page is open, so that a change of the figure requests nothing.
  const nowMs = useMemo(() => Date.now(), []);
  const { value: view, fault } = useQuery<UsageSeriesDto>(seriesPath(state, nowMs));
  const nameOf = (of: string) => view?.groups.find((line) => line.of === of)?.name ?? of;
  return (
    <div class={`usage${isOfAll(state) ? " is-of-all" : ""}`}>
      <p class="muted">{usage.about}</p>
      <Controls state={state} set={set} />
      <FilterChips state={state} set={set} nameOf={nameOf} />
      {fault !== null && (
        <p class="notice is-bad" role="alert">
          {fault}
        </p>
      )}
      {!view && fault === null && <Skeleton lines={10} />}
      {view && view.total.count === 0 && <EmptyState icon={ChartColumn} title={usage.none} about={usage.noneAbout} />}
      {view && view.total.count > 0 && <Report view={view} state={state} set={set} nowMs={nowMs} />}
    </div>
  );
};
