// `/console/operator/routes`: routes with state, outcomes, latency and margin.
//
// Operators enable, disable and try routes here.
import { MoreHorizontal } from "lucide";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { useSearch } from "wouter-preact";
import type { RouteLine, RoutesPage } from "../../../src/console/operator-dto.ts";
import { usdRate } from "../../components/format.ts";
import { Menu } from "../../components/menu.tsx";
import { routeStateName } from "../../components/route-state.ts";
import { useQuery } from "../../components/use-query.ts";
import { operatorWords } from "../../words/operator-words.ts";
import { relativeTime } from "../format.ts";
import { LabelledField, TextField } from "./dialog.tsx";
import { number, percent, span } from "./format.ts";
import { API, Awaited, mayChange } from "./page.tsx";
import { type RouteAction, RouteDialog } from "./route-dialogs.tsx";
import { type Column, SortedTable } from "./table.tsx";

const STATES = ["up", "down", "off", "ended", "no key"] as const;
const STATE_CLASS: Readonly<Record<RouteLine["state"], string>> = {
  up: "is-up",
  down: "is-down",
  off: "is-paused",
  ended: "is-unused",
  "no key": "is-unused",
};

export const RouteStatus = ({ state }: Pick<RouteLine, "state">): VNode => (
  <span class={`status ${STATE_CLASS[state]}`}>{routeStateName(state)}</span>
);

const State = ({ of }: { of: RouteLine }): VNode => {
  const { routes } = operatorWords;
  const nowMs = Date.now();
  return (
    <>
      <RouteStatus state={of.state} />
      {of.reason !== null && <span class="why">{of.reason}</span>}
      {of.sinceMs !== null && <span class="muted">{routes.since(relativeTime(of.sinceMs, nowMs))}</span>}
      {of.untilMs !== null && of.untilMs > nowMs && <span class="muted">{routes.retried(relativeTime(of.untilMs, nowMs))}</span>}
    </>
  );
};

const isLosing = ({ margin }: RouteLine): boolean => margin !== null && margin.leastPercent < 0;

const marginText = ({ margin }: RouteLine): string => {
  if (margin === null) return operatorWords.routes.unknown;
  const [least, most] = [percent(margin.leastPercent, 0), percent(margin.mostPercent, 0)];
  return least === most ? least : operatorWords.routes.range(least, most);
};

/** A loss is named, because the colour alone does not say it. */
const Margin = ({ of }: { of: RouteLine }): VNode =>
  isLosing(of) ? (
    <span class="bad">
      {marginText(of)} <span class="status is-bad">{operatorWords.routes.loss}</span>
    </span>
  ) : (
    <span>{marginText(of)}</span>
  );

const priceText = ({ price: { leastUsd, mostUsd, unit } }: RouteLine): string => {
  const { priceRange, perUnit, units } = operatorWords.routes;
  const [least, most] = [usdRate(Number(leastUsd)), usdRate(Number(mostUsd))];
  const price = least === most ? least : priceRange(least, most);
  return perUnit(price, units[unit] ?? `/ ${unit}`);
};

/** Shown on hover: the table has the median only. */
const latencyText = ({ latency, expectedMs, isMeasured }: RouteLine): string => {
  const { routes } = operatorWords;
  const measured =
    latency === null
      ? routes.noResults
      : routes.percentiles(...([latency.p50Ms, latency.p90Ms, latency.p99Ms].map(span) as [string, string, string]));
  return `${measured}; ${routes.expected(span(expectedMs), isMeasured)}`;
};

const outcomesText = ({ outcomes: { delivered, failed, refused } }: RouteLine): string =>
  delivered + failed + refused === 0
    ? operatorWords.routes.noAttempts
    : operatorWords.routes.outcomes(delivered, failed, refused);

/** `z-image-turbo/fal` → `z-image-turbo` */
const modelOf = ({ id }: RouteLine): string => id.split("/")[0] ?? id;

const RouteName = ({ of }: { of: RouteLine }): VNode => {
  const model = modelOf(of);
  return (
    <span title={of.endpoint}>
      <span class="route-model">{model}/</span>
      {of.id.slice(model.length + 1)}
    </span>
  );
};

