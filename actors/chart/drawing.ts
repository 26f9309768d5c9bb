// Chart renderer: draws a chart and its marks as a tree of SVG elements.
//
// The marks are the active state, the transitions taken, counts for each state, and test coverage.
import {
  type Arrow,
  arrowsOf,
  type Chart,
  type ChartState,
  type LabelLine,
  linesOf,
  selfTransitionsOf,
  withAncestors,
} from "./chart.ts";
import { type Box, COLUMNS, type Layout, LINE_HEIGHT, NAME_HEIGHT, type Way } from "./layout.ts";

/** The marks of a chart, addressed by the ids of states and transitions. */
export type Marks = {
  /** Active states. The innermost state is sufficient; its ancestors are marked as well. */
  active?: readonly string[];
  /** The transition taken last. */
  edge?: string | null;
  /** Transitions taken earlier. */
  taken?: readonly string[];
  /** The number of generations in each state. */
  counts?: Readonly<Record<string, number>>;
  /** Transitions that the tests take are marked as covered; all others are marked as uncovered. */
  coverage?: readonly string[];
};
/** An SVG element. `class` states its meaning; style sheets define its appearance. */
export type Drawn = { tag: string; attributes: Record<string, string | number>; children: (Drawn | string)[] };

const element = (tag: string, attributes: Drawn["attributes"], children: Drawn["children"] = []): Drawn => ({
  tag,
  attributes,
  children,
});
const classes = (...names: (string | false | null | undefined)[]) => names.filter(Boolean).join(" ");

type Seen = {
  active: Set<string>;
  edge: string | null;
  taken: Set<string>;
  counts: Readonly<Record<string, number>>;
  covered: Set<string> | null;
};

const seenIn = ({ active = [], edge = null, taken = [], counts = {}, coverage }: Marks): Seen => ({
  active: new Set(active.flatMap(withAncestors)),
  edge,
  taken: new Set(taken),
  counts,
  covered: coverage ? new Set(coverage) : null,
});

const isCovered = (ids: readonly string[], covered: ReadonlySet<string>) => ids.every((id) => covered.has(id));
/** Coverage is shown by a sign as well as by colour. */
const signOf = (ids: readonly string[], { covered }: Seen): string => {
  if (covered === null) return "";
  return isCovered(ids, covered) ? "✓ " : "✗ ";
};

const lookOf = (ids: readonly string[], { edge, taken, covered }: Seen): string =>
  classes(
    ids.some((id) => taken.has(id)) && "is-taken",
    edge !== null && ids.includes(edge) && "is-last",
    covered !== null && !isCovered(ids, covered) && "is-uncovered",
  );

const lineText = (line: LabelLine, x: number, y: number, anchor: "start" | "middle", seen: Seen): Drawn =>
  element("text", { class: classes("chart-line", lookOf(line.ids, seen)), x, y, "text-anchor": anchor }, [
    signOf(line.ids, seen) + line.text,
  ]);

const pathOf = (points: Way["points"]): string => points.map(([x, y], at) => `${at === 0 ? "M" : "L"}${x} ${y}`).join("");

/** Draws the arrow head as a path. An SVG `marker` is referenced by id, and a page can show two charts. */
const headOf = (points: Way["points"]): Drawn => {
  const [x, y] = points.at(-1) ?? [0, 0];
  const [fromX, fromY] = points.at(-2) ?? [x, y];
  const length = Math.hypot(x - fromX, y - fromY) || 1;
  const [dx, dy] = [(x - fromX) / length, (y - fromY) / length];
  const corner = (side: 1 | -1) => `${(x - 7 * dx - side * 4 * dy).toFixed(1)} ${(y - 7 * dy + side * 4 * dx).toFixed(1)}`;
  return element("path", { class: "chart-head", d: `M${x} ${y}L${corner(1)}L${corner(-1)}Z` });
};

const spoken = (state: string) => (state === "" ? "the machine" : state);
const describeTransition = ({ event, guard }: { event: string; guard: string }) => (guard ? `${event} [${guard}]` : event);

const drawWay = (way: Way): Drawn[] => [element("path", { class: "chart-way", d: pathOf(way.points) }), headOf(way.points)];

