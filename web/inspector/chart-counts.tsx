// Counts per state as buttons on the chart, at the same size at every zoom.
//
// Each button selects its state.
import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Layout } from "../../actors/chart/layout.ts";

type Props = {
  counts: Readonly<Record<string, number>>;
  layout: Layout;
  scale: number;
  /** The selected state. */
  chosen: string | null;
  choose: (state: string) => void;
};

export const ChartCounts = ({ counts, layout, scale, chosen, choose }: Props): VNode => {
  const list = useRef<HTMLUListElement>(null);
  /** A state without actors keeps its button, so that a button does not move while it is being pressed. */
  const known = useRef(new Set<string>()).current;
  for (const [state, count] of Object.entries(counts)) if (count > 0 && state in layout.states) known.add(state);
  const states = [...known];
  // The security policy of the page forbids inline styles in markup.
  useLayoutEffect(() => {
    for (const [at, item] of [...(list.current?.children ?? [])].entries()) {
      const [x, y, width] = layout.states[states[at] ?? ""] ?? [0, 0, 0, 0];
      (item as HTMLElement).style.setProperty("--x", `${Math.round((x + width) * scale)}px`);
      (item as HTMLElement).style.setProperty("--y", `${Math.round(y * scale)}px`);
    }
  }, [layout, scale, states.length]);
  return (
    <ul class="chart-counts" ref={list} aria-label="Generations in each state">
      {states.map((state) => {
        const count = counts[state] ?? 0;
        return (
          <li key={state}>
            <button
              type="button"
              class={count === 0 ? "is-none" : ""}
              aria-pressed={state === chosen}
              aria-label={`${count.toLocaleString("en")} in ${state}`}
              title={`${count.toLocaleString("en")} in ${state}; press to list only these`}
              onClick={() => choose(state)}
            >
              {count.toLocaleString("en")}
            </button>
          </li>
        );
      })}
    </ul>
  );
};
