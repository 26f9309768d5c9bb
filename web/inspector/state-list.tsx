// A statechart as a list of states with description, count and transitions.
import type { VNode } from "preact";
import type { ChartTransition } from "../../actors/chart/chart.ts";
import type { ChartProps } from "./chart.tsx";

type Props = ChartProps & { isActive: (state: string) => boolean };

const Transition = ({ transition, edge, taken, coverage }: { transition: ChartTransition } & Props): VNode => {
  const { id, event, guard, target } = transition;
  const marks = [
    edge === id ? "last transition" : taken?.includes(id) ? "taken" : null,
    coverage ? (coverage.includes(id) ? "tested" : "not tested") : null,
  ].filter(Boolean);
  return (
    <li>
      <code>
        {event}
        {guard ? ` [${guard}]` : ""} → {target ?? "stays"}
      </code>
      {marks.length > 0 ? <span class="chart-mark"> {marks.join(", ")}</span> : null}
    </li>
  );
};

export const StateList = (props: Props): VNode => {
  const { chart, counts = {}, onState, isActive } = props;
  return (
    <ul class="chart-states">
      {chart.states.map(({ id, description }) => {
        const count = counts[id] ?? 0;
        const leaving = chart.transitions.filter(({ source }) => source === id);
        return (
          <li key={id} class={isActive(id) ? "is-active" : ""} aria-current={isActive(id) ? "step" : undefined}>
            {onState ? (
              <button type="button" class="chart-state-name" onClick={() => onState(id)}>
                {id}
              </button>
            ) : (
              <strong>{id}</strong>
            )}
            {isActive(id) ? <span class="chart-mark"> current state</span> : null}
            {count > 0 ? <span class="chart-mark"> {count} generations</span> : null}
            {description ? <p>{description}</p> : null}
            {leaving.length > 0 ? (
              <ul>
                {leaving.map((transition) => (
                  <Transition key={transition.id} {...props} transition={transition} />
                ))}
              </ul>
            ) : null}
          </li>
        );
      })}
    </ul>
  );
};
