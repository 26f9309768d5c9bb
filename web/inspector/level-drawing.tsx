// Drawing of one level of a statechart: boxes of its states, one line for each pair, and marks.
import type { VNode } from "preact";
import type { Chart, ChartState, ChartTransition } from "../../actors/chart/chart.ts";
import type { Marks } from "../../actors/chart/drawing.ts";
import type { Box } from "../../actors/chart/layout.ts";
import { chipsOf, LABEL_HEIGHT, type LevelLayout, labelOf, labelWidth, type Point } from "../../actors/chart/level-layout.ts";
import { type Bundle, childrenOf, isWithin, type Level } from "../../actors/chart/levels.ts";
import { routeStateName } from "../components/route-state.ts";
import { words } from "../words/inspector-words.ts";

/** What the reader selected: a state, a line, or the way from or to a state outside of the level. */
export type Selection = { kind: "state" | "bundle" | "entry" | "exit"; id: string };
type Props = {
  chart: Chart;
  level: Level;
  layout: LevelLayout;
  marks: Marks;
  selected: Selection | null;
  select: (selection: Selection) => void;
  size: { width: number; height: number };
};

const classes = (...names: (string | false | null | undefined)[]): string => names.filter(Boolean).join(" ");
const pair = (point: Point | undefined): string => (point ?? [0, 0]).join(" ");

/** `M0 0C1 1 2 2 3 3…` */
const curve = (points: readonly Point[]): string => {
  const pieces = Array.from({ length: (points.length - 1) / 3 }, (_, at) => points.slice(at * 3 + 1, at * 3 + 4));
  return `M${pair(points[0])}${pieces.map((piece) => `C${piece.map(pair).join(" ")}`).join("")}`;
};

const HEAD = 9;
/** Arrow head at the end of a curve, pointing from the last point that differs from the end. */
const head = (points: readonly Point[]): string => {
  const end = points.at(-1) ?? [0, 0];
  const from = points.findLast(([x, y]) => x !== end[0] || y !== end[1]) ?? end;
  const length = Math.hypot(end[0] - from[0], end[1] - from[1]) || 1;
  const [dx, dy] = [(end[0] - from[0]) / length, (end[1] - from[1]) / length];
  const corner = (side: 1 | -1) =>
    `${(end[0] - HEAD * dx - side * 4.5 * dy).toFixed(1)} ${(end[1] - HEAD * dy + side * 4.5 * dx).toFixed(1)}`;
  return `M${pair(end)}L${corner(1)}L${corner(-1)}Z`;
};

/** Marks of a list of transitions: taken, taken last, not covered by a test. */
export const lookOf = (transitions: readonly ChartTransition[], { taken = [], edge = null, coverage }: Marks): string =>
  classes(
    transitions.some(({ id }) => taken.includes(id)) && "is-taken",
    transitions.some(({ id }) => id === edge) && "is-last",
    coverage !== undefined && transitions.some(({ id }) => !coverage.includes(id)) && "is-uncovered",
  );

type Covered = "tested" | "notTested";
const coveredOf = (look: string, { coverage }: Marks): Covered | null => {
  if (coverage === undefined) return null;
  return look.includes("is-uncovered") ? "notTested" : "tested";
};

/** Width of a sign with its distance to the label. */
const SIGN_WIDTH = 17;
/** A check mark or a cross, around its centre. */
const SIGNS: Readonly<Record<Covered, string>> = { tested: "M-5 0l3.5 4l6.5-8", notTested: "M-4-4l8 8M4-4l-8 8" };

/** The label of a line, with a sign before it if the chart shows the coverage of tests. */
const Label = ({ text, at: [x, y], covered }: { text: string; at: Point; covered: Covered | null }): VNode => {
  const sign = covered === null ? 0 : SIGN_WIDTH;
  const width = labelWidth(text) + sign;
  return (
    <>
      <rect class="chart-pill" x={x - width / 2} y={y - LABEL_HEIGHT / 2} width={width} height={LABEL_HEIGHT} rx="11" />
      {covered && <path class="chart-sign" d={SIGNS[covered]} transform={`translate(${x - width / 2 + 13} ${y})`} />}
      <text class="chart-line" x={x + sign / 2} y={y + 5.5} text-anchor="middle">
        {text}
      </text>
    </>
  );
};

const BundleLine = ({ bundle, of }: { bundle: Bundle; of: Props }): VNode => {
  const { level, layout, marks, selected } = of;
  const { points, label } = layout.lines[bundle.id] ?? { points: [], label: [0, 0] };
  const all = [...bundle.forth, ...bundle.back];
  const look = lookOf(all, marks);
  const covered = coveredOf(look, marks);
  const { chart: text } = words.inspector;
  const about = [text.transitions(all.length), ...(covered ? [text[covered]] : [])].join(", ");
  const isSelected = selected?.kind === "bundle" && selected.id === bundle.id;
  return (
    <g class={classes("chart-arrow", look, isSelected && "is-selected")} data-bundle={bundle.id}>
      <title>{`${bundle.from} ${bundle.back.length > 0 ? "↔" : "→"} ${bundle.to}: ${about}`}</title>
      <path class="chart-reach" d={curve(points)} />
      <path class="chart-way" d={curve(points)} />
      <path class={classes("chart-head", lookOf(bundle.forth, marks))} d={head(points)} />
      {bundle.back.length > 0 && (
        <path class={classes("chart-head", lookOf(bundle.back, marks))} d={head([...points].reverse())} />
      )}
      <Label text={labelOf(level, bundle)} at={label} covered={covered} />
    </g>
  );
};

