// Reads of a shared store that no simulated world uses; each rejects.
//
// A world has no API keys, callbacks or inspector.
import type { Node, NodeReads } from "../../store/cluster-port.ts";

const unasked = (): Promise<never> => Promise.reject(new Error("this read is not used in a simulated world"));

export const UNASKED_OF_NODES: NodeReads = { list: unasked, names: unasked, writers: unasked, claims: unasked };

export const UNASKED: Pick<Node, "sums" | "takeFromRateLimit" | "others" | "recordUnavailable" | "formerUnavailableSinceMs"> = {
  ...{ formerUnavailableSinceMs: null, recordUnavailable: () => undefined },
  ...{ sums: unasked, takeFromRateLimit: unasked },
  others: { written: unasked, open: unasked, ended: unasked, steps: unasked, standing: unasked, unfinished: unasked },
};
