// A statechart as a list of states with description, count and transitions.
import type { VNode } from "preact";
import { words } from "../words/inspector-words.ts";
import { Arrow } from "./arrow.tsx";
import type { ChartProps } from "./chart.tsx";
import { TransitionMarks } from "./selection-panel.tsx";

type Props = ChartProps & { isActive: (state: string) => boolean };

export const StateList = (props: Props): VNode => {
  const { chart, counts = {}, onState, isActive } = props;
  const { chart: text } = words.inspector;
  return (
    <ul class="chart-states">
      {chart.states.map(({ id, description }) => {
        const count = counts[id] ?? 0;
        const leaving = chart.transitions.filter(({ source }) => source === id);
        return (
          <li key={id} class={isActive(id) ? "is-active" : ""} aria-current={isActive(id) ? "step" : undefined}>
            {onState ? (
              <button type="button" class="button is-small chart-state-name" onClick={() => onState(id)}>
                {id}
              </button>
            ) : (
              <strong>{id}</strong>
            )}
            {isActive(id) ? <span class="chart-mark"> {text.current}</span> : null}
            {count > 0 ? <span class="chart-mark"> {text.generations(count)}</span> : null}
            {description ? <p>{description}</p> : null}
            {leaving.length > 0 ? (
              <ul>
                {leaving.map((transition) => (
                  <li key={transition.id}>
                    <code>
                      {transition.event}
                      {transition.guard ? ` [${transition.guard}]` : ""} <Arrow /> {transition.target ?? text.staysShort}
                    </code>
                    <TransitionMarks transition={transition} marks={props} />
                  </li>
                ))}
              </ul>
            ) : null}
          </li>
        );
      })}
    </ul>
  );
};
