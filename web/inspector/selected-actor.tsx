// The selected actor: its statechart with current state and last transition, and counts per state.
import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { type Chart as ChartOf, type ChartTransition, chartOf } from "../../actors/chart/chart.ts";
import { MACHINES, type MachineName } from "../../actors/chart/machines.ts";
import type { ActorKind, ActorRow, SeenEvent, StateCounts } from "../../src/inspector/dto.ts";
import { Chart } from "./chart.tsx";
import { age } from "./live-list.tsx";

const MACHINE_OF: Record<ActorKind, MachineName> = {
  generation: "generation",
  route: "route-health",
  ledger: "ledger",
};

const isWithin = (state: string, path: string) => state === path || state.startsWith(`${path}.`);
/** The transition of an event: the innermost one with its name that leads to the resulting state. */
export const edgeOf = (chart: ChartOf, event: SeenEvent | undefined): string | null => {
  if (!event || event.from === null) return null;
  const { from, to, type } = event;
  const leads = ({ source, target, event: name }: ChartTransition) =>
    name === type && (source === "" || isWithin(from, source)) && (target === null ? from === to : isWithin(to, target));
  const fitting = chart.transitions.filter(leads).sort((a, b) => b.source.length - a.source.length);
  return fitting[0]?.id ?? null;
};

const Facts = ({ row, nowMs }: { row: ActorRow; nowMs: number }): VNode => {
  const facts: [string, string | undefined][] = [
    ["State", row.state],
    ["Time in state", row.sinceMs === null ? undefined : age(nowMs - row.sinceMs)],
    ["Age", row.bornAtMs === null ? undefined : age(nowMs - row.bornAtMs)],
    ["Model", row.model],
    ["Route", row.route],
    ["Attempts", row.attempts === undefined ? undefined : String(row.attempts)],
    ["Account", row.account?.name || row.account?.id],
    ["Node", row.node],
  ];
  return (
    <dl class="replay-facts">
      {facts.map(([name, value]) =>
        value === undefined ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
};

type Props = {
  row: ActorRow | null;
  last: SeenEvent | undefined;
  counts: StateCounts;
  nowMs: number;
  /** The state by which the list is filtered. */
  state: string | null;
  onState: (kind: ActorKind, state: string) => void;
  leave: () => void;
};

export const Chosen = ({ row, last, counts, nowMs, state, onState, leave }: Props): VNode => {
  const kind = row?.kind ?? "generation";
  const machine = MACHINE_OF[kind];
  const chart = useMemo(() => chartOf(MACHINES[machine].machine), [machine]);
  return (
    <section class="live-chosen" aria-label="Selected actor">
      <div class="live-head">
        <h2>{row?.name ?? "All generations"}</h2>
        {row?.kind === "generation" ? <a href={`/inspector/${row.id}`}>Replay</a> : null}
        {row ? (
          <button type="button" onClick={leave}>
            Clear selection
          </button>
        ) : null}
      </div>
      {row ? (
        <Facts row={row} nowMs={nowMs} />
      ) : (
        <p>Each number is the count of generations in a state. Press a number to list them. Select an actor to follow it.</p>
      )}
      <Chart
        chart={chart}
        active={row ? [row.state] : []}
        edge={edgeOf(chart, last)}
        counts={counts[kind] ?? {}}
        chosen={state}
        onState={(pressed) => onState(kind, pressed)}
        follow={row ? `${row.id} ${last?.no ?? 0}` : null}
      />
    </section>
  );
};