const drawArrow = (arrow: Arrow, way: Way, seen: Seen): Drawn => {
  const ids = arrow.transitions.map(({ id }) => id);
  const [x, y, width] = way.label ?? [0, 0, 0, 0];
  const label = linesOf(arrow.transitions).map((line, at) =>
    lineText(line, x + Math.round(width / 2), y + 12 + at * LINE_HEIGHT, "middle", seen),
  );
  const title = `${spoken(arrow.source)} → ${arrow.target}: ${arrow.transitions.map(describeTransition).join("; ")}`;
  return element("g", { class: classes("chart-arrow", lookOf(ids, seen)), "data-arrow": arrow.id }, [
    element("title", {}, [title]),
    ...drawWay(way),
    ...label,
  ]);
};

const drawCount = (count: number, [x, y, width]: Box): Drawn[] => {
  if (count === 0) return [];
  const text = String(count);
  const wide = 12 + 7 * text.length;
  return [
    element("rect", { class: "chart-count-box", x: x + width - wide - 5, y: y + 5, width: wide, height: 17, rx: 8 }),
    element("text", { class: "chart-count", x: x + width - 5 - wide / 2, y: y + 17, "text-anchor": "middle" }, [text]),
  ];
};

const drawState = (chart: Chart, state: ChartState, box: Box, seen: Seen): Drawn => {
  const [x, y, width, height] = box;
  const selfTransitions = selfTransitionsOf(chart, state.id);
  const lines = linesOf(selfTransitions);
  const columns = state.kind === "compound" ? Math.min(COLUMNS, lines.length) : 1;
  const rows = Math.ceil(lines.length / Math.max(1, columns));
  const columnWidth = (width - 24) / Math.max(1, columns);
  const inside = lines.map((line, at) =>
    lineText(
      line,
      x + 12 + Math.round(Math.floor(at / rows) * columnWidth),
      y + NAME_HEIGHT + 10 + (at % rows) * LINE_HEIGHT,
      "start",
      seen,
    ),
  );
  const isActive = seen.active.has(state.id);
  const frame = (inset: number) =>
    element("rect", {
      class: inset === 0 ? "chart-box" : "chart-box-inner",
      ...{ x: x + inset, y: y + inset, width: width - 2 * inset, height: height - 2 * inset },
      rx: state.kind === "compound" ? 10 : 7 - inset,
    });
  return element("g", { class: classes("chart-state", `is-${state.kind}`, isActive && "is-active"), "data-state": state.id }, [
    element("title", {}, [`${state.id}${isActive ? " (active)" : ""}: ${state.description}`]),
    frame(0),
    ...(state.kind === "final" ? [frame(3)] : []),
    element("text", { class: "chart-name", x: x + 12, y: y + 18 }, [state.key]),
    ...inside,
    ...drawCount(seen.counts[state.id] ?? 0, box),
  ]);
};

/** Returns the whole chart as an `svg` element without a style. */
export const drawingOf = (chart: Chart, layout: Layout, marks: Marks = {}): Drawn => {
  const seen = seenIn(marks);
  const placeOf = (state: string): Box => layout.states[state] ?? [0, 0, 0, 0];
  const drawn = (kind: (state: ChartState) => boolean) =>
    chart.states.filter(kind).map((state) => drawState(chart, state, placeOf(state.id), seen));
  const arrows = arrowsOf(chart).flatMap((arrow) => {
    const way = layout.arrows[arrow.id];
    return way ? [{ arrow, drawn: drawArrow(arrow, way, seen) }] : [];
  });
  // Arrows that were taken are drawn above the others, and the arrow taken last is drawn on top.
  const rank = ({ drawn: { attributes } }: (typeof arrows)[number]) =>
    ["is-taken", "is-last"].filter((name) => String(attributes.class).includes(name)).length;
  return element(
    "svg",
    { class: "chart", viewBox: `0 0 ${layout.width} ${layout.height}`, width: layout.width, height: layout.height },
    [
      ...drawn(({ kind }) => kind === "compound"),
      ...Object.values(layout.starts).map(({ dot: [cx, cy], way }) =>
        element("g", { class: "chart-start" }, [element("circle", { class: "chart-dot", cx, cy, r: 5 }), ...drawWay(way)]),
      ),
      ...arrows.sort((a, b) => rank(a) - rank(b)).map((each) => each.drawn),
      ...drawn(({ kind }) => kind !== "compound"),
    ],
  );
};
