// Statechart view: drawing with marks, scrolling and zoom, and a list as alternative.
import { type ComponentChildren, h, type RefObject, type VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Chart as ChartOf, withAncestors } from "../../actors/chart/chart.ts";
import { type Drawn, drawingOf, type Marks } from "../../actors/chart/drawing.ts";
import { type Layout, layoutOf } from "../../actors/chart/layout.ts";
import { ChartCounts } from "./chart-counts.tsx";
import { panBy, scrollIntoView } from "./pan-zoom.ts";
import { Scrolling } from "./scrolling.tsx";
import { StateList } from "./state-list.tsx";

export type ChartProps = Marks & {
  chart: ChartOf;
  /** Key of the current step; a change scrolls the active state into view. Null: no scrolling. */
  follow?: number | string | null;
  /** Called when a state is selected in the chart, in its list, or on the counts. */
  onState?: (state: string) => void;
  /** The selected state. */
  chosen?: string | null;
};

const LEAST = 0.15;
const MOST = 2;
const ZOOM = 1.25;
/** Below this scale the labels of transitions are illegible; a larger chart starts scrolled. */
const LEGIBLE = 0.7;

const toNode = ({ tag, attributes, children }: Drawn): VNode =>
  h(tag, attributes, ...children.map((child): ComponentChildren => (typeof child === "string" ? child : toNode(child))));

const clamp = (scale: number) => Math.min(MOST, Math.max(LEAST, scale));

/** Description for screen readers. */
const spokenOf = (chart: ChartOf, active: readonly string[]): string =>
  `Statechart of ${chart.machine}${active.length > 0 ? `, now in ${active.join(" and ")}` : ""}. The list below has the same content.`;

type DrawingProps = ChartProps & { layout: Layout };

/** Inner width of an element, updated on changes; null until it is measured. */
const useWidth = (element: RefObject<HTMLElement | null>): number | null => {
  const [width, setWidth] = useState<number | null>(null);
  useLayoutEffect(() => {
    const seen = element.current;
    if (!seen) return;
    const measure = () => setWidth(seen.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(seen);
    return () => observer.disconnect();
  }, [element]);
  return width;
};

const Drawing = ({ layout, chart, follow = null, onState, chosen = null, counts = {}, ...marks }: DrawingProps): VNode => {
  const frame = useRef<HTMLElement>(null);
  const [zoom, setZoom] = useState<number | null>(null);
  const width = useWidth(frame);
  const { active = [] } = marks;
  const innermost = active.at(-1) ?? null;
  const whole = width === null ? null : clamp(Math.min(1, width / layout.width));
  // Without a state to follow, the complete chart is more useful than a legible part.
  const fitting = whole === null || innermost === null ? whole : Math.max(LEGIBLE, whole);
  const scale = zoom ?? fitting;
  const shown = scale ?? 1;
  const before = useRef<number | null>(null);
  useEffect(() => {
    const box = innermost === null ? undefined : layout.states[innermost];
    // Scrolling is animated only between steps, not after the chart was redrawn.
    const moves = before.current === scale ? "smooth" : "instant";
    before.current = scale;
    if (follow === null || !frame.current || !box || scale === null) return;
    const [x, y, wide, high] = box;
    const spot = { x: x * scale, y: y * scale, width: wide * scale, height: high * scale };
    scrollIntoView(frame.current, spot, layout.height * scale, moves);
  }, [follow, innermost, layout, scale, width]);

  useEffect(() => (frame.current ? panBy(frame.current) : undefined), []);

  const drawn = drawingOf(chart, layout, onState ? marks : { ...marks, counts });
  const size = { width: Math.round(layout.width * shown), height: Math.round(layout.height * shown) };
  const choose = (event: MouseEvent) => {
    const state = (event.target as Element).closest("[data-state]")?.getAttribute("data-state");
    if (state && onState) onState(state);
  };
  return (
    <>
      <div class="chart-tools">
        <button type="button" onClick={() => setZoom(clamp(shown / ZOOM))} disabled={shown <= LEAST} aria-label="Smaller">
          −
        </button>
        <button type="button" onClick={() => setZoom(whole)}>
          Fit
        </button>
        <button type="button" onClick={() => setZoom(clamp(shown * ZOOM))} disabled={shown >= MOST} aria-label="Larger">
          +
        </button>
      </div>
      <Scrolling class="chart-frame" frame={frame} label={`Drawing of ${chart.machine}`}>
        <div class="chart-sheet">
          {/* biome-ignore lint/a11y/useKeyWithClickEvents: the list below has a button for each state */}
          <svg {...drawn.attributes} {...size} role="img" aria-label={spokenOf(chart, active)} onClick={choose}>
            {drawn.children.map((child) => (typeof child === "string" ? child : toNode(child)))}
          </svg>
          {onState ? <ChartCounts key={chart.machine} {...{ counts, layout, chosen }} scale={shown} choose={onState} /> : null}
        </div>
      </Scrolling>
    </>
  );
};

/** A statechart with its marks. Without layout data it is shown as a list only. */
export const Chart = (props: ChartProps): VNode => {
  const { chart, active = [] } = props;
  const layout = useMemo(() => layoutOf(chart), [chart]);
  const isActive = new Set(active.flatMap(withAncestors));
  const list = <StateList {...props} isActive={(state) => isActive.has(state)} />;
  return (
    <div class="chart-card">
      {layout ? (
        <>
          <Drawing {...props} layout={layout} />
          <details class="chart-list">
            <summary>States and transitions as a list</summary>
            {list}
          </details>
        </>
      ) : (
        list
      )}
    </div>
  );
};
