// Computes the layout of every level of a statechart, for wide and for narrow frames.
import ELK, { type ElkExtendedEdge } from "elkjs";
import type { Chart, ChartState } from "../actors/chart/chart.ts";
import type { Box } from "../actors/chart/layout.ts";
import {
  boxSize,
  DIRECTIONS,
  type Direction,
  LABEL_HEIGHT,
  type LevelLayout,
  labelOf,
  labelWidth,
  type Point,
} from "../actors/chart/level-layout.ts";
import { type Bundle, initialOf, type Level, levelOf, levelsOf } from "../actors/chart/levels.ts";

const MARGIN = 10;
const START_LENGTH = 26;

const LABEL_SPACE = 16;
const longestLabel = (level: Level): number => Math.max(0, ...level.bundles.map((bundle) => labelWidth(labelOf(level, bundle))));

const optionsOf = (level: Level, direction: Direction): Record<string, string> => ({
  "elk.algorithm": "layered",
  "elk.direction": direction,
  "elk.edgeRouting": "SPLINES",
  // A label is between two layers, or in the drawing direction DOWN beside another line.
  "elk.layered.spacing.nodeNodeBetweenLayers": String(direction === "RIGHT" ? longestLabel(level) + LABEL_SPACE : 40),
  "elk.layered.spacing.edgeNodeBetweenLayers": "10",
  "elk.layered.spacing.edgeEdgeBetweenLayers": "6",
  "elk.spacing.nodeNode": "14",
  "elk.spacing.edgeNode": String(direction === "DOWN" ? longestLabel(level) / 2 + 4 : 9),
  "elk.spacing.edgeEdge": "8",
  "elk.separateConnectedComponents": "false",
  "elk.layered.thoroughness": "100",
  "elk.randomSeed": "7",
});

/** Final states are placed last. */
const constraintOf = ({ kind }: ChartState): Record<string, string> =>
  kind === "final" ? { "elk.layered.layering.layerConstraint": "LAST" } : {};

/** ELK draws every line to the later state in order of declaration, so that most arrows point in the direction of the drawing. */
const isForward = (level: Level, { from, to }: Bundle): boolean => {
  const place = (state: string) => level.states.findIndex((each) => each.id === state);
  return place(to) > place(from);
};
const edgeOf = (level: Level, bundle: Bundle): ElkExtendedEdge => {
  const { id, from, to } = bundle;
  return isForward(level, bundle) ? { id, sources: [from], targets: [to] } : { id, sources: [to], targets: [from] };
};

const round = (value: number) => Math.round(value * 10) / 10;
const pointsOf = (edge: ElkExtendedEdge): Point[] => {
  const [section] = edge.sections ?? [];
  if (!section) throw new Error(`no line was found for ${edge.id}`);
  const { startPoint, bendPoints = [], endPoint } = section;
  const all = [startPoint, ...bendPoints, endPoint].map(({ x, y }): Point => [round(x), round(y)]);
  // A straight line as a curve.
  const [first, last] = [all[0] as Point, all.at(-1) as Point];
  return all.length === 2 ? [first, first, last, last] : all;
};

const at = (from: Point, to: Point, share: number): Point => [
  from[0] + (to[0] - from[0]) * share,
  from[1] + (to[1] - from[1]) * share,
];
/** A point of a Bézier curve of one or more pieces. @param share from 0 to 1 */
const pointAt = (points: readonly Point[], share: number): Point => {
  const pieces = (points.length - 1) / 3;
  const piece = Math.min(pieces - 1, Math.floor(share * pieces));
  const [a, b, c, d] = points.slice(piece * 3, piece * 3 + 4) as [Point, Point, Point, Point];
  const t = share * pieces - piece;
  const [ab, bc, cd] = [at(a, b, t), at(b, c, t), at(c, d, t)];
  return at(at(ab, bc, t), at(bc, cd, t), t);
};

/** Shares of a line at which a label may be, the best first. */
const SHARES = Array.from({ length: 81 }, (_, step) => 0.5 + (step % 2 === 0 ? 1 : -1) * Math.ceil(step / 2) * 0.01);
const boxAround = ([x, y]: Point, width: number, height: number): Box => [x - width / 2, y - height / 2, width, height];
const overlaps = ([ax, ay, aw, ah]: Box, [bx, by, bw, bh]: Box, gap: number) =>
  ax < bx + bw + gap && bx < ax + aw + gap && ay < by + bh + gap && by < ay + ah + gap;
const isNear = ([px, py]: Point, [x, y, width, height]: Box) => px > x && px < x + width && py > y && py < y + height;

/** The place of a label on its line that covers no box, no other label, and as few other lines as possible. */
const labelAt = (label: string, points: readonly Point[], others: readonly Point[][], taken: readonly Box[]): Point => {
  const width = labelWidth(label);
  const crossings = (box: Box) => others.filter((other) => SHARES.some((share) => isNear(pointAt(other, share), box))).length;
  const places = SHARES.map((share) => pointAt(points, share)).flatMap((place) => {
    const box = boxAround(place, width, LABEL_HEIGHT);
    return taken.some((each) => overlaps(each, box, 3)) ? [] : [{ place, covered: crossings(box) }];
  });
  const [best] = places.sort((a, b) => a.covered - b.covered);
  if (!best) throw new Error(`no place was found for the label ${label}`);
  return [round(best.place[0]), round(best.place[1])];
};

