// What one webhook delivery sent and received: the request, and every try with its response.
import type { VNode } from "preact";
import type { DeliveryDto, DeliveryRequestDto } from "../../../src/console/webhooks-dto.ts";
import { timeText } from "../../components/format.ts";
import { Skeleton } from "../../components/skeleton.tsx";
import { useQuery } from "../../components/use-query.ts";
import { words } from "../../words/console-words.ts";
import { queryOf } from "../credits/amounts.ts";
import { waited } from "../format.ts";

type Try = DeliveryDto["tries"][number];

export const resultOf = ({ status, error }: Try): string =>
  status === null ? words.webhooks.noResponse(error ?? words.webhooks.unknown) : words.webhooks.status(status);

const Answer = ({ of: { answer, status } }: { of: Try }): VNode | null => {
  if (status === null) return null;
  if (answer === null) return <p class="muted">{words.webhooks.notStored}</p>;
  return answer === "" ? <p class="muted">{words.webhooks.noBody}</p> : <pre class="answer">{answer}</pre>;
};

const Tries = ({ of }: { of: DeliveryDto }): VNode => {
  if (of.tries.length === 0)
    return <p class="muted">{of.state === "dropped" ? words.webhooks.dropped : words.webhooks.notTried}</p>;
  return (
    <ol class="tries">
      {of.tries.map((one, n) => (
        <li key={one.atMs}>
          <p>
            <strong>{words.webhooks.tryOf(n + 1)}</strong> · {resultOf(one)} · {waited(one.durationMs)} · {timeText(one.atMs)}
          </p>
          <Answer of={one} />
        </li>
      ))}
    </ol>
  );
};

/** `{"a":1}` on several lines; other text as it is. */
const indented = (body: string): string => {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
};

const Request = ({ of, account }: { of: DeliveryDto; account: string | null }): VNode => {
  const { value, fault } = useQuery<DeliveryRequestDto>(
    `/console/api/webhook-deliveries/${of.id}/request${queryOf({ account })}`,
  );
  if (fault !== null) return <p class="muted">{fault}</p>;
  if (!value) return <Skeleton lines={4} />;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard.
    <pre class="answer" tabIndex={0}>{`POST ${of.url}\nwebhook-id: ${value.id}\n\n${indented(value.body)}`}</pre>
  );
};

export const DeliveryDetail = ({ of, account }: { of: DeliveryDto; account: string | null }): VNode => (
  <div class="delivery-detail">
    <section>
      <h3>{words.webhooks.request}</h3>
      <Request of={of} account={account} />
      {of.generationId !== null && (
        <p>
          {words.webhooks.generation} <a href={`/console/generations/${of.generationId}`}>{of.generationId}</a>
        </p>
      )}
    </section>
    <section>
      <h3>{words.webhooks.response}</h3>
      <Tries of={of} />
      {of.nextTryAtMs !== null && <p>{words.webhooks.nextTry(timeText(of.nextTryAtMs))}</p>}
    </section>
  </div>
);
