// Statechart view: one level at a time with marks and zoom, and a list of all states as alternative.
import { ChevronRight, Maximize, Minus, Plus } from "lucide";
import type { RefObject, VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Chart as ChartOf, withAncestors } from "../../actors/chart/chart.ts";
import type { Marks } from "../../actors/chart/drawing.ts";
import { FONT_SIZE, fittingLayout, type LevelLayout } from "../../actors/chart/level-layout.ts";
import { isShownIn, isWithin, type Level, levelOf, levelOfPath, type Passage } from "../../actors/chart/levels.ts";
import { Icon } from "../components/icon.tsx";
import { words } from "../words/inspector-words.ts";
import { ChartCounts } from "./chart-counts.tsx";
import { boxIn, LevelDrawing, lookOf, type Selection } from "./level-drawing.tsx";
import { panBy, scrollIntoView } from "./pan-zoom.ts";
import { Scrolling } from "./scrolling.tsx";
import { SelectionPanel } from "./selection-panel.tsx";
import { StateList } from "./state-list.tsx";

export type ChartProps = Marks & {
  chart: ChartOf;
  /** Key of the current step; a change shows the active state. Null: nothing is followed. */
  follow?: number | string | null;
  /** Called when a state is selected in the chart, in its list, or on the counts. */
  onState?: (state: string) => void;
  /** The state by which the reader filters. */
  chosen?: string | null;
};

const LEAST = 0.3;
const MOST = 2.5;
const ZOOM = 1.25;
/** A small level is not enlarged further to fill its frame. */
const MOST_TO_FIT = 1.15;
const LEGIBLE_FONT = 12;

const clamp = (scale: number) => Math.min(MOST, Math.max(LEAST, scale));

type Size = { width: number; height: number };
/** Size of an element without its border, and independent of its scrollbars; null until it is measured. */
const useSize = (element: RefObject<HTMLElement | null>): Size | null => {
  const [size, setSize] = useState<Size | null>(null);
  useLayoutEffect(() => {
    const seen = element.current;
    if (!seen) return;
    const measure = () => setSize({ width: seen.offsetWidth - 2, height: seen.offsetHeight - 2 });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(seen);
    return () => observer.disconnect();
  }, [element]);
  return size;
};

/** `legible`: the complete level, or larger if its text were too small. `fit`: the complete level. A number is a scale. */
type Zoom = "legible" | "fit" | number;
const scaleOf = (zoom: Zoom, layout: LevelLayout, size: Size): number => {
  if (typeof zoom === "number") return zoom;
  const whole = Math.min(MOST_TO_FIT, size.width / layout.width, size.height / layout.height);
  return zoom === "fit" ? whole : Math.max(whole, LEGIBLE_FONT / FONT_SIZE);
};

const Tools = ({ scale, setZoom }: { scale: number; setZoom: (zoom: Zoom) => void }): VNode => {
  const { chart: text } = words.inspector;
  return (
    <div class="chart-tools">
      <button type="button" class="button is-small" onClick={() => setZoom(clamp(scale / ZOOM))} aria-label={text.smaller}>
        <Icon of={Minus} size={16} />
      </button>
      <button type="button" class="button is-small" onClick={() => setZoom("fit")}>
        <Icon of={Maximize} size={16} />
        {text.fit}
      </button>
      <button type="button" class="button is-small" onClick={() => setZoom(clamp(scale * ZOOM))} aria-label={text.larger}>
        <Icon of={Plus} size={16} />
      </button>
    </div>
  );
};

/** The compound states around a level; each opens its own level. */
const LevelPath = ({ level, open }: { level: string; open: (level: string) => void }): VNode => (
  <nav class="chart-levels" aria-label={words.inspector.chart.levels}>
    {["", ...withAncestors(level)].map((each) => (
      <span key={each}>
        {each !== "" && <Icon of={ChevronRight} size={14} />}
        <button
          type="button"
          class="button is-quiet is-small"
          aria-current={each === level ? "true" : undefined}
          onClick={() => open(each)}
        >
          {each === "" ? words.inspector.chart.all : each.split(".").at(-1)}
        </button>
      </span>
    ))}
  </nav>
);

type PassagesProps = { kind: "entry" | "exit"; passages: readonly Passage[]; marks: Marks; select: (of: Selection) => void };
/** States outside of the level from which, or to which, transitions lead. */
const Passages = ({ kind, passages, marks, select }: PassagesProps): VNode | null =>
  passages.length === 0 ? null : (
    <div class="chart-passages">
      <span>{kind === "entry" ? words.inspector.chart.from : words.inspector.chart.to}</span>
      {passages.map(({ outside, transitions }) => {
        const isActive = marks.active?.some((state) => isWithin(state, outside)) ?? false;
        return (
          <button
            key={outside}
            type="button"
            class={`button is-small chart-state ${isActive && kind === "exit" ? "is-active" : ""} ${lookOf(transitions, marks)}`}
            data-state={outside}
            aria-current={isActive ? "step" : undefined}
            onClick={() => select({ kind, id: outside })}
          >
            {outside} <span class="chart-mark">{transitions.length}</span>
          </button>
        );
      })}
    </div>
  );

