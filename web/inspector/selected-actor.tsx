// The selected actor: its state, last fallback and next route in words, and its statechart.
import { X } from "lucide";
import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { type Chart as ChartOf, type ChartTransition, chartOf } from "../../actors/chart/chart.ts";
import { isWithin } from "../../actors/chart/levels.ts";
import { MACHINES, type MachineName } from "../../actors/chart/machines.ts";
import type { ActorKind, ActorRow, ChosenActor, SeenEvent, StateCounts } from "../../src/inspector/dto.ts";
import { Icon } from "../components/icon.tsx";
import { words } from "../words/inspector-words.ts";
import { Chart } from "./chart.tsx";
import { lastFallbackOf, nextRouteOf } from "./fallback.ts";
import { age } from "./live-list.tsx";
import { stateName } from "./state-name.ts";

const MACHINE_OF: Record<ActorKind, MachineName> = {
  generation: "generation",
  route: "route-health",
  ledger: "ledger",
};

/** The transition of an event: the innermost one with its name that leads to the resulting state. */
export const edgeOf = (chart: ChartOf, event: SeenEvent | undefined): string | null => {
  if (!event || event.from === null) return null;
  const { from, to, type } = event;
  const leads = ({ source, target, event: name }: ChartTransition) =>
    name === type && isWithin(from, source) && (target === null ? from === to : isWithin(to, target));
  const fitting = chart.transitions.filter(leads).sort((a, b) => b.source.length - a.source.length);
  return fitting[0]?.id ?? null;
};

type Fact = [name: string, value: string | null | undefined];
const Facts = ({ facts, class: name }: { facts: readonly Fact[]; class: string }): VNode => (
  <dl class={`replay-facts ${name}`}>
    {facts.map(([label, value]) =>
      value === null || value === undefined ? null : (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ),
    )}
  </dl>
);

type SummaryProps = { row: ActorRow; chosen: ChosenActor | null; events: readonly SeenEvent[]; nowMs: number };
const Summary = ({ row, chosen, events, nowMs }: SummaryProps): VNode => {
  const { selected: text } = words.inspector;
  const fallback = row.kind === "generation" ? lastFallbackOf(events) : null;
  const next = row.kind === "generation" ? nextRouteOf(chosen, row.state) : undefined;
  const main: Fact[] = [
    [text.state, stateName(row.kind, row.state)],
    [
      text.lastFallback,
      row.kind !== "generation"
        ? null
        : fallback === null
          ? text.noFallback
          : text.fallback(fallback.attemptNo, fallback.route, fallback.reason),
    ],
    [text.nextRoute, next === null ? text.noRouteLeft : next],
  ];
  const more: Fact[] = [
    [text.timeInState, row.sinceMs === null ? null : age(nowMs - row.sinceMs)],
    [text.age, row.bornAtMs === null ? null : age(nowMs - row.bornAtMs)],
    [text.model, row.model],
    [text.route, row.kind === "generation" ? row.route : null],
    [text.attempts, row.attempts === undefined ? null : String(row.attempts)],
    [text.account, row.account?.name || row.account?.id],
    [text.node, row.node],
  ];
  return (
    <>
      <Facts facts={main} class="live-main-facts" />
      <Facts facts={more} class="live-more-facts" />
    </>
  );
};

type Props = {
  row: ActorRow | null;
  chosen: ChosenActor | null;
  /** All events of the selected actor, oldest first. */
  events: readonly SeenEvent[];
  last: SeenEvent | undefined;
  counts: StateCounts;
  nowMs: number;
  /** The state by which the list is filtered. */
  state: string | null;
  onState: (kind: ActorKind, state: string) => void;
  leave: () => void;
};

export const Chosen = ({ row, chosen, events, last, counts, nowMs, state, onState, leave }: Props): VNode => {
  const { selected: text } = words.inspector;
  const kind = row?.kind ?? "generation";
  const machine = MACHINE_OF[kind];
  const chart = useMemo(() => chartOf(MACHINES[machine].machine), [machine]);
  const taken = useMemo(() => events.flatMap((event) => edgeOf(chart, event) ?? []), [chart, events]);
  return (
    <section class="live-chosen" aria-label={text.label}>
      <div class="live-head">
        <h2>{row?.name ?? text.allGenerations}</h2>
        {row?.kind === "generation" ? (
          <a class="button is-small" href={`/inspector/${row.id}`}>
            {text.replay}
          </a>
        ) : null}
        {row ? (
          <button type="button" class="button is-small" onClick={leave}>
            <Icon of={X} size={16} />
            {text.clear}
          </button>
        ) : null}
      </div>
      {row ? <Summary {...{ row, chosen, events, nowMs }} /> : <p class="muted">{text.about}</p>}
      <Chart
        key={row?.id ?? ""}
        chart={chart}
        active={row ? [row.state] : []}
        edge={edgeOf(chart, last)}
        taken={row ? taken : []}
        counts={counts[kind] ?? {}}
        chosen={state}
        onState={(pressed) => onState(kind, pressed)}
        follow={row ? `${row.id} ${last?.no ?? 0}` : null}
      />
    </section>
  );
};
