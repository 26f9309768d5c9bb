// Tests the drawn statecharts: the stored layout matches the machines, is complete and has no overlaps.
import { expect, test } from "bun:test";
import { arrowsOf, type Chart, chartOf } from "../../actors/chart/chart.ts";
import { drawingOf } from "../../actors/chart/drawing.ts";
import { type Box, type Layout, labelSize, layoutOf, placedOf, sizeOf } from "../../actors/chart/layout.ts";
import {
  boxSize,
  DIRECTIONS,
  FONT_SIZE,
  fittingLayout,
  LABEL_HEIGHT,
  labelOf,
  labelWidth,
  levelLayoutOf,
} from "../../actors/chart/level-layout.ts";
import { isShownIn, isWithin, levelOf, levelOfPath, levelsOf } from "../../actors/chart/levels.ts";
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

const LEVELS = CHARTS.flatMap(([name, chart]) =>
  levelsOf(chart).flatMap((parent) => DIRECTIONS.map((direction) => [`${name} ${parent}`, direction, chart, parent] as const)),
);

test.each(LEVELS)(
  "level %s %s: has a current layout without overlaps, with each line from box to box",
  (_, direction, chart, parent) => {
    const level = levelOf(chart, parent);
    const layout = levelLayoutOf(chart, level, direction);
    if (!layout) throw new Error(`no layout for ${parent}; npm run charts creates it`);
    expect(Object.keys(layout.boxes)).toEqual(level.states.map(({ id }) => id));
    expect(Object.keys(layout.lines)).toEqual(level.bundles.map(({ id }) => id));
    const places: [string, Box][] = level.states.map((state) => {
      const box = layout.boxes[state.id] ?? [0, 0, 0, 0];
      expect([state.id, ...box.slice(2)]).toEqual([state.id, ...Object.values(boxSize(chart, state))]);
      return [state.id, box];
    });
    for (const bundle of level.bundles) {
      const { points = [], label } = layout.lines[bundle.id] ?? {};
      const [first, last] = [points[0], points.at(-1)];
      const isFrom = first && isOnEdge(first, layout.boxes[bundle.from] ?? [0, 0, 0, 0]);
      const isTo = last && isOnEdge(last, layout.boxes[bundle.to] ?? [0, 0, 0, 0]);
      expect([bundle.id, isFrom, isTo, (points.length - 1) % 3]).toEqual([bundle.id, true, true, 0]);
      const width = labelWidth(labelOf(level, bundle));
      const [x, y] = label ?? [0, 0];
      places.push([`label of ${bundle.id}`, [x - width / 2, y - LABEL_HEIGHT / 2, width, LABEL_HEIGHT]]);
    }
    for (const [id, box] of places) expect([id, contains([0, 0, layout.width, layout.height], box)]).toEqual([id, true]);
    const clashes = places.flatMap(([a, boxA], at) =>
      places.slice(at + 1).flatMap(([b, boxB]) => (overlap(boxA, boxB) ? [`${a} / ${b}`] : [])),
    );
    expect(clashes).toEqual([]);
  },
);

test.each(CHARTS)(
  "%s: each transition to another state is in exactly one bundle of a level, or enters or leaves a level",
  (_, chart) => {
    const levels = levelsOf(chart).map((parent) => levelOf(chart, parent));
    for (const { id, target } of chart.transitions) {
      const drawn = levels.filter(({ bundles }) =>
        bundles.some(({ forth, back }) => [...forth, ...back].some((each) => each.id === id)),
      );
      const passing = levels.filter(({ entries, exits }) =>
        [...entries, ...exits].some(({ transitions }) => transitions.some((each) => each.id === id)),
      );
      expect([id, drawn.length <= 1, target !== null || passing.length === 0]).toEqual([id, true, true]);
    }
  },
);

test("reduces the 53 arrows of a generation to one line for each pair of states, with all transitions in it", () => {
  const chart = chartOf(MACHINES.generation.machine);
  const top = levelOf(chart, "");
  expect(top.bundles.map(({ id, forth, back }) => [id, forth.length + back.length])).toEqual([
    ["queued > failed", 6],
    ["queued > running", 2],
    ["running > succeeded", 3],
    ["running > failed", 37],
  ]);
  expect([top.entries, top.exits]).toEqual([[], []]);
  const running = levelOf(chart, "running");
  const pairs = running.bundles.map(({ from, to }) => [from, to].sort().join(" "));
  expect(new Set(pairs).size).toBe(pairs.length);
  const slots = running.bundles.find(({ id }) => id === "running.awaitingSlot > running.submitting");
  expect(slots?.forth.map(({ source }) => source)).toEqual(["running.awaitingSlot"]);
  expect(
    slots?.back.every(({ source, target }) => isWithin(source, "running.submitting") && target === "running.awaitingSlot"),
  ).toBe(true);
  expect(running.entries.map(({ outside }) => outside)).toEqual(["queued"]);
  expect(running.exits.map(({ outside }) => outside).sort()).toEqual(["failed", "succeeded"]);
  const leaving = chart.transitions.filter(({ source, target }) => isWithin(source, "running") && target === "failed");
  expect(running.exits.find(({ outside }) => outside === "failed")?.transitions).toEqual(leaving);
});

test("opens the inside of a compound state for a path through it, and shows every state of a generation there", () => {
  const chart = chartOf(MACHINES.generation.machine);
  expect(levelOfPath(chart, ["queued"])).toBe("");
  expect(levelOfPath(chart, ["succeeded", "running.polling"])).toBe("running");
  const level = levelOf(chart, "running");
  for (const { id, parent } of chart.states)
    expect([id, parent === "" && id === "running" ? true : isShownIn(level, id)]).toEqual([id, true]);
  expect(isShownIn(levelOf(chart, "running.collecting"), "queued")).toBe(false);
});

test.each([
  ["a wide frame", 752, 246],
  ["a high frame", 546, 540],
])("chooses the layout of the states inside running that keeps letters of 12 pixels in %s", (_, width, height) => {
  const chart = chartOf(MACHINES.generation.machine);
  const layout = fittingLayout(chart, levelOf(chart, "running"), width, height);
  if (!layout) throw new Error("there is no layout");
  expect(Math.min(width / layout.width, height / layout.height) * FONT_SIZE).toBeGreaterThanOrEqual(12);
});
