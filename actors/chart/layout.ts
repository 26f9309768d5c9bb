// Chart layout: sizes of boxes and labels, and the precomputed positions of layouts.json.
import { type Arrow, arrowsOf, type Chart, linesOf, selfTransitionsOf } from "./chart.ts";
import kept from "./layouts.json" with { type: "json" };

/** Left, top, width, height. */
export type Box = [x: number, y: number, width: number, height: number];
/** A polyline and the box of its label; the label is null for an arrow that leaves an initial dot. */
export type Way = { points: [x: number, y: number][]; label: Box | null };
/** Positions in units of 1/96 inch: states by id, arrows by id, initial dots by the id of the enclosing state. */
export type Layout = {
  width: number;
  height: number;
  states: Record<string, Box>;
  arrows: Record<string, Way>;
  starts: Record<string, { dot: [x: number, y: number]; way: Way }>;
};

/** Character width of the two text sizes, both in a monospaced font. */
export const NAME_CHAR = 7.8;
export const LINE_CHAR = 6.6;
export const LINE_HEIGHT = 14;
export const NAME_HEIGHT = 26;
const MARGIN = 12;
/** Maximum number of columns for the lines inside a compound state. */
export const COLUMNS = 4;
/** Characters before a line for its coverage sign. */
const SIGN = 2;

/** Returns the size that a state needs for its name and its internal transitions. */
export const sizeOf = (chart: Chart, state: string): { width: number; height: number } => {
  const { key, kind } = chart.states.find(({ id }) => id === state) ?? { key: "", kind: "atomic" };
  const lines = linesOf(selfTransitionsOf(chart, state));
  const longest = Math.max(0, ...lines.map(({ text }) => text.length));
  const columns = kind === "compound" ? Math.min(COLUMNS, lines.length) : 1;
  const rows = Math.ceil(lines.length / Math.max(1, columns));
  // The count is drawn beside the name.
  const width =
    Math.max(key.length * NAME_CHAR + 34, (longest + SIGN) * LINE_CHAR * columns + MARGIN * (columns - 1)) + 2 * MARGIN;
  return { width: Math.ceil(width), height: NAME_HEIGHT + rows * LINE_HEIGHT + (rows > 0 ? 8 : 4) };
};
/** Returns the size that the label of an arrow needs. */
export const labelSize = (arrow: Arrow): { width: number; height: number } => {
  const lines = linesOf(arrow.transitions);
  return {
    width: Math.ceil(Math.max(...lines.map(({ text }) => text.length + SIGN)) * LINE_CHAR) + 4,
    height: lines.length * LINE_HEIGHT + 4,
  };
};

const layouts = kept as unknown as Record<string, Layout>;

/** Returns every element of a chart that has a position. */
export const placedOf = (chart: Chart): { states: string[]; arrows: string[]; starts: string[] } => ({
  states: chart.states.map(({ id }) => id),
  arrows: arrowsOf(chart).map(({ id }) => id),
  starts: ["", ...chart.states.filter(({ kind }) => kind === "compound").map(({ id }) => id)],
});

/**
 * Returns the positions of a chart. Returns null if none were computed for it, e.g. for a foreign machine with the name of a
 * built-in one.
 */
export const layoutOf = (chart: Chart): Layout | null => {
  const layout = layouts[chart.machine];
  if (!layout) return null;
  const { states, arrows, starts } = placedOf(chart);
  const isPlaced =
    states.every((id) => id in layout.states) &&
    arrows.every((id) => id in layout.arrows) &&
    starts.every((id) => id in layout.starts);
  return isPlaced ? layout : null;
};
