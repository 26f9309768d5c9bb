// Webhook endpoints as rows: address, events, condition, the last deliveries, and a menu.
import type { IconNode } from "lucide";
import { Ellipsis, KeyRound, Pencil, Power, RotateCw, Send, Trash2 } from "lucide";
import type { VNode } from "preact";
import type { EndpointDto, WebhooksPage } from "../../../src/console/webhooks-dto.ts";
import type { DeliveryState } from "../../../src/domain/webhooks.ts";
import { timeText } from "../../components/format.ts";
import { Menu } from "../../components/menu.tsx";
import { MenuEntry } from "../../components/menu-entry.tsx";
import { RowTable } from "../../components/row-table.tsx";
import { words } from "../../words/console-words.ts";
import { relativeTime } from "../format.ts";
import type { WebhookAction } from "./endpoint-dialogs.tsx";
import { secretOf } from "./secret-dialogs.tsx";

export type EndpointActions = {
  act: (action: WebhookAction) => void;
  test: (endpoint: EndpointDto) => void;
  flip: (endpoint: EndpointDto) => void;
};

const EndpointState = ({ of }: { of: EndpointDto }): VNode => {
  if (!of.enabled) {
    const why = of.disabledReason === null ? words.webhooks.disabledBy : words.webhooks.disabledWhy(of.disabledReason);
    return (
      <div class="stacked">
        <span class="status is-paused">{words.webhooks.disabled}</span>
        <span class="muted">{why}</span>
      </div>
    );
  }
  if (of.failingSinceMs === null) return <span class="status is-active">{words.webhooks.enabled}</span>;
  return (
    <div class="stacked">
      <span class="status is-bad">{words.webhooks.failing}</span>
      <span class="muted" title={timeText(of.failingSinceMs)}>
        {words.webhooks.failingSince(relativeTime(of.failingSinceMs, Date.now()))}
      </span>
    </div>
  );
};

const Outcomes = ({ states }: { states: readonly DeliveryState[] }): VNode => {
  if (states.length === 0) return <span class="muted">{words.webhooks.noDeliveries}</span>;
  const delivered = states.filter((state) => state === "delivered").length;
  return (
    <div class="stacked">
      <span class="outcomes" aria-hidden="true">
        {[...states].reverse().map((state, n) => (
          <i key={n} class={`outcome is-${state}`} title={words.webhooks.states[state]} />
        ))}
      </span>
      <span class="muted">{words.webhooks.delivered(delivered, states.length)}</span>
    </div>
  );
};

const EventsOf = ({ events }: Pick<EndpointDto, "events">): VNode =>
  events.includes("*") ? (
    <span>{words.webhooks.allEvents}</span>
  ) : (
    <span title={events.join(", ")}>{events.length === 1 ? events[0] : words.webhooks.eventCount(events.length)}</span>
  );

type RowProps = EndpointActions & { of: EndpointDto; states: readonly DeliveryState[]; mayChange: boolean };

const EndpointMenu = ({ of, mayChange, act, test, flip }: Omit<RowProps, "states">): VNode => {
  const entry = (label: string, icon: IconNode, onClick: () => void, isDanger = false) => (
    <MenuEntry {...{ label, icon, mayChange, isDanger, onClick }} />
  );
  return (
    <Menu label={words.actionsFor(of.url)} icon={Ellipsis}>
      {of.enabled && entry(words.webhooks.test, Send, () => test(of))}
      {of.enabled && entry(words.webhooks.recover, RotateCw, () => act({ kind: "recover", endpoint: of }))}
      {entry(words.webhooks.edit, Pencil, () => act({ kind: "edit", endpoint: of }))}
      {entry(words.webhooks.secret, KeyRound, () => act(secretOf(of, null)))}
      {entry(of.enabled ? words.webhooks.disable : words.webhooks.enable, Power, () => flip(of))}
      {entry(words.webhooks.delete, Trash2, () => act({ kind: "delete", endpoint: of }), true)}
    </Menu>
  );
};

const Row = ({ states, ...row }: RowProps): VNode => {
  const { of } = row;
  const { columns } = words.webhooks;
  return (
    <tr data-id={of.id}>
      <th scope="row">
        <div class="stacked">
          <span class="row-name">{of.url}</span>
          {of.description !== "" && <span class="muted">{of.description}</span>}
        </div>
      </th>
      <td data-head={columns.events}>
        <EventsOf events={of.events} />
      </td>
      <td data-head={columns.state}>
        <EndpointState of={of} />
      </td>
      <td data-head={columns.outcomes}>
        <Outcomes states={states} />
      </td>
      <td class="row-menu">
        <EndpointMenu {...row} />
      </td>
    </tr>
  );
};

export const EndpointList = ({ page, ...actions }: EndpointActions & { page: WebhooksPage }): VNode => (
  <RowTable columns={words.webhooks.columns} class="endpoints">
    {page.endpoints.map((one) => (
      <Row key={one.id} of={one} states={page.outcomes[one.id] ?? []} mayChange={page.mayChange} {...actions} />
    ))}
  </RowTable>
);
