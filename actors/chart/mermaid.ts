// Mermaid export: prints a chart as a state diagram.
//
// For a replay, each arrow lists the versions of the transitions that took it.
import type { Chart } from "./chart.ts";

const nameOf = (state: string): string => state.replaceAll(".", "_") || "root";

/** @param steps for each transition id, the versions of the generation events that took it: `accepted (3, 9)`. */
export const mermaidOf = (chart: Chart, steps: ReadonlyMap<string, readonly number[]> = new Map()): string => {
  const lines = ["stateDiagram-v2"];
  /** An event with several transitions between the same two states is printed once. */
  const edges = new Map<string, number[]>();
  const walk = (parent: string, indent: string): void => {
    for (const { id, key, kind } of chart.states.filter((state) => state.parent === parent)) {
      if (kind === "compound") {
        lines.push(`${indent}state "${key}" as ${nameOf(id)} {`);
        walk(id, `${indent}  `);
        lines.push(`${indent}}`);
      } else lines.push(`${indent}state "${key}" as ${nameOf(id)}`);
      for (const { id: transition, source, target, event } of chart.transitions) {
        const taken = steps.get(transition) ?? [];
        // A transition that stays in its state is drawn only if it was taken.
        if (source !== id || (target === null && taken.length === 0)) continue;
        const edge = `  ${nameOf(id)} --> ${nameOf(target ?? id)} : ${event}`;
        edges.set(
          edge,
          [...(edges.get(edge) ?? []), ...taken].sort((a, b) => a - b),
        );
      }
      if (kind === "final") edges.set(`  ${nameOf(id)} --> [*]`, []);
    }
    const initial = parent === "" ? chart.initial : chart.states.find(({ id }) => id === parent)?.initial;
    if (initial) lines.push(`${indent}[*] --> ${nameOf(initial)}`);
  };
  walk("", "  ");
  for (const [edge, taken] of edges) lines.push(taken.length === 0 ? edge : `${edge} (${taken.join(", ")})`);
  return lines.join("\n");
};
