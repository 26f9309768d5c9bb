// Layout of the levels of a chart: sizes of boxes and labels, and the precomputed positions of level-layouts.json.
import type { Chart, ChartState } from "./chart.ts";
import type { Box } from "./layout.ts";
import kept from "./level-layouts.json" with { type: "json" };
import { type Bundle, childrenOf, type Level } from "./levels.ts";

export type Point = [x: number, y: number];
/** A cubic Bézier curve: its start, then two control points and an end for each piece. `label` is the centre of its label. */
export type Line = { points: Point[]; label: Point };
/** Positions in pixels at scale 1: boxes by state, lines by bundle, and the initial dot. */
export type LevelLayout = {
  width: number;
  height: number;
  boxes: Record<string, Box>;
  lines: Record<string, Line>;
  start: { dot: Point; end: Point };
};
/** `RIGHT` is for wide frames, `DOWN` for narrow ones. */
export const DIRECTIONS = ["RIGHT", "DOWN"] as const;
export type Direction = (typeof DIRECTIONS)[number];

/** Font size of all text at scale 1; the style sheet has the same value. Names are bold. */
export const FONT_SIZE = 16;
const NAME_CHAR = 9.2;
const TEXT_CHAR = 8.6;
const PADDING = 10;
const NAME_ROW = 34;
const CHIP_HEIGHT = 26;
const CHIP_GAP = 6;
export const LABEL_HEIGHT = 22;
/** In a level with more bundles, and for longer names, the label is a number. */
const FEW_BUNDLES = 6;
const LONGEST_LABEL = 12;
/** A box with more children shows them in two columns. */
const ONE_COLUMN = 3;

/** The label of a bundle: its number of transitions. In a small level, the event of a single transition. */
export const labelOf = ({ bundles }: Level, { forth, back }: Bundle): string => {
  const [only, ...more] = [...forth, ...back];
  const isNamed = only && more.length === 0 && bundles.length <= FEW_BUNDLES && only.event.length <= LONGEST_LABEL;
  return isNamed ? only.event : String(forth.length + back.length);
};
export const labelWidth = (label: string): number => Math.ceil(label.length * TEXT_CHAR) + 14;

/** The children of a compound state as boxes inside its box, relative to it. */
export const chipsOf = (chart: Chart, { id }: ChartState): { state: ChartState; box: Box }[] => {
  const children = childrenOf(chart, id);
  const columns = children.length > ONE_COLUMN ? 2 : 1;
  const width = Math.ceil(Math.max(0, ...children.map(({ key }) => key.length)) * TEXT_CHAR) + 2 * PADDING;
  return children.map((state, at) => ({
    state,
    box: [
      PADDING + (at % columns) * (width + CHIP_GAP),
      NAME_ROW + Math.floor(at / columns) * (CHIP_HEIGHT + CHIP_GAP),
      width,
      CHIP_HEIGHT,
    ],
  }));
};

/** Characters for names that the pages replace by words of the reader's language. */
const TRANSLATED: Readonly<Record<string, number>> = { "route-health": 10 };

/** The size that a box needs for its name and its children. */
export const boxSize = (chart: Chart, state: ChartState): { width: number; height: number } => {
  const chips = chipsOf(chart, state).map(({ box }) => box);
  const name = Math.ceil((TRANSLATED[chart.machine] ?? state.key.length) * NAME_CHAR) + 2 * PADDING;
  return {
    width: Math.max(name, ...chips.map(([x, , width]) => x + width + PADDING)),
    height: Math.max(NAME_ROW + 4, ...chips.map(([, y, , height]) => y + height + PADDING)),
  };
};

const layouts = kept as unknown as Record<string, Record<string, Record<Direction, LevelLayout>>>;

/** Returns the positions of a level; null if none were computed for it, e.g. for a foreign machine with the name of a built-in one. */
export const levelLayoutOf = (chart: Chart, level: Level, direction: Direction): LevelLayout | null => {
  const layout = layouts[chart.machine]?.[level.parent]?.[direction];
  if (!layout) return null;
  const isPlaced = level.states.every(({ id }) => id in layout.boxes) && level.bundles.every(({ id }) => id in layout.lines);
  return isPlaced ? layout : null;
};

/** The layout of a level that is larger in a frame of this size. */
export const fittingLayout = (chart: Chart, level: Level, width: number, height: number): LevelLayout | null => {
  const scaleOf = (layout: LevelLayout) => Math.min(width / layout.width, height / layout.height);
  const layouts = DIRECTIONS.flatMap((direction) => levelLayoutOf(chart, level, direction) ?? []);
  return layouts.sort((a, b) => scaleOf(b) - scaleOf(a))[0] ?? null;
};
