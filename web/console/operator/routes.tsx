// `/console/operator/routes`: routes with state, outcomes, latency and margin.
//
// Operators enable, disable and try routes here.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { RouteLine, RoutesPage } from "../../../src/console/operator-dto.ts";
import { useQuery } from "../../components/use-query.ts";
import { LabelledField, TextField } from "./dialog.tsx";
import { percent, relativeAge, span } from "./format.ts";
import { API, Awaited, mayChange } from "./page.tsx";
import { type RouteAction, RouteDialog } from "./route-dialogs.tsx";
import { LatencySparkline, MarginBar } from "./sparklines.tsx";
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
  <span class={`status ${STATE_CLASS[state]}`}>{state === "off" ? "switched off" : state}</span>
);

const State = ({ of }: { of: RouteLine }): VNode => (
  <>
    <RouteStatus state={of.state} />
    {of.reason !== null && <span class="why">{of.reason}</span>}
    {of.sinceMs !== null && <span class="muted">since {relativeAge(of.sinceMs)}</span>}
    {of.untilMs !== null && of.untilMs > Date.now() && <span class="muted">retried {relativeAge(of.untilMs)}</span>}
  </>
);

const marginText = ({ margin }: RouteLine): string => {
  if (margin === null) return "unknown";
  const [least, most] = [Math.round(margin.leastPercent), Math.round(margin.mostPercent)];
  return least === most ? `${least} %` : `${least} to ${most} %`;
};

const priceText = ({ price: { leastUsd, mostUsd, unit } }: RouteLine): string =>
  leastUsd === mostUsd ? `$${leastUsd} per ${unit}` : `$${leastUsd} to $${mostUsd} per ${unit}`;

const latencyText = ({ latency }: RouteLine): string =>
  latency === null ? "none yet" : `${span(latency.p50Ms)} / ${span(latency.p90Ms)} / ${span(latency.p99Ms)}`;

const columnsOf = (routes: readonly RouteLine[], act: (action: RouteAction) => void): readonly Column<RouteLine>[] => {
  const longestMs = Math.max(1, ...routes.map(({ latency }) => latency?.p99Ms ?? 0));
  const columns: Column<RouteLine>[] = [
    {
      says: "Route",
      by: ({ id }) => id,
      cell: ({ id, endpoint }) => (
        <>
          <strong>{id}</strong>
          <span class="muted">{endpoint}</span>
        </>
      ),
    },
    { says: "State", by: ({ state }) => STATES.indexOf(state), cell: (row) => <State of={row} /> },
    {
      says: "Success",
      by: (row) => row.successPercent,
      isNumber: true,
      cell: ({ successPercent, outcomes: { delivered, failed, refused } }) => (
        <>
          {percent(successPercent)}
          <span class="muted">
            {delivered + failed + refused === 0
              ? "no attempts"
              : `${delivered} delivered, ${failed} failed${refused === 0 ? "" : `, ${refused} refused`}`}
          </span>
        </>
      ),
    },
    {
      says: "Latency p50 / p90 / p99",
      by: ({ latency }) => latency?.p90Ms ?? null,
      isNumber: true,
      cell: (row) => (
        <>
          {latencyText(row)}
          {row.latency && <LatencySparkline {...row.latency} longestMs={longestMs} />}
          <span class="muted">
            expected {span(row.expectedMs)}, {row.isMeasured ? "measured" : "from the catalogue"}
          </span>
        </>
      ),
    },
    { says: "Price", by: ({ price }) => Number(price.leastUsd), isNumber: true, cell: priceText },
    {
      says: "Margin",
      by: ({ margin }) => margin?.leastPercent ?? null,
      isNumber: true,
      cell: (row) => (
        <>
          {marginText(row)}
          {row.margin && <MarginBar {...row.margin} />}
        </>
      ),
    },
    {
      says: "Max running",
      by: ({ running }) => running.taken,
      isNumber: true,
      cell: ({ running }) => `${running.taken} of ${running.of}`,
    },
  ];
  if (mayChange())
    columns.push({
      says: "Actions",
      cell: (row) => (
        <span class="actions">
          <button type="button" class="button" aria-label={`Test ${row.id}`} onClick={() => act({ kind: "test", of: row })}>
            Test
          </button>
          <button
            type="button"
            class="button"
            aria-label={`Switch ${row.state === "off" ? "on" : "off"} ${row.id}`}
            onClick={() => act({ kind: "switch", of: row })}
          >
            Switch {row.state === "off" ? "on" : "off"}
          </button>
        </span>
      ),
    });
  return columns;
};

const countText = (routes: readonly RouteLine[]): string =>
  STATES.map((state) => [state, routes.filter((route) => route.state === state).length] as const)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${count} ${state === "off" ? "switched off" : state}`)
    .join(", ");

export const RoutesView = (): VNode => {
  const page = useQuery<RoutesPage>(`${API}/routes`);
  const [text, setText] = useState("");
  const [state, setState] = useState("all");
  const [action, act] = useState<RouteAction | null>(null);
  const [message, say] = useState("");
  return (
    <Awaited of={page}>
      {({ routes, attempts, deliveries, isShared }) => {
        const wanted = text.trim().toLowerCase();
        const shown = routes.filter(
          (route) => (state === "all" || route.state === state) && `${route.id} ${route.provider}`.toLowerCase().includes(wanted),
        );
        return (
          <>
            <form class="filters" onSubmit={(event) => event.preventDefault()}>
              <TextField says="Search by model or provider" inputMode="search" value={text} set={setText} />
              <LabelledField says="Show">
                {(id) => (
                  <select id={id} value={state} onChange={({ currentTarget }) => setState(currentTarget.value)}>
                    <option value="all">All states</option>
                    {STATES.map((one) => (
                      <option key={one} value={one}>
                        {one === "off" ? "Switched off" : one}
                      </option>
                    ))}
                  </select>
                )}
              </LabelledField>
            </form>
            <p class="muted">
              Success covers the last {attempts.toLocaleString("en-US")} attempts of all routes together. Latency covers the last{" "}
              {deliveries} deliveries of each route. A refused input does not count as a failure of the route.
              {isShared ? " Max running is the share of the node that serves this page." : ""}
            </p>
            <p class="said" role="status">
              {shown.length === 0 ? "No route matches." : `${shown.length} routes: ${countText(shown)}.`} {message}
            </p>
            {shown.length > 0 && (
              <SortedTable caption="Routes" columns={columnsOf(routes, act)} rows={shown} keyOf={({ id }) => id} />
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
