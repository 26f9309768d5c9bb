// Chart of usage: one bar for each day, stacked by group. The table below it has the same values.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { words } from "../words/console-words.ts";
import { locale } from "../words/words.ts";

/** The values of a group, one for each day. `of` is empty for all other groups together. */
export type Series = { of: string; name: string; values: readonly number[] };
export type ChartProps = {
  /** Name of the figure, and its total. */
  title: string;
  total: string;
  /** Days as `2026-11-30`, in UTC. */
  days: readonly string[];
  series: readonly Series[];
  format: (value: number) => string;
  /** The largest value that the axis must have; 0: that of the values. */
  most: number;
  /** The groups are parts of one sum; otherwise there is one value for each day. */
  isStacked: boolean;
  /** Beside the total. */
  controls: VNode;
  /** Shows one group only, or all again. */
  choose: (of: string) => void;
};

const LEAST_DAYS = 7;
const MOST_LABELS = 5;
/** More bars than this stand without a space between them. */
const DENSE = 120;

const dayName = (day: string, more: Intl.DateTimeFormatOptions = {}): string =>
  new Date(`${day}T00:00:00Z`).toLocaleDateString(locale, { timeZone: "UTC", day: "numeric", month: "short", ...more });

/** The top of the axis: 1, 2, 2.5 or 5 times a power of ten, or the number itself if `most` sets it. */
export const axisTop = (highest: number): number => {
  if (highest <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(highest));
  return ([1, 2, 2.5, 5, 10].find((step) => step * power >= highest) ?? 10) * power;
};

/** The first day to show: days before the first value are left out, but a week is always shown. */
export const firstShown = (series: readonly Series[], days: number): number => {
  const first = Array.from({ length: days }, (_, n) => n).find((n) => series.some(({ values }) => (values[n] ?? 0) > 0));
  return Math.max(0, Math.min(first ?? days, days - LEAST_DAYS));
};

const Bar = ({
  series,
  day,
  top,
  choose,
}: {
  series: readonly Series[];
  day: number;
  top: number;
  choose: (of: string) => void;
}) => (
  <span class="bar">
    {series.map(({ of, values }, n) => {
      const value = values[day] ?? 0;
      if (value === 0) return null;
      const height = `${(100 * value) / top}%`;
      const colour = `bar-part series-${of === "" ? "rest" : n}`;
      return of === "" ? (
        <span key={of} class={colour} style={{ height }} />
      ) : (
        <button key={of} type="button" tabIndex={-1} class={colour} style={{ height }} onClick={() => choose(of)} />
      );
    })}
  </span>
);

const Labels = ({ days }: { days: readonly string[] }): VNode => {
  const isEach = days.length <= LEAST_DAYS;
  const count = Math.min(days.length, MOST_LABELS);
  const shown = isEach
    ? days
    : Array.from({ length: count }, (_, n) => days[Math.round((n * (days.length - 1)) / (count - 1))] ?? "");
  return (
    <span class={`bar-labels${isEach ? " is-each" : ""}`}>
      {shown.map((day) => (
        <span key={day}>{dayName(day)}</span>
      ))}
    </span>
  );
};

const Legend = ({
  series,
  day,
  format,
  choose,
}: Pick<ChartProps, "series" | "format" | "choose"> & { day: number | null }): VNode => {
  const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);
  return (
    <ul class="legend" aria-label={words.usage.legend}>
      {series.map(({ of, name, values }, n) => {
        const value = format(day === null ? sum(values) : (values[day] ?? 0));
        const mark = <span class={`swatch series-${of === "" ? "rest" : n}`} />;
        return (
          <li key={of}>
            {of === "" ? (
              <span class="legend-entry" title={words.usage.restAbout}>
                {mark}
                {name} <span class="muted">{value}</span>
              </span>
            ) : (
              <button type="button" class="legend-entry" title={words.usage.only(name)} onClick={() => choose(of)}>
                {mark}
                <span class="legend-name">{name}</span> <span class="muted">{value}</span>
              </button>
            )}
          </li>
        );
      })}
    </ul>
  );
};

export const UsageChart = ({ title, total, days, series, format, most, isStacked, controls, choose }: ChartProps): VNode => {
  const [pointed, setPointed] = useState<number | null>(null);
  const first = firstShown(series, days.length);
  const shown = Array.from({ length: days.length - first }, (_, n) => first + n);
  const sumOn = (day: number) => series.reduce((sum, { values }) => sum + (values[day] ?? 0), 0);
  const top = most > 0 ? most : axisTop(Math.max(...shown.map(sumOn)));
  const day = pointed === null ? undefined : days[pointed];
  const says = words.usage.chart(title, days.length, total);
  return (
    <figure class="usage-chart card">
      <div class="usage-head">
        <figcaption>
          <strong>{day === undefined || pointed === null ? total : format(sumOn(pointed))}</strong>
          <span class="muted">{day === undefined ? title : dayName(day, { weekday: "short", year: "numeric" })}</span>
        </figcaption>
        {controls}
      </div>
      <p class="unseen">{says}</p>
      {/* The table has the same values, and the legend the same actions. */}
      <div class="plot" aria-hidden="true">
        <span class="axis">
          {[top, top / 2, 0].map((value) => (
            <span key={value}>{format(value)}</span>
          ))}
        </span>
        {/* biome-ignore lint/a11y/noStaticElementInteractions: the legend and the table have the same values. */}
        <div class={`bars${shown.length > DENSE ? " is-dense" : ""}`} onMouseLeave={() => setPointed(null)}>
          {shown.map((n) => (
            // biome-ignore lint/a11y/noStaticElementInteractions: as above.
            <span
              key={days[n]}
              class={`bar-day${n === pointed ? " is-pointed" : ""}`}
              data-day={days[n]}
              onMouseEnter={() => setPointed(n)}
            >
              <Bar series={series} day={n} top={top} choose={choose} />
            </span>
          ))}
        </div>
        <Labels days={shown.map((n) => days[n] ?? "")} />
      </div>
      {isStacked && <Legend series={series} day={pointed} format={format} choose={choose} />}
    </figure>
  );
};
