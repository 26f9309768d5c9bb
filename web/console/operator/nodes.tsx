// Table of the cluster's nodes: live ones with their generations, and recently ended ones.
import type { VNode } from "preact";
import type { NodeLine } from "../../../src/console/operator-dto.ts";
import { timeText } from "../../components/format.ts";
import { relativeAge, span } from "./format.ts";
import { type Column, SortedTable } from "./table.tsx";

const NameCell = ({ name, isThis, pid }: NodeLine): VNode => (
  <>
    {name}
    <span class="muted">
      process {pid}
      {isThis ? ", this node" : ""}
    </span>
  </>
);
const leaseText = (ms: number): string => (ms >= 0 ? `in ${span(ms)}` : `expired ${span(-ms)} ago`);

const ALIVE: readonly Column<NodeLine>[] = [
  { says: "Node", by: ({ name }) => name, cell: (row) => <NameCell {...row} /> },
  {
    says: "Since",
    by: ({ openedAtMs }) => openedAtMs,
    cell: ({ openedAtMs }) => `${timeText(openedAtMs)}, ${relativeAge(openedAtMs)}`,
  },
  {
    says: "Lease ends",
    by: ({ leaseEndsInMs }) => leaseEndsInMs,
    isNumber: true,
    cell: ({ leaseEndsInMs }) => leaseText(leaseEndsInMs ?? 0),
  },
  { says: "Queued", by: ({ queued }) => queued, isNumber: true, cell: ({ queued }) => queued },
  { says: "Running", by: ({ running }) => running, isNumber: true, cell: ({ running }) => running },
  { says: "Took over", by: ({ tookOver }) => tookOver, isNumber: true, cell: ({ tookOver }) => tookOver },
];
const ENDED: readonly Column<NodeLine>[] = [
  { says: "Node", by: ({ name }) => name, cell: (row) => <NameCell {...row} /> },
  { says: "Ended", by: ({ endedAtMs }) => endedAtMs, cell: ({ endedAtMs }) => timeText(endedAtMs ?? 0) },
  { says: "Reason", cell: ({ endedBy }) => (endedBy === null ? "Stopped." : `Lease expired; ended by ${endedBy}.`) },
  { says: "Taken over", by: ({ takenOver }) => takenOver, isNumber: true, cell: ({ takenOver }) => takenOver },
];
const keyOf = ({ epoch }: NodeLine): string => String(epoch);

export const Nodes = ({ nodes }: { nodes: readonly NodeLine[] }): VNode => {
  const [alive, ended] = [nodes.filter((row) => row.endedAtMs === null), nodes.filter((row) => row.endedAtMs !== null)];
  return (
    <>
      <h2>Nodes</h2>
      <p>
        The nodes share one database and have equal roles. The name of a node consists of its host, its number and its start. The
        counts of takeovers cover the last 7 days.
      </p>
      <SortedTable caption="Live nodes" columns={ALIVE} rows={alive} keyOf={keyOf} />
      <h2>Nodes that ended in the last week</h2>
      {ended.length === 0 ? (
        <p class="empty">No node has ended.</p>
      ) : (
        <SortedTable caption="Nodes that ended in the last week" columns={ENDED} rows={ended} keyOf={keyOf} />
      )}
    </>
  );
};
