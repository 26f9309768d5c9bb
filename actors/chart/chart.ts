// Statechart as flat lists of states and transitions, read from the XState machine object.

/** A state. `id` is its path (`running.polling`); the id of the machine's root is "". */
export type ChartState = {
  id: string;
  key: string;
  parent: string;
  kind: "atomic" | "compound" | "final";
  /** The initial child of a compound state; null for other states. */
  initial: string | null;
  description: string;
};
/**
 * A transition. If `target` is null, the machine stays in the state. If `guard` is "", the transition is unconditional. `id` is
 * the same in charts, replays and coverage.
 */
export type ChartTransition = {
  id: string;
  source: string;
  event: string;
  guard: string;
  target: string | null;
  actions: string[];
};
export type Chart = { machine: string; initial: string; states: ChartState[]; transitions: ChartTransition[] };

/** The fields that this module reads from an XState transition definition. */
type Transition = { eventType: string; source: Node; target?: Node[] | undefined; guard?: unknown; actions: readonly unknown[] };
type Node = {
  key: string;
  path: string[];
  states: Record<string, Node>;
  description?: string | undefined;
  type: string;
  initial: { target: Node[] };
  transitions: Map<string, Transition[]>;
};
/** Any XState machine. */
export type AnyMachine = { id: string; root: unknown };

const pathOf = (node: Node): string => node.path.join(".");

/** The name of a guard; the names of all its parts, joined by "and", if the guard is composed. */
export const guardName = (guard: unknown): string => {
  if (typeof guard === "string") return guard;
  if (typeof guard === "object" && guard !== null && "type" in guard) return String(guard.type);
  if (typeof guard === "function" && "guards" in guard) return (guard.guards as unknown[]).map(guardName).join(" and ");
  return guard === undefined ? "" : "guarded";
};
const actionName = (action: unknown): string | null => {
  if (typeof action === "string") return action;
  return typeof action === "object" && action !== null && "type" in action ? String(action.type) : null;
};

/**
 * The transition's state, event and index within that event, e.g. `running.polling/announced/0`. The definition is the object
 * that the machine holds.
 */
export const transitionId = (definition: object): string => {
  const { source, eventType } = definition as Transition;
  const place = source.transitions.get(eventType)?.indexOf(definition as Transition) ?? -1;
  return `${pathOf(source)}/${eventType}/${place}`;
};

const initialOf = (node: Node): string | null => {
  const [first] = node.type === "compound" ? node.initial.target : [];
  return first ? pathOf(first) : null;
};

/** Returns the chart of a machine, with states in source order. */
export const chartOf = (machine: AnyMachine): Chart => {
  const states: ChartState[] = [];
  const transitions: ChartTransition[] = [];
  const walk = (node: Node): void => {
    for (const definition of [...node.transitions.values()].flat()) {
      const [target] = definition.target ?? [];
      transitions.push({
        id: transitionId(definition),
        source: pathOf(node),
        event: definition.eventType,
        guard: guardName(definition.guard),
        target: target ? pathOf(target) : null,
        actions: definition.actions.flatMap((action) => actionName(action) ?? []),
      });
    }
    for (const child of Object.values(node.states)) {
      states.push({
        id: pathOf(child),
        key: child.key,
        parent: pathOf(node),
        kind: child.type === "final" ? "final" : child.type === "compound" ? "compound" : "atomic",
        initial: initialOf(child),
        description: child.description ?? "",
      });
      walk(child);
    }
  };
  const root = machine.root as Node;
  walk(root);
  return { machine: machine.id, initial: initialOf(root) ?? "", states, transitions };
};

/** All transitions from one state to another, drawn as one arrow. */
export type Arrow = { id: string; source: string; target: string; transitions: ChartTransition[] };
export const arrowsOf = (chart: Chart): Arrow[] => {
  const arrows = new Map<string, Arrow>();
  for (const transition of chart.transitions) {
    const { source, target } = transition;
    if (target === null) continue;
    const id = `${source} > ${target}`;
    const arrow = arrows.get(id) ?? { id, source, target, transitions: [] };
    arrow.transitions.push(transition);
    arrows.set(id, arrow);
  }
  return [...arrows.values()];
};

/** Returns the transitions that stay in their state; the drawing lists them inside the state's box. */
export const selfTransitionsOf = (chart: Chart, state: string): ChartTransition[] =>
  chart.transitions.filter(({ source, target }) => source === state && target === null);

/**
 * A line of a label: the event, with its guard if the guard is a single predicate. Transitions with the same line are drawn once.
 */
export type LabelLine = { text: string; ids: string[] };
export const linesOf = (transitions: readonly ChartTransition[]): LabelLine[] => {
  const lines = new Map<string, LabelLine>();
  for (const { id, event, guard } of transitions) {
    const isPlain = guard === "" || guard.includes(" ") || /^is(Current|Watched|Arriving)$/.test(guard);
    const text = isPlain ? event : `${event} [${guard}]`;
    const line = lines.get(text) ?? { text, ids: [] };
    line.ids.push(id);
    lines.set(text, line);
  }
  return [...lines.values()];
};

/** Returns a state and its ancestors, outermost first: `running`, `running.polling`. */
export const withAncestors = (state: string): string[] =>
  state === "" ? [] : state.split(".").map((_, at, keys) => keys.slice(0, at + 1).join("."));
