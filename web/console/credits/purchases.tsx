// List of purchases with state, link to an open checkout, and receipt.

import { CreditCard } from "lucide";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { Bought, PurchasesPage, PurchaseView } from "../../../src/console/credits-dto.ts";
import { call, errorText } from "../../components/api.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { Skeleton } from "../../components/skeleton.tsx";
import { Time } from "../../components/time.tsx";
import { showToast } from "../../components/toast.tsx";
import { useQuery } from "../../components/use-query.ts";
import { words } from "../../words/console-words.ts";
import { queryOf, statusOfPurchase, usdText } from "./amounts.ts";

const isWaiting = (purchase: PurchaseView): boolean => purchase.state === "open" && Date.now() < purchase.expiresAtMs;
const shapeOf = ({ state, refundedCredits, disputedCredits }: PurchaseView): string => {
  if (state === "mismatched" || disputedCredits > 0) return "is-bad";
  return state === "paid" && refundedCredits === 0 ? "is-good" : "";
};

/** The checkout of an open purchase: continue it, or end it. */
const OpenCheckout = ({ purchase, changed }: { purchase: PurchaseView; changed: () => void }): VNode => {
  const { purchases } = words;
  const [fault, setFault] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const run = async (work: () => Promise<void>) => {
    setBusy(true);
    await work().catch((thrown: unknown) => setFault(errorText(thrown)));
    setBusy(false);
  };
  const path = `/console/api/purchases/${purchase.id}`;
  const openCheckout = async () => location.assign((await call<Bought>("POST", `${path}/checkout`)).url);
  const cancel = async () => {
    await call("POST", `${path}/cancel`);
    showToast(purchases.canceled);
    changed();
  };
  return (
    <>
      <button type="button" class="button is-small" disabled={isBusy} onClick={() => void run(openCheckout)}>
        {purchases.continue}
      </button>
      <button
        type="button"
        class="button is-quiet is-small"
        aria-label={purchases.cancelNamed(usdText(purchase.credits))}
        disabled={isBusy}
        onClick={() => void run(cancel)}
      >
        {purchases.cancel}
      </button>
      {fault && (
        <span class="fault" role="alert">
          {fault}
        </span>
      )}
    </>
  );
};

const Row = ({ purchase, mayBuy, changed }: { purchase: PurchaseView; mayBuy: boolean; changed: () => void }): VNode => {
  const { purchases } = words;
  return (
    <tr>
      <td data-head={purchases.time}>
        <Time atMs={purchase.paidAtMs ?? purchase.createdAtMs} />
      </td>
      <td data-head={purchases.amount} class="number">
        {usdText(purchase.credits)}
      </td>
      <td data-head={purchases.status}>
        <span class={`status ${shapeOf(purchase)}`}>{statusOfPurchase(purchase, Date.now())}</span>
      </td>
      <td data-head={purchases.documents} class="actions">
        {isWaiting(purchase) && mayBuy && <OpenCheckout purchase={purchase} changed={changed} />}
        {purchase.receipt !== null && <a href={`/console/receipts/${purchase.id}`}>{purchases.receipt(purchase.receipt)}</a>}
        {purchase.invoice && (
          <a href={purchase.invoice.url} target="_blank" rel="noopener noreferrer">
            {purchases.invoice(purchase.invoice.number ?? "")}
          </a>
        )}
      </td>
    </tr>
  );
};

const Table = ({ rows, mayBuy, changed }: { rows: readonly PurchaseView[]; mayBuy: boolean; changed: () => void }): VNode => {
  const { purchases } = words;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard.
    <section class="scrolls cards" tabIndex={0} aria-label={purchases.table}>
      <table class="paneled">
        <thead>
          <tr>
            <th scope="col">{purchases.time}</th>
            <th scope="col" class="number">
              {purchases.amount}
            </th>
            <th scope="col">{purchases.status}</th>
            <th scope="col">{purchases.documents}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((purchase) => (
            <Row key={purchase.id} purchase={purchase} mayBuy={mayBuy} changed={changed} />
          ))}
        </tbody>
      </table>
    </section>
  );
};

export const Purchases = ({ account, mayBuy }: { account: string | null; mayBuy: boolean }): VNode => {
  const { purchases } = words;
  const [before, setBefore] = useState<string | null>(null);
  const { value, fault, again } = useQuery<PurchasesPage>(`/console/api/purchases${queryOf({ account, before })}`);
  if (fault)
    return (
      <p class="fault" role="alert">
        {fault}
      </p>
    );
  if (!value) return <Skeleton />;
  if (value.purchases.length === 0 && before === null)
    return <EmptyState icon={CreditCard} title={purchases.none} about={purchases.noneAbout} />;
  return (
    <>
      <Table rows={value.purchases} mayBuy={mayBuy} changed={again} />
      <p class="pages">
        {before !== null && (
          <button type="button" onClick={() => setBefore(null)}>
            {purchases.newest}
          </button>
        )}
        {value.next !== null && (
          <button type="button" onClick={() => setBefore(value.next)}>
            {purchases.older}
          </button>
        )}
      </p>
    </>
  );
};
