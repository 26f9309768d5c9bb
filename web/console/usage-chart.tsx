// Chart of one value per day, drawn by uPlot in the colours of the theme.
//
// The table below contains the same values.
import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { locale } from "../words/words.ts";

export type Figure = {
  title: string;
  /** Total over all days. */
  whole: string;
  /** Summary in one sentence for screen readers. */
  says: string;
  /** Starts of days, s since 1970, and the value of each; null: none. */
  atS: readonly number[];
  values: readonly (number | null)[];
  shape: "bars" | "line";
  /** Formats a value. */
  format: (value: number) => string;
  /** Upper bound of the values; if absent, the largest value. */
  most?: number;
};

const HEIGHT_PX = 180;
const HALF_DAY_S = 43_200;
/** Charts of one page share the cursor. */
const SYNC = "usage";

const colours = (el: Element) => {
  const style = getComputedStyle(el);
  const of = (name: string, otherwise: string) => style.getPropertyValue(name).trim() || otherwise;
  return {
    ink: style.color,
    line: of("--chart-line", style.color),
    fill: of("--chart-fill", "transparent"),
    grid: of("--chart-grid", "transparent"),
  };
};

const dayName = (s: number, more: Intl.DateTimeFormatOptions = {}): string =>
  new Date(s * 1000).toLocaleDateString(locale, { timeZone: "UTC", day: "numeric", month: "short", ...more });

const optionsFor = ({ title, shape, format, most }: Figure, el: Element): uPlot.Options => {
  const { ink, line, fill, grid } = colours(el);
  const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { show: false }, font: "12px system-ui" };
  const bars = uPlot.paths.bars;
  return {
    width: el.clientWidth,
    height: HEIGHT_PX,
    // Days are in UTC, independent of the reader's time zone.
    tzDate: (s) => uPlot.tzDate(new Date(s * 1000), "Etc/UTC"),
    cursor: { sync: { key: SYNC }, drag: { x: false, y: false }, points: { size: 6 } },
    legend: { live: true, markers: { show: false } },
    scales: {
      // Half a day more on both sides, so that the bars of the first and of the last day are whole.
      x: { time: true, range: (_plot, least, most) => [least - HALF_DAY_S, most + HALF_DAY_S] },
      y: { range: (_plot, _least, highest) => [0, most ?? Math.max(highest ?? 0, 1e-9) * 1.1] },
    },
    axes: [
      { ...axis, values: (_plot, at) => at.map((s) => dayName(s)), space: 64 },
      { ...axis, values: (_plot, at) => at.map((value) => format(value)), size: 64 },
    ],
    series: [
      { label: "Day", value: (_plot, s) => (s === null ? "" : dayName(s, { weekday: "short" })) },
      {
        label: title,
        stroke: line,
        fill: shape === "bars" ? fill : undefined,
        width: 2,
        points: { show: shape === "line", size: 5 },
        paths: shape === "bars" && bars ? bars({ size: [0.7, 40] }) : undefined,
        value: (_plot, value) => (value === null || value === undefined ? "" : format(value)),
        spanGaps: true,
      } as uPlot.Series,
    ],
  };
};

export const UsageChart = ({ figure }: { figure: Figure }): VNode => {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const el = place.current;
    if (!el) return;
    let plot: uPlot | undefined;
    const draw = () => {
      plot?.destroy();
      plot = new uPlot(optionsFor(figure, el), [[...figure.atS], [...figure.values]], el);
    };
    draw();
    const resized = new ResizeObserver(() => {
      if (plot && plot.width !== el.clientWidth) plot.setSize({ width: el.clientWidth, height: HEIGHT_PX });
    });
    resized.observe(el);
    // Colours are drawn on a canvas, so a change of the theme redraws the chart.
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", draw);
    const switched = new MutationObserver(draw);
    switched.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme", "class"] });
    return () => {
      resized.disconnect();
      switched.disconnect();
      dark.removeEventListener("change", draw);
      plot?.destroy();
    };
  }, [figure]);
  return (
    <figure class="usage-chart">
      <figcaption>
        {figure.title} <span>{figure.whole}</span>
      </figcaption>
      <div ref={place} role="img" aria-label={figure.says} />
    </figure>
  );
};
