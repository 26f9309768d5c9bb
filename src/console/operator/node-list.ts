// Lists the nodes of the cluster with their open generations and takeovers.
import { type NodeReads, type NodeRow, nodeName } from "../../store/cluster-port.ts";
import type { NodeLine } from "../operator-dto.ts";
import type { OperatorDeps } from "./deps.ts";

/** Maximum number of ended nodes. */
const MAX_ENDED = 20;

const lineOf = (row: NodeRow, own: number | null, names: ReadonlyMap<number, string>): NodeLine => {
  const { epoch, host, pid, openedAtMs, leaseEndsInMs, endedAtMs, endedBy, queued, running, tookOver, takenOver } = row;
  return {
    ...{ name: nodeName(row), isThis: epoch === own, host, pid, epoch, openedAtMs, leaseEndsInMs },
    ...{ queued, running, tookOver, takenOver, endedAtMs },
    endedBy: endedBy === null ? null : (names.get(endedBy) ?? `node ${endedBy}`),
  };
};

/** Generations that wait and run, over all nodes. */
export const queueOf = async ({ reads, running }: Pick<OperatorDeps, "reads" | "running">) => {
  const own = running.counts();
  if (reads.nodes === null) return own;
  const nodes = await reads.nodes.list(0);
  const sum = (of: "queued" | "running"): number => nodes.reduce((all, node) => all + node[of], 0);
  return { queued: sum("queued"), running: sum("running") };
};

/** @param own epoch of the answering node. @returns null for a single process. */
export const listNodes = async (nodes: NodeReads | null, own: number | null): Promise<NodeLine[] | null> => {
  if (nodes === null) return null;
  const rows = await nodes.list(MAX_ENDED);
  const names = await nodes.names(rows.flatMap(({ endedBy }) => endedBy ?? []));
  return rows.map((row) => lineOf(row, own, names));
};
