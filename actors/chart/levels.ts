// Levels of a chart: the states directly inside one compound state, with one bundle of transitions for each pair of states.
//
// The inspector draws one level at a time, so that its text is readable. Level "" has the top states.
import type { Chart, ChartState, ChartTransition } from "./chart.ts";

/** All transitions between two states of a level, drawn as one line. `forth` lead from `from` to `to`, `back` the other way. */
export type Bundle = { id: string; from: string; to: string; forth: ChartTransition[]; back: ChartTransition[] };
/** The transitions between a level and one state outside of it. */
export type Passage = { outside: string; transitions: ChartTransition[] };
export type Level = {
  /** The compound state whose inside it is; "" for the top states. */
  parent: string;
  states: ChartState[];
  bundles: Bundle[];
  entries: Passage[];
  exits: Passage[];
};

/** True for the state itself, too. Every state is within "". */
export const isWithin = (state: string, ancestor: string): boolean =>
  ancestor === "" || state === ancestor || state.startsWith(`${ancestor}.`);

export const childrenOf = (chart: Chart, parent: string): ChartState[] => chart.states.filter((state) => state.parent === parent);

/** Every level of a chart, outermost first. */
export const levelsOf = (chart: Chart): string[] => [
  "",
  ...chart.states.filter(({ kind }) => kind === "compound").map(({ id }) => id),
];

export const initialOf = (chart: Chart, parent: string): string =>
  parent === "" ? chart.initial : (chart.states.find(({ id }) => id === parent)?.initial ?? "");

/** The state that a transition leads to: a compound state enters its initial child. */
const entered = (chart: Chart, state: string): string => {
  const initial = initialOf(chart, state);
  return initial === "" || state === "" ? state : entered(chart, initial);
};

/**
 * The box that stands for a state: its ancestor in the level, e.g. `a.b.c` in level `a` → `a.b`. For a state outside, its
 * outermost ancestor that does not contain the level.
 */
const boxOf = (state: string, level: string): string => {
  const [keys, outer] = [state.split("."), level === "" ? [] : level.split(".")];
  const differs = keys.findIndex((key, at) => key !== outer[at]);
  return keys.slice(0, differs === -1 ? keys.length : differs + 1).join(".");
};

const add = (passages: Map<string, Passage>, outside: string, transition: ChartTransition): void => {
  const passage = passages.get(outside) ?? { outside, transitions: [] };
  passage.transitions.push(transition);
  passages.set(outside, passage);
};

/** Returns a level. Transitions of the level's own state apply in each of its children and count as exits if they leave it. */
export const levelOf = (chart: Chart, parent: string): Level => {
  const states = childrenOf(chart, parent);
  const isInside = (box: string) => states.some(({ id }) => id === box);
  const bundles = new Map<string, Bundle>();
  const [entries, exits] = [new Map<string, Passage>(), new Map<string, Passage>()];
  for (const transition of chart.transitions) {
    const { source, target } = transition;
    if (target === null) continue;
    const [from, to] = [boxOf(source, parent), boxOf(entered(chart, target), parent)];
    const leaves = isInside(from) || (source === parent && parent !== "");
    if (leaves && !isInside(to)) add(exits, to, transition);
    // Transitions of an ancestor belong to the ancestor's level.
    if (!isInside(from) && isInside(to) && !isWithin(parent, source)) add(entries, from, transition);
    if (!isInside(from) || !isInside(to) || from === to) continue;
    const opposite = bundles.get(`${to} > ${from}`);
    const id = opposite?.id ?? `${from} > ${to}`;
    const bundle = opposite ?? bundles.get(id) ?? { id, from, to, forth: [], back: [] };
    (opposite ? bundle.back : bundle.forth).push(transition);
    bundles.set(id, bundle);
  }
  return { parent, states, bundles: [...bundles.values()], entries: [...entries.values()], exits: [...exits.values()] };
};

/** Whether a level shows a state: as a box, inside a box, or as the other end of an entry or exit. */
export const isShownIn = (level: Level, state: string): boolean =>
  level.states.some(({ id }) => isWithin(state, id)) ||
  [...level.entries, ...level.exits].some(({ outside }) => isWithin(state, outside));

/** The outermost level that shows more of a path than the top states: the inside of the first compound top state on it. */
export const levelOfPath = (chart: Chart, states: readonly string[]): string =>
  chart.states.find(({ id, parent, kind }) => parent === "" && kind === "compound" && states.some((state) => isWithin(state, id)))
    ?.id ?? "";
