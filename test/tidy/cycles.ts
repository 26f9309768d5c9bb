// Cycles of a graph, for the rules about imports and for `npm run structure`.

export type Graph = ReadonlyMap<string, Iterable<string>>;

/** The nodes of the first cycle that begins behind `node`, the first one repeated at the end; null if there is none. */
const cycleFrom = (node: string, graph: Graph, above: readonly string[], done: Set<string>): string[] | null => {
  if (above.includes(node)) return [...above.slice(above.indexOf(node)), node];
  if (done.has(node)) return null;
  done.add(node);
  for (const next of graph.get(node) ?? []) {
    const cycle = cycleFrom(next, graph, [...above, node], done);
    if (cycle) return cycle;
  }
  return null;
};

/** At least one cycle if the graph has any, each as a path that ends where it begins. */
export const cyclesOf = (graph: Graph): string[][] => {
  const done = new Set<string>();
  return [...graph.keys()].flatMap((node) => {
    const cycle = cycleFrom(node, graph, [], done);
    return cycle ? [cycle] : [];
  });
};
