// Webhook deliveries as rows that open: each shows what it sent and received, and can be sent again.
import { ChevronDown, ChevronRight, RotateCw } from "lucide";
import type { VNode } from "preact";
import { useId, useState } from "preact/hooks";
import type { DeliveryDto } from "../../../src/console/webhooks-dto.ts";
import { call, errorText } from "../../components/api.ts";
import { timeText } from "../../components/format.ts";
import { Icon } from "../../components/icon.tsx";
import { lockUnless } from "../../components/read-only.tsx";
import { Skeleton } from "../../components/skeleton.tsx";
import { Time } from "../../components/time.tsx";
import { words } from "../../words/console-words.ts";
import { queryOf } from "../credits/amounts.ts";
import { DeliveryDetail } from "./delivery-detail.tsx";
import type { Deliveries } from "./use-deliveries.ts";

const STYLES: Readonly<Record<DeliveryDto["state"], string>> = {
  pending: "is-running",
  delivered: "is-succeeded",
  failed: "is-failed",
  dropped: "",
};
const COLUMNS = 7;

const lastOf = ({ tries }: DeliveryDto): string => {
  const last = tries.at(-1);
  if (last === undefined) return "–";
  return last.status === null ? words.webhooks.noResponseShort : words.webhooks.status(last.status);
};

type RowProps = { of: DeliveryDto; account: string | null; mayChange: boolean; resend: () => Promise<void> };

const ResendButton = ({ of, mayChange, resend }: Omit<RowProps, "account">): VNode => {
  const [fault, setFault] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const lock = lockUnless(mayChange);
  const send = async () => {
    setBusy(true);
    setFault(null);
    await resend().catch((thrown: unknown) => setFault(errorText(thrown)));
    setBusy(false);
  };
  return (
    <div class="actions">
      <button
        type="button"
        class="button is-small"
        {...lock}
        disabled={lock.disabled || isBusy}
        aria-label={words.webhooks.resendOf(of.type, timeText(of.createdAtMs))}
        onClick={() => void send()}
      >
        <Icon of={RotateCw} size={16} />
        {words.webhooks.resend}
      </button>
      {fault !== null && (
        <span class="fault" role="alert">
          {fault}
        </span>
      )}
    </div>
  );
};

const Cells = ({ of }: { of: DeliveryDto }): VNode => {
  const { deliveryColumns: columns, states } = words.webhooks;
  return (
    <>
      <td data-head={columns.state}>
        <span class={`status ${STYLES[of.state]}`}>{states[of.state]}</span>
      </td>
      <td data-head={columns.endpoint}>
        <span class="cut" title={of.url}>
          {of.url}
        </span>
      </td>
      <td data-head={columns.tries} class="number">
        {of.tries.length}
      </td>
      <td data-head={columns.last}>{lastOf(of)}</td>
      <td data-head={columns.created}>
        <Time atMs={of.createdAtMs} />
      </td>
    </>
  );
};

const Row = (row: RowProps): VNode => {
  const { of } = row;
  const [isOpen, open] = useState(false);
  const id = useId();
  const details = words.webhooks.details(of.type, timeText(of.createdAtMs));
  return (
    <>
      <tr class="delivery" data-id={of.id} data-state={of.state}>
        <th scope="row">
          <span class="row-name">{of.type}</span>
        </th>
        <Cells of={of} />
        <td class="row-menu">
          <button
            type="button"
            class="button is-quiet is-icon"
            aria-expanded={isOpen}
            aria-controls={id}
            aria-label={details}
            title={words.webhooks.deliveryColumns.details}
            onClick={() => open(!isOpen)}
          >
            <Icon of={isOpen ? ChevronDown : ChevronRight} />
          </button>
        </td>
      </tr>
      <tr id={id} class="detail-row" hidden={!isOpen}>
        <td colSpan={COLUMNS}>
          {isOpen && (
            <>
              <DeliveryDetail of={of} account={row.account} />
              {of.state !== "pending" && <ResendButton {...row} />}
            </>
          )}
        </td>
      </tr>
    </>
  );
};

/** The event leads, because it names the row. */
const HEADS = ["event", "state", "endpoint", "tries", "last", "created", "details"] as const;

const Table = ({
  rows,
  ...of
}: Omit<RowProps, "of" | "resend"> & { rows: readonly DeliveryDto[]; resend: (row: DeliveryDto) => Promise<void> }) => (
  <div class="cards panel">
    <table class="rows deliveries">
      <thead>
        <tr>
          {HEADS.map((name) => (
            <th key={name} scope="col" class={name === "tries" ? "number" : undefined}>
              {name === "details" ? (
                <span class="unseen">{words.webhooks.deliveryColumns[name]}</span>
              ) : (
                words.webhooks.deliveryColumns[name]
              )}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <Row key={row.id} {...of} of={row} resend={() => of.resend(row)} />
        ))}
      </tbody>
    </table>
  </div>
);

export const DeliveryList = (of: { of: Deliveries; account: string | null; mayChange: boolean }): VNode => {
  const { account, mayChange } = of;
  const { rows, isLoaded, isBusy, hasMore, fault, more, again, follow } = of.of;
  const resend = async ({ id }: DeliveryDto) =>
    follow(await call<DeliveryDto>("POST", `/console/api/webhook-deliveries/${id}/redeliver${queryOf({ account })}`));
  return (
    <section aria-labelledby="deliveries">
      <div class="page-head">
        <h2 id="deliveries">{words.webhooks.deliveries}</h2>
        <button type="button" class="button" disabled={isBusy} onClick={again}>
          {words.webhooks.reload}
        </button>
      </div>
      {fault !== null && (
        <p class="notice is-bad" role="alert">
          {fault}
        </p>
      )}
      {!isLoaded && fault === null && <Skeleton lines={4} />}
      {isLoaded && rows.length === 0 && <p class="empty">{words.webhooks.noneSent}</p>}
      {rows.length > 0 && <Table {...{ rows, account, mayChange, resend }} />}
      {hasMore && (
        <p class="actions">
          <button type="button" class="button" disabled={isBusy} onClick={more}>
            {words.showMore}
          </button>
        </p>
      )}
    </section>
  );
};
