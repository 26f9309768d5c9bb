// Table of the cluster's nodes: live ones with their generations, and recently ended ones.
import type { VNode } from "preact";
import type { NodeLine } from "../../../src/console/operator-dto.ts";
import { Time } from "../../components/time.tsx";
import { operatorWords } from "../../words/operator-words.ts";
import { number, span } from "./format.ts";
import { type Column, SortedTable } from "./table.tsx";

const NameCell = ({ name, isThis, pid }: NodeLine): VNode => (
  <>
    {name}
    <span class="muted">{operatorWords.service.process(pid, isThis)}</span>
  </>
);
const leaseText = (ms: number): string =>
  ms >= 0 ? operatorWords.service.leaseIn(span(ms)) : operatorWords.service.leaseExpired(span(-ms));

const aliveColumns = (): readonly Column<NodeLine>[] => {
  const { nodeColumns: says } = operatorWords.service;
  const counted = (name: string, of: (row: NodeLine) => number): Column<NodeLine> => ({
    ...{ says: name, by: of, isNumber: true, cell: (row) => number(of(row)) },
  });
  return [
    { says: says.node, by: ({ name }) => name, cell: (row) => <NameCell {...row} /> },
    { says: says.since, by: ({ openedAtMs }) => openedAtMs, cell: ({ openedAtMs }) => <Time atMs={openedAtMs} /> },
    {
      ...{ says: says.lease, by: ({ leaseEndsInMs }) => leaseEndsInMs, isNumber: true },
      cell: ({ leaseEndsInMs }) => leaseText(leaseEndsInMs ?? 0),
    },
    counted(says.queued, ({ queued }) => queued),
    counted(says.running, ({ running }) => running),
    counted(says.tookOver, ({ tookOver }) => tookOver),
  ];
};

const endedColumns = (): readonly Column<NodeLine>[] => {
  const { nodeColumns: says, stopped, expired } = operatorWords.service;
  return [
    { says: says.node, by: ({ name }) => name, cell: (row) => <NameCell {...row} /> },
    { says: says.ended, by: ({ endedAtMs }) => endedAtMs, cell: ({ endedAtMs }) => <Time atMs={endedAtMs ?? 0} /> },
    { says: says.reason, cell: ({ endedBy }) => (endedBy === null ? stopped : expired(endedBy)) },
    { says: says.takenOver, by: ({ takenOver }) => takenOver, isNumber: true, cell: ({ takenOver }) => number(takenOver) },
  ];
};
const keyOf = ({ epoch }: NodeLine): string => String(epoch);

export const Nodes = ({ nodes }: { nodes: readonly NodeLine[] }): VNode => {
  const [alive, ended] = [nodes.filter((row) => row.endedAtMs === null), nodes.filter((row) => row.endedAtMs !== null)];
  const { service } = operatorWords;
  return (
    <section>
      <h2>{service.nodes}</h2>
      <p class="muted">{service.nodesAbout}</p>
      <SortedTable caption={service.liveNodes} columns={aliveColumns()} rows={alive} keyOf={keyOf} />
      <h2>{service.endedNodes}</h2>
      {ended.length === 0 ? (
        <p class="empty">{service.noEnded}</p>
      ) : (
        <SortedTable caption={service.endedNodes} columns={endedColumns()} rows={ended} keyOf={keyOf} />
      )}
    </section>
  );
};
