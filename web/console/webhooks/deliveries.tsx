// Webhook deliveries with their tries; each can be sent again.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { DeliveryDto } from "../../../src/console/webhooks-dto.ts";
import { call, errorText } from "../../components/api.ts";
import { timeText } from "../../components/format.ts";
import { queryOf } from "../credits/amounts.ts";
import { waited } from "../format.ts";
import type { Deliveries } from "./use-deliveries.ts";

type Try = DeliveryDto["tries"][number];

const STATES: Readonly<Record<DeliveryDto["state"], readonly [says: string, style: string]>> = {
  pending: ["Pending", "is-running"],
  delivered: ["Delivered", "is-succeeded"],
  failed: ["Failed", "is-failed"],
  dropped: ["Dropped", ""],
};

const resultOf = ({ status, error }: Try): string =>
  status === null ? `no response: ${error ?? "unknown"}` : `status ${status}`;

const TryItem = ({ of }: { of: Try }): VNode => (
  <li>
    {timeText(of.atMs)}: {resultOf(of)}, {waited(of.durationMs)}
    {of.answer !== null && of.answer !== "" && <pre class="answer">{of.answer}</pre>}
    {of.answer === null && of.status !== null && (
      <span class="muted"> (no response is stored: the host is private, or the generation was deleted)</span>
    )}
  </li>
);

const lastOf = ({ tries, state }: DeliveryDto): string => {
  const last = tries.at(-1);
  if (last === undefined) return state === "pending" ? "No try yet." : "Not tried.";
  const count = `${tries.length} ${tries.length === 1 ? "try" : "tries"}`;
  return `${count}, the last with ${resultOf(last)}.`;
};

const Item = (of: { of: DeliveryDto; redeliver: (() => Promise<void>) | null }): VNode => {
  const { id, type, state, url, generationId, createdAtMs, nextTryAtMs, tries } = of.of;
  const [fault, setFault] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [says, style] = STATES[state];
  const send = async (redeliver: () => Promise<void>) => {
    setBusy(true);
    setFault(null);
    await redeliver().catch((thrown: unknown) => setFault(errorText(thrown)));
    setBusy(false);
  };
  return (
    <li class="card delivery" data-id={id} data-state={state}>
      <header>
        <h3>{type}</h3>
        <span class={`status ${style}`}>{says}</span>
        <span class="muted">{timeText(createdAtMs)}</span>
      </header>
      <p class="address">
        to <code>{url}</code>
        {generationId !== null && (
          <>
            {" "}
            about <a href={`/console/generations/${generationId}`}>{generationId}</a>
          </>
        )}
      </p>
      {tries.length === 0 ? (
        <p>{lastOf(of.of)}</p>
      ) : (
        <details>
          <summary>
            {lastOf(of.of)}
            {nextTryAtMs !== null && ` The next one is at ${timeText(nextTryAtMs)}.`}
          </summary>
          <ol class="tries">
            {tries.map((one) => (
              <TryItem key={one.atMs} of={one} />
            ))}
          </ol>
        </details>
      )}
      {fault !== null && (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
      {of.redeliver && (
        <p class="actions">
          <button
            type="button"
            class="button"
            disabled={isBusy}
            aria-label={`Send again: ${type} of ${timeText(createdAtMs)}`}
            onClick={() => of.redeliver && void send(of.redeliver)}
          >
            Send again
          </button>
        </p>
      )}
    </li>
  );
};

export const DeliveryList = (of: { of: Deliveries; account: string | null; mayChange: boolean }): VNode => {
  const { rows, isLoaded, isBusy, hasMore, fault, more, again, follow } = of.of;
  const redeliver = async ({ id }: DeliveryDto) =>
    follow(await call<DeliveryDto>("POST", `/console/api/webhook-deliveries/${id}/redeliver${queryOf({ account: of.account })}`));
  return (
    <section aria-labelledby="deliveries">
      <div class="page-head">
        <h2 id="deliveries">Deliveries</h2>
        <button type="button" class="button" disabled={isBusy} onClick={again}>
          Reload
        </button>
      </div>
      {fault !== null && (
        <p class="notice is-bad" role="alert">
          {fault}
        </p>
      )}
      {isLoaded && rows.length === 0 && <p class="empty">No deliveries in the last 30 days.</p>}
      <ul class="keys" aria-busy={isBusy && !isLoaded}>
        {rows.map((one) => (
          <Item key={one.id} of={one} redeliver={of.mayChange && one.state !== "pending" ? () => redeliver(one) : null} />
        ))}
      </ul>
      {hasMore && (
        <p class="actions">
          <button type="button" disabled={isBusy} onClick={more}>
            Show more
          </button>
        </p>
      )}
    </section>
  );
};
