// Panel beside the chart: the transitions of the selected state or line.
import { X } from "lucide";
import type { VNode } from "preact";
import type { Chart, ChartTransition } from "../../actors/chart/chart.ts";
import type { Marks } from "../../actors/chart/drawing.ts";
import type { Level } from "../../actors/chart/levels.ts";
import { Icon } from "../components/icon.tsx";
import { words } from "../words/inspector-words.ts";
import { Arrow, FromTo } from "./arrow.tsx";
import { lookOf, type Selection } from "./level-drawing.tsx";

/** Transitions with the same target, and with the same source unless `source` is null. */
type Group = { source: string | null; target: string | null; transitions: readonly ChartTransition[] };

const byTarget = (transitions: readonly ChartTransition[]): Group[] =>
  [...Map.groupBy(transitions, ({ target }) => target)].map(([target, some]) => ({ source: null, target, transitions: some }));

const bySource = (transitions: readonly ChartTransition[]): Group[] =>
  [...Map.groupBy(transitions, ({ source }) => source)].flatMap(([source, some]) =>
    byTarget(some).map((group) => ({ ...group, source })),
  );

const groupsOf = (chart: Chart, level: Level, { kind, id }: Selection): Group[] => {
  if (kind === "state") return byTarget(chart.transitions.filter(({ source }) => source === id));
  if (kind === "bundle") {
    const bundle = level.bundles.find((each) => each.id === id);
    return bySource([...(bundle?.forth ?? []), ...(bundle?.back ?? [])]);
  }
  const passages = kind === "entry" ? level.entries : level.exits;
  return bySource(passages.find(({ outside }) => outside === id)?.transitions ?? []);
};

const GroupTitle = ({ source, target }: Group): VNode => {
  if (target === null) return <>{words.inspector.chart.stays}</>;
  if (source !== null) return <FromTo from={source} to={target} />;
  return (
    <>
      <Arrow /> {target}
    </>
  );
};

const Title = ({ level, selected: { kind, id } }: { level: Level; selected: Selection }): VNode => {
  const inside = level.parent === "" ? words.inspector.chart.all : level.parent;
  if (kind === "entry") return <FromTo from={id} to={inside} />;
  if (kind === "exit") return <FromTo from={inside} to={id} />;
  const bundle = level.bundles.find((each) => each.id === id);
  if (kind !== "bundle" || !bundle) return <>{id}</>;
  return <FromTo from={bundle.from} to={bundle.to} isBoth={bundle.back.length > 0} />;
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
        <h3>
          <Title level={level} selected={selected} />
        </h3>
        <button type="button" class="button is-quiet is-icon is-small" aria-label={words.actions.close} onClick={close}>
          <Icon of={X} size={16} />
        </button>
      </div>
      {state?.description ? <p>{state.description}</p> : null}
      {groups.length === 0 ? <p class="muted">{text.noneLeave}</p> : null}
      {groups.map((group) => (
        <div key={`${group.source} ${group.target}`} class="chart-group">
          <h4>
            <GroupTitle {...group} /> <span class="chart-mark">{text.transitions(group.transitions.length)}</span>
          </h4>
          <ul>
            {group.transitions.map((transition) => (
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
