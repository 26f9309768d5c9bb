// A statechart on a page: drawn from the machine itself, with what is to be seen on it; it scrolls, zooms, and can be read as a list.
import { type ComponentChildren, h, type VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Chart as ChartOf, withAncestors } from "../../actors/chart/chart.ts";
import { type Drawn, drawingOf, type Marks } from "../../actors/chart/drawing.ts";
import { type Layout, layoutOf } from "../../actors/chart/layout.ts";
import { panBy } from "./panning.ts";
import { Scrolling } from "./scrolling.tsx";
import { StateList } from "./state-list.tsx";

export type ChartProps = Marks & {
  chart: ChartOf;
  /** Keeps the active state in sight. */
  follow?: boolean;
  /** A state was chosen, on the chart or in its list. */
  onState?: (state: string) => void;
};

const LEAST = 0.15;
const MOST = 2;
const ZOOM = 1.25;
/** Below this the lines on the arrows cannot be read; a chart that would have to be smaller scrolls at first. */
const LEGIBLE = 0.7;

const toNode = ({ tag, attributes, children }: Drawn): VNode =>
  h(tag, attributes, ...children.map((child): ComponentChildren => (typeof child === "string" ? child : toNode(child))));

const clamp = (scale: number) => Math.min(MOST, Math.max(LEAST, scale));
/** As wide as its frame. */
const fitting = (frame: HTMLElement, { width }: Layout) => clamp(Math.min(1, frame.clientWidth / width));

/** Brings a state into the middle of the frame, where it is not in sight. */
const bringIntoSight = (frame: HTMLElement, box: readonly number[], scale: number): void => {
  const [x = 0, y = 0, width = 0, height = 0] = box.map((side) => side * scale);
  const isInSight =
    x >= frame.scrollLeft &&
    x + width <= frame.scrollLeft + frame.clientWidth &&
    y >= frame.scrollTop &&
    y + height <= frame.scrollTop + frame.clientHeight;
  if (!isInSight) frame.scrollTo({ left: x + width / 2 - frame.clientWidth / 2, top: y + height / 2 - frame.clientHeight / 2 });
};

/** What somebody who does not see the drawing is told of it. */
const spokenOf = (chart: ChartOf, active: readonly string[]): string =>
  `Statechart of ${chart.machine}${active.length > 0 ? `, now in ${active.join(" and ")}` : ""}. The list below says the same.`;

type DrawingProps = ChartProps & { layout: Layout };

const Drawing = ({ layout, chart, follow = false, onState, ...marks }: DrawingProps): VNode => {
  const frame = useRef<HTMLElement>(null);
  const [scale, setScale] = useState<number | null>(null);
  const { active = [] } = marks;
  const innermost = active.at(-1) ?? null;
  const hasActive = useRef(innermost !== null);
  const shown = scale ?? 1;
  useLayoutEffect(() => {
    if (!frame.current) return;
    const whole = fitting(frame.current, layout);
    // With nothing to be followed the whole says more than a part that can be read.
    setScale(hasActive.current ? Math.max(LEGIBLE, whole) : whole);
  }, [layout]);
  useEffect(() => {
    const box = innermost === null ? undefined : layout.states[innermost];
    if (follow && frame.current && box && scale !== null) bringIntoSight(frame.current, box, scale);
  }, [follow, innermost, layout, scale]);

  useEffect(() => (frame.current ? panBy(frame.current) : undefined), []);

  const drawn = drawingOf(chart, layout, marks);
  const size = { width: Math.round(layout.width * shown), height: Math.round(layout.height * shown) };
  const choose = (event: MouseEvent) => {
    const state = (event.target as Element).closest("[data-state]")?.getAttribute("data-state");
    if (state && onState) onState(state);
  };
  return (
    <>
      <div class="chart-tools">
        <button type="button" onClick={() => setScale(clamp(shown / ZOOM))} disabled={shown <= LEAST} aria-label="Smaller">
          −
        </button>
        <button type="button" onClick={() => frame.current && setScale(fitting(frame.current, layout))}>
          Fit
        </button>
        <button type="button" onClick={() => setScale(clamp(shown * ZOOM))} disabled={shown >= MOST} aria-label="Larger">
          +
        </button>
      </div>
      <Scrolling class="chart-frame" frame={frame} label={`Drawing of ${chart.machine}`}>
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: the list below has a button for each state */}
        <svg {...drawn.attributes} {...size} role="img" aria-label={spokenOf(chart, active)} onClick={choose}>
          {drawn.children.map((child) => (typeof child === "string" ? child : toNode(child)))}
        </svg>
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
