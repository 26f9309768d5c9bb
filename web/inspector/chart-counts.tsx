// How many are in each state, as buttons on the chart: of one size at every zoom, and each chooses its state.
import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Layout } from "../../actors/chart/layout.ts";

type Props = {
  counts: Readonly<Record<string, number>>;
  layout: Layout;
  scale: number;
  /** The state that was chosen. */
  chosen: string | null;
  choose: (state: string) => void;
};

export const ChartCounts = ({ counts, layout, scale, chosen, choose }: Props): VNode => {
  const list = useRef<HTMLUListElement>(null);
  /** A state that nobody is in any more keeps its button: whoever is about to press it is not sent elsewhere. */
  const known = useRef(new Set<string>()).current;
  for (const [state, count] of Object.entries(counts)) if (count > 0 && state in layout.states) known.add(state);
  const states = [...known];
  // The policy of the page allows no style in the markup.
  useLayoutEffect(() => {
    for (const [at, item] of [...(list.current?.children ?? [])].entries()) {
      const [x, y, width] = layout.states[states[at] ?? ""] ?? [0, 0, 0, 0];
      (item as HTMLElement).style.setProperty("--x", `${Math.round((x + width) * scale)}px`);
      (item as HTMLElement).style.setProperty("--y", `${Math.round(y * scale)}px`);
    }
  }, [layout, scale, states.length]);
  return (
    <ul class="chart-counts" ref={list} aria-label="How many are in each state">
      {states.map((state) => {
        const count = counts[state] ?? 0;
        return (
          <li key={state}>
            <button
              type="button"
              class={count === 0 ? "is-none" : ""}
              aria-pressed={state === chosen}
              aria-label={`${count.toLocaleString("en")} in ${state}`}
              title={`${count.toLocaleString("en")} in ${state}: press to list them alone`}
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
