// `npm run charts`: computes the layouts of every statechart, as a whole and level by level.
//
// It writes actors/chart/layouts.json and actors/chart/level-layouts.json.
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import ELK, { type ElkExtendedEdge, type ElkNode } from "elkjs";
import { type Arrow, arrowsOf, type Chart, chartOf } from "../actors/chart/chart.ts";
import { type Box, type Layout, labelSize, placedOf, sizeOf, type Way } from "../actors/chart/layout.ts";
import { MACHINE_NAMES, MACHINES } from "../actors/chart/machines.ts";
import { levelLayouts } from "./level-layouts.ts";

const FILE = resolve(import.meta.dir, "../actors/chart/layouts.json");
const LEVELS_FILE = resolve(import.meta.dir, "../actors/chart/level-layouts.json");
const DOT = 10;
const startId = (state: string) => `${state}/start`;

const OPTIONS = {
  "elk.algorithm": "layered",
  "elk.direction": "DOWN",
  "elk.hierarchyHandling": "INCLUDE_CHILDREN",
  "elk.edgeRouting": "ORTHOGONAL",
  "elk.json.shapeCoords": "ROOT",
  "elk.json.edgeCoords": "ROOT",
  "elk.layered.spacing.nodeNodeBetweenLayers": "26",
  "elk.layered.spacing.edgeNodeBetweenLayers": "14",
  "elk.layered.spacing.edgeEdgeBetweenLayers": "10",
  "elk.spacing.nodeNode": "22",
  "elk.spacing.edgeNode": "14",
  "elk.spacing.edgeEdge": "10",
  "elk.spacing.edgeLabel": "3",
  "elk.layered.nodePlacement.strategy": "NETWORK_SIMPLEX",
  "elk.layered.crossingMinimization.greedySwitch.type": "TWO_SIDED",
  "elk.layered.thoroughness": "60",
  "elk.randomSeed": "7",
};

const nodeOf = (chart: Chart, state: string): ElkNode => {
  const inner = chart.states.filter(({ parent }) => parent === state);
  const { width, height } = state === "" ? { width: 0, height: 0 } : sizeOf(chart, state);
  if (inner.length === 0) return { id: state, width, height };
  const start: ElkNode = { id: startId(state), width: DOT, height: DOT };
  return {
    id: state || "root",
    children: [start, ...inner.map(({ id }) => nodeOf(chart, id))],
    layoutOptions: {
      ...OPTIONS,
      "elk.padding": `[top=${state === "" ? 12 : height + 10},left=14,bottom=14,right=14]`,
      "elk.nodeSize.constraints": "MINIMUM_SIZE",
      "elk.nodeSize.minimum": `(${width}, ${height})`,
    },
  };
};

/** Transitions to a later state, in order of declaration, prefer to point down over transitions to an earlier one. */
const directionOf = (chart: Chart, { source, target }: Arrow): number => {
  const place = (state: string) => chart.states.findIndex(({ id }) => id === state);
  return place(target) > place(source) ? 10 : 0;
};
const edgeOf = (chart: Chart, arrow: Arrow): ElkExtendedEdge => ({
  id: arrow.id,
  sources: [arrow.source],
  targets: [arrow.target],
  layoutOptions: { "elk.layered.priority.direction": String(directionOf(chart, arrow)) },
  labels: [
    { id: `${arrow.id}/label`, text: arrow.id, ...labelSize(arrow), layoutOptions: { "elk.edgeLabels.placement": "CENTER" } },
  ],
});
const startOf = (state: string, target: string): ElkExtendedEdge => ({
  id: startId(state),
  sources: [startId(state)],
  targets: [target],
  // An initial state is placed above the states that follow.
  layoutOptions: { "elk.layered.priority.direction": "100" },
});

const round = Math.round;
const boxOf = ({ x = 0, y = 0, width = 0, height = 0 }: { x?: number; y?: number; width?: number; height?: number }): Box => [
  round(x),
  round(y),
  round(width),
  round(height),
];
const wayOf = (edge: ElkExtendedEdge): Way => {
  const [section] = edge.sections ?? [];
  if (!section) throw new Error(`no way was found for ${edge.id}`);
  const { startPoint, bendPoints = [], endPoint } = section;
  const [label] = edge.labels ?? [];
  return {
    points: [startPoint, ...bendPoints, endPoint].map(({ x, y }) => [round(x), round(y)]),
    label: label ? boxOf(label) : null,
  };
};

const layOut = async (chart: Chart): Promise<Layout> => {
  const { starts } = placedOf(chart);
  const initialOf = (state: string) =>
    state === "" ? chart.initial : (chart.states.find(({ id }) => id === state)?.initial ?? "");
  const graph: ElkNode = {
    ...nodeOf(chart, ""),
    edges: [...starts.map((state) => startOf(state, initialOf(state))), ...arrowsOf(chart).map((arrow) => edgeOf(chart, arrow))],
  };
  // ELK's worker keeps the process alive, so the script exits explicitly below.
  const placed = await new ELK().layout(graph);
  const nodes = new Map<string, Box>();
  const edges = new Map<string, Way>();
  const collect = (node: ElkNode): void => {
    nodes.set(node.id, boxOf(node));
    for (const edge of node.edges ?? []) edges.set(edge.id, wayOf(edge));
    for (const child of node.children ?? []) collect(child);
  };
  collect(placed);
  const box = (id: string): Box => nodes.get(id) ?? [0, 0, 0, 0];
  const way = (id: string): Way => edges.get(id) ?? { points: [], label: null };
  const [, , width, height] = box("root");
  return {
    width,
    height,
    states: Object.fromEntries(chart.states.map(({ id }) => [id, box(id)])),
    arrows: Object.fromEntries(arrowsOf(chart).map(({ id }) => [id, way(id)])),
    starts: Object.fromEntries(
      starts.map((state) => {
        const [x, y] = box(startId(state));
        return [state, { dot: [x + DOT / 2, y + DOT / 2], way: way(startId(state)) }];
      }),
    ),
  };
};

/** One line per element, so that a diff is readable. */
const linesOf = (things: object): string =>
  Object.entries(things)
    .map(([id, place]) => `      ${JSON.stringify(id)}: ${JSON.stringify(place)}`)
    .join(",\n");
const print = ({ width, height, ...things }: Layout): string =>
  [
    `    "width": ${width},\n    "height": ${height}`,
    ...Object.entries(things).map(([name, each]) => `    "${name}": {\n${linesOf(each)}\n    }`),
  ].join(",\n");

/** One line per level and direction. */
const printLevels = (levels: Awaited<ReturnType<typeof levelLayouts>>): string =>
  Object.entries(levels)
    .map(([level, byDirection]) => {
      const lines = Object.entries(byDirection).map(([name, layout]) => `      "${name}": ${JSON.stringify(layout)}`);
      return `    "${level}": {\n${lines.join(",\n")}\n    }`;
    })
    .join(",\n");

const printed: string[] = [];
const printedLevels: string[] = [];
for (const name of MACHINE_NAMES) {
  const chart = chartOf(MACHINES[name].machine);
  const layout = await layOut(chart);
  printed.push(`  "${name}": {\n${print(layout)}\n  }`);
  printedLevels.push(`  "${name}": {\n${printLevels(await levelLayouts(chart))}\n  }`);
  process.stdout.write(`${name}: ${chart.states.length} states, ${layout.width} × ${layout.height}\n`);
}
writeFileSync(FILE, `{\n${printed.join(",\n")}\n}\n`);
writeFileSync(LEVELS_FILE, `{\n${printedLevels.join(",\n")}\n}\n`);
process.exit(0);
