// Panel beside the chart: the transitions of the selected state or line.
import { X } from "lucide";
import type { VNode } from "preact";
import type { Chart, ChartTransition } from "../../actors/chart/chart.ts";
import type { Marks } from "../../actors/chart/drawing.ts";
import type { Level } from "../../actors/chart/levels.ts";
import { Icon } from "../components/icon.tsx";
import { words } from "../words/inspector-words.ts";
import { lookOf, type Selection } from "./level-drawing.tsx";

type Group = { title: string; transitions: readonly ChartTransition[] };

const byTarget = (transitions: readonly ChartTransition[]): Group[] =>
  [...Map.groupBy(transitions, ({ target }) => target)].map(([target, some]) => ({
    title: target === null ? words.inspector.chart.stays : `→ ${target}`,
    transitions: some,
  }));

const bySource = (transitions: readonly ChartTransition[]): Group[] =>
  [...Map.groupBy(transitions, ({ source, target }) => `${source} → ${target}`)].map(([title, some]) => ({
    title,
    transitions: some,
  }));

const groupsOf = (chart: Chart, level: Level, { kind, id }: Selection): Group[] => {
  if (kind === "state") return byTarget(chart.transitions.filter(({ source }) => source === id));
  if (kind === "bundle") {
    const bundle = level.bundles.find((each) => each.id === id);
    return bySource([...(bundle?.forth ?? []), ...(bundle?.back ?? [])]);
  }
  const passages = kind === "entry" ? level.entries : level.exits;
  return bySource(passages.find(({ outside }) => outside === id)?.transitions ?? []);
};

const titleOf = (level: Level, { kind, id }: Selection): string => {
  const inside = level.parent === "" ? words.inspector.chart.all : level.parent;
  if (kind === "entry") return `${id} → ${inside}`;
  if (kind === "exit") return `${inside} → ${id}`;
  const bundle = level.bundles.find((each) => each.id === id);
  return kind === "bundle" && bundle ? `${bundle.from} ${bundle.back.length > 0 ? "↔" : "→"} ${bundle.to}` : id;
};

/** Says in words what a mark shows by colour. */
export const TransitionMarks = ({ transition, marks }: { transition: ChartTransition; marks: Marks }): VNode | null => {
  const { chart: text } = words.inspector;
  const look = lookOf([transition], marks);
  const said = [
    look.includes("is-last") ? text.last : look.includes("is-taken") ? text.taken : null,
    marks.coverage === undefined ? null : look.includes("is-uncovered") ? text.notTested : text.tested,
  ].filter(Boolean);
  return said.length === 0 ? null : <span class="chart-mark"> {said.join(", ")}</span>;
};

type Props = { chart: Chart; level: Level; selected: Selection; marks: Marks; close: () => void };
export const SelectionPanel = ({ chart, level, selected, marks, close }: Props): VNode => {
  const { chart: text } = words.inspector;
  const groups = groupsOf(chart, level, selected);
  const state = selected.kind === "state" ? chart.states.find(({ id }) => id === selected.id) : undefined;
  return (
    <section class="chart-panel" aria-label={text.selection} aria-live="polite">
      <div class="chart-panel-head">
        <h3>{titleOf(level, selected)}</h3>
        <button type="button" class="button is-quiet is-icon is-small" aria-label={words.actions.close} onClick={close}>
          <Icon of={X} size={16} />
        </button>
      </div>
      {state?.description ? <p>{state.description}</p> : null}
      {groups.length === 0 ? <p class="muted">{text.noneLeave}</p> : null}
      {groups.map(({ title, transitions }) => (
        <div key={title} class="chart-group">
          <h4>
            {title} <span class="chart-mark">{text.transitions(transitions.length)}</span>
          </h4>
          <ul>
            {transitions.map((transition) => (
              <li key={transition.id} class={lookOf([transition], marks)}>
                <code>
                  {transition.event}
                  {transition.guard ? ` [${transition.guard}]` : ""}
                </code>
                <TransitionMarks transition={transition} marks={marks} />
              </li>
            ))}
          </ul>
        </div>
      ))}
    </section>
  );
};
