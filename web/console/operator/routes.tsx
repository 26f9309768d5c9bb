// `/console/operator/routes`: routes with state, outcomes, latency and margin.
//
// Operators enable, disable and try routes here.
import { MoreHorizontal } from "lucide";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { RouteLine, RoutesPage } from "../../../src/console/operator-dto.ts";
import { Menu } from "../../components/menu.tsx";
import { routeStateName } from "../../components/route-state.ts";
import { useQuery } from "../../components/use-query.ts";
import { LabelledField, TextField } from "./dialog.tsx";
import { percent, relativeAge, span } from "./format.ts";
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

/** Shown on hover: the table has the median only. */
const latencyText = ({ latency, expectedMs, isMeasured }: RouteLine): string => {
  const expected = `expected ${span(expectedMs)}, ${isMeasured ? "measured" : "from the catalogue"}`;
  if (latency === null) return `no deliveries yet; ${expected}`;
  return `p50 ${span(latency.p50Ms)}, p90 ${span(latency.p90Ms)}, p99 ${span(latency.p99Ms)}; ${expected}`;
};

const outcomesText = ({ outcomes: { delivered, failed, refused } }: RouteLine): string =>
  delivered + failed + refused === 0
    ? "no attempts"
    : `${delivered} delivered, ${failed} failed${refused === 0 ? "" : `, ${refused} refused`}`;

/** `z-image-turbo/fal` → `z-image-turbo` */
const modelOf = ({ id }: RouteLine): string => id.split("/")[0] ?? id;

const columnsOf = (act: (action: RouteAction) => void): readonly Column<RouteLine>[] => {
  const columns: Column<RouteLine>[] = [
    {
      says: "Route",
      by: ({ id }) => id,
      cell: ({ id, endpoint }) => <span title={endpoint}>{id}</span>,
    },
    { says: "State", by: ({ state }) => STATES.indexOf(state), cell: (row) => <State of={row} /> },
    {
      says: "Success",
      by: (row) => row.successPercent,
      isNumber: true,
      cell: (row) => <span title={outcomesText(row)}>{percent(row.successPercent)}</span>,
    },
    {
      says: "Latency",
      by: ({ latency }) => latency?.p50Ms ?? null,
      isNumber: true,
      cell: (row) => (
        <span title={latencyText(row)}>{row.latency === null ? `~${span(row.expectedMs)}` : span(row.latency.p50Ms)}</span>
      ),
    },
    { says: "Price", by: ({ price }) => Number(price.leastUsd), isNumber: true, cell: priceText },
    {
      says: "Margin",
      by: ({ margin }) => margin?.leastPercent ?? null,
      isNumber: true,
      cell: (row) => (
        <span class={row.margin !== null && row.margin.leastPercent < 0 ? "bad" : undefined}>{marginText(row)}</span>
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
        <Menu label={`Actions of ${row.id}`} icon={MoreHorizontal}>
          <button type="button" class="menu-item" data-closes onClick={() => act({ kind: "test", of: row })}>
            Test
          </button>
          <button type="button" class="menu-item" data-closes onClick={() => act({ kind: "switch", of: row })}>
            Switch {row.state === "off" ? "on" : "off"}
          </button>
        </Menu>
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
              Point at a value for its details. Success covers the last {attempts.toLocaleString("en-US")} attempts of all routes
              together. Latency covers the last {deliveries} deliveries of each route. A refused input does not count as a failure
              of the route.
              {isShared ? " Max running is the share of the node that serves this page." : ""}
            </p>
            <p class="said" role="status">
              {shown.length === 0 ? "No route matches." : `${shown.length} routes: ${countText(shown)}.`} {message}
            </p>
            {shown.length > 0 && (
              <SortedTable caption="Routes" columns={columnsOf(act)} rows={shown} keyOf={({ id }) => id} groupOf={modelOf} />
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