const Chip = ({ state, box, isActive }: { state: ChartState; box: Box; isActive: boolean }): VNode => {
  const [x, y, width, height] = box;
  return (
    <g class={classes("chart-state is-inner", isActive && "is-active")} data-state={state.id}>
      <title>{`${state.id}: ${state.description}`}</title>
      <rect class="chart-box" {...{ x, y, width, height }} rx="6" />
      <text class="chart-name" x={x + 10} y={y + 18}>
        {state.key}
      </text>
    </g>
  );
};

const shownKey = ({ machine }: Chart, { key }: ChartState): string => (machine === "route-health" ? routeStateName(key) : key);

const nameOf = (chart: Chart, state: ChartState, isActive: boolean): string => {
  const { id, kind } = state;
  const { chart: text } = words.inspector;
  const inside = kind === "compound" ? `, ${text.inside(childrenOf(chart, id).length)}` : "";
  return `${shownKey(chart, state)}${inside}${isActive ? `, ${text.current}` : ""}`;
};

/** The transitions that stay inside a box, which have no line in the level. */
const insideOf = (chart: Chart, state: string): ChartTransition[] =>
  chart.transitions.filter(({ source, target }) => isWithin(source, state) && (target === null || isWithin(target, state)));

const StateBox = ({ state, of }: { state: ChartState; of: Props }): VNode => {
  const { chart, layout, marks, selected, select } = of;
  const { active = [] } = marks;
  const [x, y, width, height] = layout.boxes[state.id] ?? [0, 0, 0, 0];
  const isActive = active.some((each) => isWithin(each, state.id));
  const isSelected = selected?.kind === "state" && selected.id === state.id;
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    select({ kind: "state", id: state.id });
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: SVG has no button element
    <g
      class={classes(
        ...["chart-state", `is-${state.kind}`, lookOf(insideOf(chart, state.id), marks)],
        isActive && "is-active",
        isSelected && "is-selected",
      )}
      data-state={state.id}
      role="button"
      tabindex={0}
      aria-label={nameOf(chart, state, isActive)}
      onKeyDown={onKeyDown}
    >
      <title>{`${state.id}: ${state.description}`}</title>
      <rect class="chart-box" {...{ x, y, width, height }} rx="9" />
      {state.kind === "final" && (
        <rect class="chart-box-inner" x={x + 3} y={y + 3} width={width - 6} height={height - 6} rx="6" />
      )}
      <text class="chart-name" x={x + 10} y={y + 23}>
        {shownKey(chart, state)}
      </text>
    </g>
  );
};

/** The children inside a box. A press on one of them opens the box. */
const Chips = ({ state, of }: { state: ChartState; of: Props }): VNode => {
  const { chart, layout, marks } = of;
  const [x, y] = layout.boxes[state.id] ?? [0, 0];
  return (
    <>
      {chipsOf(chart, state).map(({ state: inner, box: [left, top, wide, high] }) => (
        <Chip
          key={inner.id}
          state={inner}
          box={[x + left, y + top, wide, high]}
          isActive={marks.active?.some((each) => isWithin(each, inner.id)) ?? false}
        />
      ))}
    </>
  );
};

/** The selection that a click stands for. A child inside a box stands for itself. */
const pressed = (target: EventTarget | null): Selection | null => {
  if (!(target instanceof Element)) return null;
  const state = target.closest("[data-state]")?.getAttribute("data-state");
  if (state) return { kind: "state", id: state };
  const bundle = target.closest("[data-bundle]")?.getAttribute("data-bundle");
  return bundle ? { kind: "bundle", id: bundle } : null;
};

export const LevelDrawing = (props: Props): VNode => {
  const { level, layout, marks, select, size } = props;
  const rank = ({ forth, back }: Bundle) => lookOf([...forth, ...back], marks).length;
  const bundles = [...level.bundles].sort((a, b) => rank(a) - rank(b));
  const { dot, end } = layout.start;
  const onClick = (event: MouseEvent) => {
    const selection = pressed(event.target);
    if (selection) select(selection);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: SVG has no fieldset element
    // biome-ignore lint/a11y/useKeyWithClickEvents: each box handles keys, and the panel of a state lists the transitions of its lines
    <svg
      {...{ ...size, viewBox: `0 0 ${layout.width} ${layout.height}` }}
      class={classes("chart", (marks.taken?.length ?? 0) > 0 && "has-path")}
      role="group"
      aria-label={words.inspector.chart.spoken(level.parent, marks.active ?? [])}
      onClick={onClick}
    >
      <g class="chart-start">
        <circle class="chart-dot" cx={dot[0]} cy={dot[1]} r="5" />
        <path class="chart-way" d={`M${pair(dot)}L${pair(end)}`} />
        <path class="chart-head" d={head([dot, end])} />
      </g>
      {bundles.map((bundle) => (
        <BundleLine key={bundle.id} bundle={bundle} of={props} />
      ))}
      {level.states.map((state) => (
        <g key={state.id}>
          <StateBox state={state} of={props} />
          <Chips state={state} of={props} />
        </g>
      ))}
    </svg>
  );
};

/** The box of a state in a level, at scale 1: its own, or that of its child inside; null if the level draws neither. */
export const boxIn = (chart: Chart, level: Level, layout: LevelLayout, state: string): Box | null => {
  const outer = level.states.find(({ id }) => isWithin(state, id));
  const box = outer && layout.boxes[outer.id];
  if (!outer || !box) return null;
  const chip = chipsOf(chart, outer).find(({ state: { id } }) => isWithin(state, id))?.box;
  return chip ? [box[0] + chip[0], box[1] + chip[1], chip[2], chip[3]] : box;
};
