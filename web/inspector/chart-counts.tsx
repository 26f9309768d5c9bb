// Counts per state as buttons on the chart, at the same size at every zoom.
//
// Each button selects its state, or all states inside it.
import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Chart } from "../../actors/chart/chart.ts";
import type { LevelLayout } from "../../actors/chart/level-layout.ts";
import { childrenOf, isWithin, type Level } from "../../actors/chart/levels.ts";
import { words } from "../words/inspector-words.ts";
import { number } from "./format.ts";
import { boxIn } from "./level-drawing.tsx";

type Props = {
  chart: Chart;
  level: Level;
  layout: LevelLayout;
  counts: Readonly<Record<string, number>>;
  scale: number;
  /** The selected state. */
  chosen: string | null;
  choose: (state: string) => void;
};

/** The states that a level names: its boxes, or the children shown inside them. */
const namedIn = (chart: Chart, level: Level): string[] =>
  level.states.flatMap(({ id }) => {
    const children = childrenOf(chart, id);
    return children.length === 0 ? [id] : children.map((child) => child.id);
  });

export const ChartCounts = ({ chart, level, layout, counts, scale, chosen, choose }: Props): VNode => {
  const list = useRef<HTMLUListElement>(null);
  /** A state without generations keeps its button, so that a button does not move while it is being pressed. */
  const known = useRef(new Set<string>()).current;
  const countOf = (state: string): number =>
    Object.entries(counts).reduce((sum, [each, count]) => (isWithin(each, state) ? sum + count : sum), 0);
  for (const state of namedIn(chart, level)) if (countOf(state) > 0) known.add(state);
  const states = [...known];
  // The security policy of the page forbids inline styles in markup.
  useLayoutEffect(() => {
    for (const [at, item] of [...(list.current?.children ?? [])].entries()) {
      const [x, y, width] = boxIn(chart, level, layout, states[at] ?? "") ?? [0, 0, 0, 0];
      (item as HTMLElement).style.setProperty("--x", `${Math.round((x + width) * scale)}px`);
      (item as HTMLElement).style.setProperty("--y", `${Math.round(y * scale)}px`);
    }
  }, [layout, scale, states.length]);
  const { chart: text } = words.inspector;
  return (
    <ul class="chart-counts" ref={list} aria-label={text.counts}>
      {states.map((state) => {
        const count = countOf(state);
        const name = text.countIn(number(count), state);
        return (
          <li key={state}>
            <button
              type="button"
              class={count === 0 ? "is-none" : ""}
              aria-pressed={state === chosen}
              aria-label={name}
              title={text.onlyThese(name)}
              onClick={() => choose(state)}
            >
              {number(count)}
            </button>
          </li>
        );
      })}
    </ul>
  );
};
