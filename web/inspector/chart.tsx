// A statechart on a page: drawn from the machine itself, with what is to be seen on it; it scrolls, zooms, and can be read as a list.
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
  /** The step that is shown: with each other one the active state is brought into sight. Null: it is not followed. */
  follow?: number | string | null;
  /** A state was chosen, on the chart or in its list: there are buttons for it, also on the counts. */
  onState?: (state: string) => void;
  /** The state that was chosen last. */
  chosen?: string | null;
};

const LEAST = 0.15;
const MOST = 2;
const ZOOM = 1.25;
/** Below this the lines on the arrows cannot be read; a chart that would have to be smaller scrolls at first. */
const LEGIBLE = 0.7;

const toNode = ({ tag, attributes, children }: Drawn): VNode =>
  h(tag, attributes, ...children.map((child): ComponentChildren => (typeof child === "string" ? child : toNode(child))));

const clamp = (scale: number) => Math.min(MOST, Math.max(LEAST, scale));

/** What somebody who does not see the drawing is told of it. */
const spokenOf = (chart: ChartOf, active: readonly string[]): string =>
  `Statechart of ${chart.machine}${active.length > 0 ? `, now in ${active.join(" and ")}` : ""}. The list below says the same.`;

type DrawingProps = ChartProps & { layout: Layout };

/** How wide the inside of an element is, also when that changes; null until it is known. */
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
  // With nothing to be followed the whole says more than a part that can be read.
  const fitting = whole === null || innermost === null ? whole : Math.max(LEGIBLE, whole);
  const scale = zoom ?? fitting;
  const shown = scale ?? 1;
  const before = useRef<number | null>(null);
  useEffect(() => {
    const box = innermost === null ? undefined : layout.states[innermost];
    // What was drawn anew is not where it was: only from step to step something is to be seen moving.
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

/** A machine with its marks. One that no places are known for is shown as a list alone. */
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
