// `/console/webhooks`: webhook endpoints with their condition, their secrets, and all deliveries.
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { EndpointDto, WebhooksPage } from "../../../src/console/webhooks-dto.ts";
import { errorText } from "../../components/api.ts";
import { timeText } from "../../components/format.ts";
import { useQuery } from "../../components/use-query.ts";
import { queryOf } from "../credits/amounts.ts";
import type { ViewProps } from "../pages.tsx";
import { DeliveryList } from "./deliveries.tsx";
import {
  DEFAULT_SECRET,
  secretOf,
  sendTest,
  setEnabled,
  WEBHOOKS,
  type WebhookAction,
  WebhookDialog,
} from "./endpoint-dialogs.tsx";
import { useDeliveries } from "./use-deliveries.ts";

const factsOf = (of: EndpointDto): [string, ComponentChildren][] => [
  ["Events", of.events.includes("*") ? "all" : of.events.join(", ")],
  ["Created", timeText(of.createdAtMs)],
  ["Last failure", of.lastFailureAtMs === null ? "none" : timeText(of.lastFailureAtMs)],
  ...(of.failingSinceMs === null ? [] : [["Failing since", timeText(of.failingSinceMs)] as [string, string]]),
];

type CardProps = {
  of: EndpointDto;
  act: ((action: WebhookAction) => void) | null;
  /** Runs a change and reports its error. */
  run: (work: () => Promise<unknown>) => void;
  test: () => Promise<unknown>;
  flip: () => Promise<unknown>;
};

const EndpointCard = ({ of, act, run, test, flip }: CardProps): VNode => {
  const button = (says: string, onClick: () => void, isDanger = false) => (
    <button type="button" class={`button${isDanger ? " is-danger" : ""}`} aria-label={`${says}: ${of.url}`} onClick={onClick}>
      {says}
    </button>
  );
  return (
    <li class="card key endpoint" data-id={of.id}>
      <header>
        <h2>{of.url}</h2>
        <span class={`status ${of.enabled ? "is-active" : "is-paused"}`}>{of.enabled ? "enabled" : "disabled"}</span>
      </header>
      {of.description !== "" && <p class="muted">{of.description}</p>}
      {!of.enabled && (
        <p>{of.disabledReason === null ? "The account disabled it." : `The service disabled it: ${of.disabledReason}`}</p>
      )}
      <dl>
        {factsOf(of).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {act && (
        <div class="key-buttons">
          {of.enabled && button("Send test event", () => run(test))}
          {of.enabled && button("Send failed again", () => act({ kind: "recover", endpoint: of }))}
          {button("Change", () => act({ kind: "edit", endpoint: of }))}
          {button("Secret", () => act(secretOf(of, null)))}
          {button(of.enabled ? "Disable" : "Enable", () => run(flip))}
          {button("Delete", () => act({ kind: "delete", endpoint: of }), true)}
        </div>
      )}
    </li>
  );
};

const DEFAULT: WebhookAction = {
  ...{ kind: "secret", title: "Default secret of the account", known: null },
  path: DEFAULT_SECRET,
  rotatePath: `${DEFAULT_SECRET}/rotate`,
};

const Head = (of: { name: string; act: ((action: WebhookAction) => void) | null }): VNode => {
  const { act } = of;
  return (
    <div class="page-head">
      <p>
        An endpoint receives signed events of {of.name}: generations that run and end, paid purchases, and low balances. The
        default secret signs events for addresses that a submission names.
      </p>
      {act && (
        <div class="row-actions">
          <button type="button" class="button" onClick={() => act(DEFAULT)}>
            Default secret
          </button>
          <button id="new-endpoint" type="button" class="button is-main" onClick={() => act({ kind: "create" })}>
            New endpoint
          </button>
        </div>
      )}
    </div>
  );
};

export const WebhooksView = ({ account }: ViewProps): VNode => {
  const { value: page, fault, again } = useQuery<WebhooksPage>(`${WEBHOOKS}${queryOf({ account })}`);
  const deliveries = useDeliveries(account);
  const [action, act] = useState<WebhookAction | null>(null);
  const [said, say] = useState("");
  const [wrong, setWrong] = useState<string | null>(null);
  // The element that opened a dialog may have been removed when it closes; the focus then moves to the head of the page.
  const hadDialog = useRef(false);
  useEffect(() => {
    if (action !== null) hadDialog.current = true;
    else if (hadDialog.current && document.activeElement === document.body) document.getElementById("new-endpoint")?.focus();
  }, [action, page]);
  const run = (work: () => Promise<unknown>) => {
    setWrong(null);
    work().then(again, (thrown: unknown) => setWrong(errorText(thrown)));
  };
  const test = async (endpoint: EndpointDto) => {
    deliveries.follow(await sendTest(endpoint, account));
    say("The test event is sent; its delivery is listed below.");
  };
  const flip = async (endpoint: EndpointDto) => {
    await setEnabled(endpoint, !endpoint.enabled, account);
    say(endpoint.enabled ? "The endpoint is disabled." : "The endpoint is enabled.");
  };
  const done = (text: string, next?: WebhookAction) => {
    say(text);
    act(next ?? null);
    again();
    deliveries.again();
  };
  if (page === undefined)
    return fault === null ? (
      <p aria-busy="true">Loading the webhooks…</p>
    ) : (
      <p class="notice is-bad" role="alert">
        {fault}
      </p>
    );
  const actOn = page.mayChange ? act : null;
  return (
    <>
      <Head name={page.account.name} act={actOn} />
      <p class="said" role="status">
        {said}
      </p>
      {(wrong ?? fault) !== null && (
        <p class="notice is-bad" role="alert">
          {wrong ?? fault}
        </p>
      )}
      {page.endpoints.length === 0 ? (
        <p class="empty">No endpoints yet.</p>
      ) : (
        <ul class="keys">
          {page.endpoints.map((one) => (
            <EndpointCard key={one.id} of={one} act={actOn} run={run} test={() => test(one)} flip={() => flip(one)} />
          ))}
        </ul>
      )}
      <DeliveryList of={deliveries} account={account} mayChange={page.mayChange} />
      {action !== null && <WebhookDialog key={action.kind} {...{ action, account, done }} close={() => act(null)} />}
    </>
  );
};