/**
 * The level that is shown. It is the top until a path leads into a compound state; then it is the inside of that state. A level
 * that the reader opened stays open while it shows the active state.
 */
const useLevel = ({ chart, active = [], taken = [], follow = null }: ChartProps) => {
  const path = [...active, ...chart.transitions.flatMap(({ id, source }) => (taken.includes(id) ? [source] : []))];
  const home = follow === null ? "" : levelOfPath(chart, path);
  const [opened, open] = useState<string | null>(null);
  const isShown = opened === null || follow === null || active.every((state) => isShownIn(levelOf(chart, opened), state));
  useEffect(() => {
    if (!isShown) open(null);
  }, [isShown]);
  const name = opened !== null && isShown ? opened : home;
  const level = useMemo(() => levelOf(chart, name), [chart, name]);
  return { level, open };
};

type DrawingProps = ChartProps & { level: Level; selected: Selection | null; select: (of: Selection) => void };

const Drawing = ({ level, selected, select, ...props }: DrawingProps): VNode => {
  const { chart, follow = null, onState, chosen = null, counts = {} } = props;
  const { active = [] } = props;
  const frame = useRef<HTMLElement>(null);
  const size = useSize(frame);
  const [zoom, setZoom] = useState<Zoom>("legible");
  useLayoutEffect(() => setZoom("legible"), [level]);
  const layout = size && fittingLayout(chart, level, size.width, size.height);
  const scale = layout && size ? scaleOf(zoom, layout, size) : 1;
  const innermost = active.at(-1) ?? null;
  const before = useRef<number | null>(null);
  useEffect(() => {
    const box = layout && innermost !== null ? boxIn(chart, level, layout, innermost) : null;
    // Scrolling is animated only between steps, not after the chart was redrawn.
    const moves = before.current === scale ? "smooth" : "instant";
    before.current = scale;
    if (follow === null || !frame.current || !box || !layout) return;
    const [x, y, wide, high] = box;
    const spot = { x: x * scale, y: y * scale, width: wide * scale, height: high * scale };
    scrollIntoView(frame.current, spot, layout.height * scale, moves);
  }, [follow, innermost, level, layout, scale]);
  useEffect(() => (frame.current ? panBy(frame.current) : undefined), []);
  return (
    <>
      <Tools scale={scale} setZoom={setZoom} />
      <Scrolling class="chart-frame" frame={frame} label={words.inspector.chart.drawing(chart.machine)}>
        {layout && (
          <div class="chart-sheet">
            <LevelDrawing
              {...{ chart, level, layout, selected, select }}
              marks={props}
              size={{ width: Math.floor(layout.width * scale), height: Math.floor(layout.height * scale) }}
            />
            {onState && <ChartCounts key={level.parent} {...{ chart, level, layout, scale, counts, chosen }} choose={onState} />}
          </div>
        )}
      </Scrolling>
    </>
  );
};

/** A statechart with its marks. A machine without a layout is shown as a list only. */
export const Chart = (props: ChartProps): VNode => {
  const { chart, active = [], onState } = props;
  const { level, open } = useLevel(props);
  const [selected, setSelected] = useState<Selection | null>(null);
  const isActive = new Set(active.flatMap(withAncestors));
  const list = <StateList {...props} isActive={(state) => isActive.has(state)} />;
  const show = (name: string) => {
    open(name);
    setSelected(null);
  };
  const select = (selection: Selection) => {
    const state = selection.kind === "state" ? chart.states.find(({ id }) => id === selection.id) : undefined;
    if (state?.kind === "compound") return show(state.id);
    if (state && state.parent !== level.parent) open(state.parent);
    setSelected(selection);
    if (state) onState?.(state.id);
  };
  if (!fittingLayout(chart, level, 1, 1)) return <div class="chart-card">{list}</div>;
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") setSelected(null);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes the panel, which has a button for it
    <div class="chart-card" onKeyDown={onKeyDown}>
      <LevelPath level={level.parent} open={show} />
      <Drawing {...{ ...props, level, selected, select }} />
      {level.entries.length + level.exits.length > 0 && (
        <div class="chart-outside">
          <Passages kind="entry" passages={level.entries} marks={props} select={select} />
          <Passages kind="exit" passages={level.exits} marks={props} select={select} />
        </div>
      )}
      {selected && <SelectionPanel {...{ chart, level, selected }} marks={props} close={() => setSelected(null)} />}
      <details class="chart-list">
        <summary>{words.inspector.chart.list}</summary>
        {list}
      </details>
    </div>
  );
};