const actionColumn = (act: (action: RouteAction) => void): Column<RouteLine> => {
  const { routes } = operatorWords;
  return {
    says: routes.columns.actions,
    cell: (row) => (
      <Menu label={routes.actionsOf(row.id)} icon={MoreHorizontal}>
        <button type="button" class="menu-item" data-closes onClick={() => act({ kind: "test", of: row })}>
          {routes.test}
        </button>
        <button type="button" class="menu-item" data-closes onClick={() => act({ kind: "switch", of: row })}>
          {row.state === "off" ? routes.enable : routes.disable}
        </button>
      </Menu>
    ),
  };
};

const columnsOf = (act: (action: RouteAction) => void): readonly Column<RouteLine>[] => {
  const { columns: says, est, taken } = operatorWords.routes;
  return [
    { says: says.route, by: ({ id }) => id, cell: (row) => <RouteName of={row} /> },
    { says: says.state, by: ({ state }) => STATES.indexOf(state), cell: (row) => <State of={row} /> },
    {
      ...{ says: says.success, by: (row) => row.successPercent, isNumber: true },
      cell: (row) => <span title={outcomesText(row)}>{percent(row.successPercent)}</span>,
    },
    {
      ...{ says: says.latency, by: ({ latency }) => latency?.p50Ms ?? null, isNumber: true },
      cell: (row) => (
        <span title={latencyText(row)}>{row.latency === null ? est(span(row.expectedMs)) : span(row.latency.p50Ms)}</span>
      ),
    },
    { says: says.price, by: ({ price }) => Number(price.leastUsd), isNumber: true, cell: priceText },
    {
      ...{ says: says.margin, by: ({ margin }) => margin?.leastPercent ?? null, isNumber: true },
      cell: (row) => <Margin of={row} />,
    },
    {
      ...{ says: says.running, by: ({ running }) => running.taken, isNumber: true },
      cell: ({ running }) => taken(running.taken, running.of),
    },
    ...(mayChange() ? [actionColumn(act)] : []),
  ];
};

const countText = (routes: readonly RouteLine[]): string =>
  STATES.map((state) => [state, routes.filter((route) => route.state === state).length] as const)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => operatorWords.routes.stateCount(count, operatorWords.routes.states[state]))
    .join(", ");

/** What the list shows: all routes, those of one state, or those that can lose money. */
const isShown = (route: RouteLine, show: string): boolean =>
  show === "all" || (show === "losing" ? isLosing(route) : route.state === show);

type FilterProps = { text: string; setText: (text: string) => void; show: string; setShow: (show: string) => void };
const Filters = ({ text, setText, show, setShow }: FilterProps): VNode => {
  const { routes } = operatorWords;
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <TextField says={routes.search} inputMode="search" value={text} set={setText} />
      <LabelledField says={routes.show}>
        {(id) => (
          <select id={id} value={show} onChange={({ currentTarget }) => setShow(currentTarget.value)}>
            <option value="all">{routes.all}</option>
            {STATES.map((one) => (
              <option key={one} value={one}>
                {routes.states[one]}
              </option>
            ))}
            <option value="losing">{routes.losing}</option>
          </select>
        )}
      </LabelledField>
    </form>
  );
};

export const RoutesView = (): VNode => {
  const page = useQuery<RoutesPage>(`${API}/routes`);
  const asked = new URLSearchParams(useSearch()).get("show");
  const [text, setText] = useState("");
  const [show, setShow] = useState(asked ?? "all");
  const [action, act] = useState<RouteAction | null>(null);
  const [message, say] = useState("");
  return (
    <Awaited of={page}>
      {({ routes, attempts, deliveries, isShared }) => {
        const says = operatorWords.routes;
        const wanted = text.trim().toLowerCase();
        const shown = routes.filter(
          (route) => isShown(route, show) && `${route.id} ${route.provider}`.toLowerCase().includes(wanted),
        );
        return (
          <>
            <Filters {...{ text, setText, show, setShow }} />
            <p class="muted">
              {says.about(number(attempts), number(deliveries))}
              {isShared ? ` ${says.shared}` : ""}
            </p>
            <p class="said" role="status">
              {shown.length === 0 ? says.noMatch : says.shown(shown.length, countText(shown))} {message}
            </p>
            {shown.length > 0 && (
              <SortedTable
                caption={says.caption}
                columns={columnsOf(act)}
                rows={shown}
                keyOf={({ id }) => id}
                groupOf={modelOf}
              />
            )}
            {action !== null && (
              <RouteDialog
                key={`${action.kind} ${action.of.id}`}
                action={action}
                close={() => act(null)}
                done={(sentence) => {
                  say(sentence);
                  act(null);
                  page.again();
                }}
              />
            )}
          </>
        );
      }}
    </Awaited>
  );
};