const linesOf = (level: Level, edges: readonly ElkExtendedEdge[], boxes: readonly Box[]): LevelLayout["lines"] => {
  const taken = [...boxes];
  const lines = new Map(
    level.bundles.map((bundle) => {
      const edge = edges.find(({ id }) => id === bundle.id);
      if (!edge) throw new Error(`no line was found for ${bundle.id}`);
      return [bundle.id, isForward(level, bundle) ? pointsOf(edge) : pointsOf(edge).reverse()];
    }),
  );
  // A short line has the fewest places for its label.
  const byLength = [...level.bundles].sort((a, b) => (lines.get(a.id)?.length ?? 0) - (lines.get(b.id)?.length ?? 0));
  const labels = new Map<string, Point>();
  for (const bundle of byLength) {
    const points = lines.get(bundle.id) ?? [];
    const others = [...lines].flatMap(([id, each]) => (id === bundle.id ? [] : [each]));
    const text = labelOf(level, bundle);
    const place = labelAt(text, points, others, taken);
    labels.set(bundle.id, place);
    taken.push(boxAround(place, labelWidth(text), LABEL_HEIGHT));
  }
  return Object.fromEntries(
    level.bundles.map(({ id }) => [id, { points: lines.get(id) ?? [], label: labels.get(id) ?? [0, 0] }]),
  );
};

/** Moves everything to positive coordinates and measures it: labels and curves may be outside of the boxes. */
const framed = (level: Level, layout: Omit<LevelLayout, "width" | "height">): LevelLayout => {
  const { boxes, lines, start } = layout;
  const extents: Box[] = [
    ...Object.values(boxes),
    ...level.bundles.map((bundle) =>
      boxAround(lines[bundle.id]?.label ?? [0, 0], labelWidth(labelOf(level, bundle)), LABEL_HEIGHT),
    ),
    ...Object.values(lines).flatMap(({ points }) => SHARES.map((share): Box => [...pointAt(points, share), 0, 0])),
    boxAround(start.dot, 10, 10),
  ];
  const [left, top] = [Math.min(...extents.map(([x]) => x)) - MARGIN, Math.min(...extents.map(([, y]) => y)) - MARGIN];
  const moved = ([x, y]: Point): Point => [round(x - left), round(y - top)];
  return {
    width: Math.ceil(Math.max(...extents.map(([x, , width]) => x + width)) - left + MARGIN),
    height: Math.ceil(Math.max(...extents.map(([, y, , height]) => y + height)) - top + MARGIN),
    boxes: Object.fromEntries(
      Object.entries(boxes).map(([id, [x, y, width, height]]): [string, Box] => [id, [...moved([x, y]), width, height]]),
    ),
    lines: Object.fromEntries(
      Object.entries(lines).map(([id, { points, label }]) => [id, { points: points.map(moved), label: moved(label) }]),
    ),
    start: { dot: moved(start.dot), end: moved(start.end) },
  };
};

/** The initial dot, before the box of the initial state. */
const startOf = ([x, y, width, height]: Box, direction: Direction): LevelLayout["start"] =>
  direction === "RIGHT"
    ? { dot: [x - START_LENGTH, y + height / 2], end: [x, y + height / 2] }
    : { dot: [x + width / 2, y - START_LENGTH], end: [x + width / 2, y] };

const layOut = async (chart: Chart, level: Level, direction: Direction): Promise<LevelLayout> => {
  const { children = [], edges = [] } = await new ELK().layout({
    id: "level",
    layoutOptions: optionsOf(level, direction),
    children: level.states.map((state) => ({
      ...{ id: state.id, ...boxSize(chart, state) },
      layoutOptions: constraintOf(state),
    })),
    edges: level.bundles.map((bundle) => edgeOf(level, bundle)),
  });
  const boxes = new Map(
    children.map(({ id, x = 0, y = 0, width = 0, height = 0 }): [string, Box] => [id, [round(x), round(y), width, height]]),
  );
  const lines = linesOf(level, edges, [...boxes.values()]);
  const start = startOf(boxes.get(initialOf(chart, level.parent)) ?? [0, 0, 0, 0], direction);
  return framed(level, { boxes: Object.fromEntries(boxes), lines, start });
};

/** The layouts of every level of a chart, by level and direction. */
export const levelLayouts = async (chart: Chart): Promise<Record<string, Record<Direction, LevelLayout>>> => {
  const layouts: Record<string, Record<Direction, LevelLayout>> = {};
  for (const parent of levelsOf(chart)) {
    const level = levelOf(chart, parent);
    const [right, down] = await Promise.all(DIRECTIONS.map((direction) => layOut(chart, level, direction)));
    layouts[parent] = { RIGHT: right as LevelLayout, DOWN: down as LevelLayout };
  }
  return layouts;
};
