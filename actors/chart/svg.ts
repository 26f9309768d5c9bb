// SVG export: renders a chart as a self-contained SVG file with light and dark styles.
//
// The file loads no external resources.
import type { Chart } from "./chart.ts";
import { type Drawn, drawingOf, type Marks } from "./drawing.ts";
import { layoutOf } from "./layout.ts";

/** Each colour is defined once for light and once for dark mode. Each mark is also distinguished by its stroke. */
const STYLE = `
.chart { --ink: #1c2430; --faint: #5b6675; --line: #8792a2; --paper: #ffffff; --box: #f6f8fb; --active: #d7e8ff; --accent: #0b5cad; --wrong: #b3261e; }
@media (prefers-color-scheme: dark) { .chart { --ink: #e7ecf3; --faint: #a9b4c2; --line: #76828f; --paper: #12161c; --box: #1b212a; --active: #12385f; --accent: #7ab8ff; --wrong: #ff9a91; } }
.chart { background: var(--paper); font-family: ui-monospace, Menlo, Consolas, monospace; }
.chart-box, .chart-box-inner { fill: var(--box); stroke: var(--line); stroke-width: 1; }
.is-compound .chart-box { fill-opacity: .5; }
.is-active .chart-box { stroke: var(--accent); stroke-width: 2.5; }
.is-active:not(.is-compound) .chart-box { fill: var(--active); }
.chart-name { fill: var(--ink); font-size: 13px; font-weight: 600; }
.chart-line { fill: var(--faint); font-size: 11px; paint-order: stroke; stroke: var(--paper); stroke-width: 3px; }
.chart-state .chart-line { stroke: none; }
.chart-way { fill: none; stroke: var(--line); stroke-width: 1; }
.chart-head { fill: var(--line); }
.chart-dot { fill: var(--ink); }
.is-taken .chart-way { stroke: var(--accent); stroke-width: 2; }
.is-taken .chart-head { fill: var(--accent); }
.chart-line.is-taken { fill: var(--accent); font-weight: 600; }
.is-last .chart-way { stroke: var(--accent); stroke-width: 3.5; }
.is-last .chart-head { fill: var(--accent); }
.chart-line.is-last { fill: var(--accent); font-weight: 700; text-decoration: underline; }
.is-uncovered .chart-way { stroke: var(--wrong); stroke-dasharray: 5 4; }
.chart-line.is-uncovered { fill: var(--wrong); font-style: italic; }
.chart-count-box { fill: var(--accent); }
.chart-count { fill: var(--paper); font-size: 11px; font-weight: 700; }
`;

const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign] ?? sign);

const print = ({ tag, attributes, children }: Drawn): string => {
  const reported = Object.entries(attributes)
    .map(([name, value]) => ` ${name}="${escaped(String(value))}"`)
    .join("");
  const inside = children.map((child) => (typeof child === "string" ? escaped(child) : print(child))).join("");
  return inside === "" ? `<${tag}${reported}/>` : `<${tag}${reported}>${inside}</${tag}>`;
};

/**
 * Returns the chart of a machine as an SVG document.
 * @param title accessible name of the image
 */
export const svgOf = (chart: Chart, marks: Marks = {}, title = `Statechart of ${chart.machine}`): string => {
  const layout = layoutOf(chart);
  if (!layout) throw new Error(`there is no layout for ${chart.machine}; npm run charts creates it`);
  const { attributes, children, tag } = drawingOf(chart, layout, marks);
  return `${print({
    tag,
    attributes: { xmlns: "http://www.w3.org/2000/svg", role: "img", ...attributes },
    children: [
      { tag: "title", attributes: {}, children: [title] },
      { tag: "style", attributes: {}, children: [STYLE] },
      ...children,
    ],
  })}\n`;
};
