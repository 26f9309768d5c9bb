// Tests the drawn statecharts: the stored layout matches the machines, is complete and has no overlaps.
import { expect, test } from "bun:test";
import { arrowsOf, type Chart, chartOf } from "../../actors/chart/chart.ts";
import { drawingOf } from "../../actors/chart/drawing.ts";
import { type Box, type Layout, labelSize, layoutOf, placedOf, sizeOf } from "../../actors/chart/layout.ts";
import { MACHINE_NAMES, MACHINES } from "../../actors/chart/machines.ts";
import { mermaidOf } from "../../actors/chart/mermaid.ts";
import { svgOf } from "../../actors/chart/svg.ts";

const CHARTS = MACHINE_NAMES.map((name) => [name, chartOf(MACHINES[name].machine)] as const);
const placesOf = (chart: Chart): Layout => {
  const layout = layoutOf(chart);
  if (!layout) throw new Error(`no places for ${chart.machine}`);
  return layout;
};
const contains = ([x, y, width, height]: Box, [px, py, pwidth, pheight]: Box) =>
  px >= x && py >= y && px + pwidth <= x + width && py + pheight <= y + height;
const overlap = ([ax, ay, aw, ah]: Box, [bx, by, bw, bh]: Box) => ax < bx + bw && bx < ax + aw && ay < by + bh && by < ay + ah;
/** Whether a point is on the edge of a box, up to rounding. */
const isOnEdge = ([px, py]: [number, number], [x, y, width, height]: Box) =>
  contains([x - 1, y - 1, width + 2, height + 2], [px, py, 0, 0]) &&
  [px - x, x + width - px, py - y, y + height - py].some((distance) => Math.abs(distance) <= 1);
const siblings = (chart: Chart) =>
  chart.states.flatMap((a, at) =>
    chart.states.slice(at + 1).flatMap((b) => (a.parent === b.parent ? [[a.id, b.id] as const] : [])),
  );

test.each(CHARTS)("%s: the stored layout matches the current machine (npm run charts updates it)", (_, chart) => {
  const { states, arrows, starts } = placesOf(chart);
  const placed = { states: Object.keys(states), arrows: Object.keys(arrows), starts: Object.keys(starts) };
  expect(placed).toEqual(placedOf(chart));
});

test.each(CHARTS)("%s: places each state inside its parent without overlaps, and each arrow from edge to edge", (_, chart) => {
  const layout = placesOf(chart);
  const placeOf = (state: string): Box =>
    state === "" ? [0, 0, layout.width, layout.height] : (layout.states[state] ?? [0, 0, 0, 0]);
  for (const { id, parent } of chart.states) {
    const [, , width, height] = placeOf(id);
    const needed = sizeOf(chart, id);
    expect([id, width >= needed.width && height >= needed.height, contains(placeOf(parent), placeOf(id))]).toEqual([
      id,
      true,
      true,
    ]);
  }
  expect(siblings(chart).filter(([a, b]) => overlap(placeOf(a), placeOf(b)))).toEqual([]);
  const labels: [string, Box][] = [];
  for (const arrow of arrowsOf(chart)) {
    const way = layout.arrows[arrow.id];
    const [first, last] = [way?.points[0], way?.points.at(-1)];
    expect([
      arrow.id,
      !!first && isOnEdge(first, placeOf(arrow.source)),
      !!last && isOnEdge(last, placeOf(arrow.target)),
    ]).toEqual([arrow.id, true, true]);
    const { width, height } = labelSize(arrow);
    expect(way?.label?.slice(2)).toEqual([width, height]);
    if (way?.label) labels.push([arrow.id, way.label]);
  }
  const clashes = labels.flatMap(([a, boxA], at) =>
    labels.slice(at + 1).flatMap(([b, boxB]) => (overlap(boxA, boxB) ? [`${a} / ${b}`] : [])),
  );
  expect(clashes).toEqual([]);
});

test.each(CHARTS)("%s: the SVG shows every state and every transition and has no external references", (name, chart) => {
  const svg = svgOf(chart, { active: [chart.initial], coverage: [] });
  for (const { id, description } of chart.states) {
    expect(svg).toContain(`data-state="${id}"`);
    expect(svg).toContain(description.replaceAll("&", "&amp;"));
  }
  for (const { event } of chart.transitions) expect(svg).toContain(`✗ ${event}`);
  expect(svg.match(/class="chart-arrow[^"]*"/g)).toHaveLength(arrowsOf(chart).length);
  expect(svg).toContain("prefers-color-scheme: dark");
  expect(svg.replace("http://www.w3.org/2000/svg", "")).not.toMatch(/https?:|url\(|<script|@import|href/);
  expect(svg).toContain(`Statechart of ${name}`);
});

test("marks the active state with its parents, the last transition, the taken ones and the uncovered ones", () => {
  const chart = chartOf(MACHINES.generation.machine);
  const accepted = "running.submitting.sending/accepted/0";
  const all = chart.transitions.map(({ id }) => id);
  const drawn = drawingOf(chart, placesOf(chart), {
    active: ["running.polling"],
    edge: accepted,
    taken: ["queued/begun/0"],
    counts: { queued: 12 },
    coverage: all.filter((id) => id !== "running.backingOff/woken/0"),
  });
  const marked = (mark: string) =>
    drawn.children.flatMap((child) => {
      if (typeof child === "string" || !String(child.attributes.class).split(" ").includes(mark)) return [];
      return [child.attributes["data-state"] ?? child.attributes["data-arrow"]];
    });
  expect(marked("is-active").sort()).toEqual(["running", "running.polling"]);
  expect(marked("is-last")).toEqual(["running.submitting.sending > running.polling"]);
  expect(marked("is-taken")).toEqual(["queued > running.submitting"]);
  expect(marked("is-uncovered")).toEqual(["running.backingOff > running.submitting"]);
  expect(JSON.stringify(drawn)).toContain('"12"');
});

test("returns no layout for a machine with another name or another structure", () => {
  const chart = chartOf(MACHINES.ledger.machine);
  expect(layoutOf(chart)).not.toBeNull();
  expect(layoutOf({ ...chart, machine: "their-ledger" })).toBeNull();
  expect(layoutOf({ ...chart, machine: "route-health" })).toBeNull();
});

test("numbers only the taken transitions in the Mermaid diagram of a replay", () => {
  const chart = chartOf(MACHINES["route-health"].machine);
  const text = mermaidOf(
    chart,
    new Map([
      ["closed/faulty/0", [1, 4]],
      ["closed/failed/1", [3]],
    ]),
  );
  expect(text.split("\n").filter((line) => line.includes("("))).toEqual([
    "  closed --> closed : failed (3)",
    "  closed --> open : faulty (1, 4)",
  ]);
  expect(mermaidOf(chart)).not.toContain("(");
});
