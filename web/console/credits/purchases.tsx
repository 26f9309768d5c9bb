// List of purchases with state, link to an open checkout, and receipt.

import { useState } from "preact/hooks";
import type { Bought, PurchasesPage, PurchaseView } from "../../../src/console/credits-dto.ts";
import { call } from "../../components/api.ts";
import { timeText } from "../../components/format.ts";
import { useQuery } from "../../components/use-query.ts";
import { queryOf, statusOfPurchase, usdText } from "./amounts.ts";

const Row = ({ purchase, mayBuy }: { purchase: PurchaseView; mayBuy: boolean }) => {
  const [fault, setFault] = useState<string | null>(null);
  const continuePayment = async () => {
    try {
      location.assign((await call<Bought>("POST", `/console/api/purchases/${purchase.id}/checkout`)).url);
    } catch (thrown) {
      setFault(thrown instanceof Error ? thrown.message : String(thrown));
    }
  };
  const isOpen = purchase.state === "open" && Date.now() < purchase.expiresAtMs;
  return (
    <tr>
      <td data-head="Time">{timeText(purchase.paidAtMs ?? purchase.createdAtMs)}</td>
      <td data-head="Amount" class="number">
        {usdText(purchase.credits)}
      </td>
      <td data-head="Status">
        {statusOfPurchase(purchase, Date.now())}
        {fault && (
          <span class="fault" role="alert">
            {" "}
            {fault}
          </span>
        )}
      </td>
      <td data-head="Documents" class="actions">
        {isOpen && mayBuy && (
          <button type="button" onClick={() => void continuePayment()}>
            Continue to payment
          </button>
        )}
        {purchase.receipt !== null && <a href={`/console/receipts/${purchase.id}`}>Receipt {purchase.receipt}</a>}
        {purchase.invoice && (
          <a href={purchase.invoice.url} target="_blank" rel="noopener noreferrer">
            Invoice {purchase.invoice.number ?? ""}
          </a>
        )}
      </td>
    </tr>
  );
};

export const Purchases = ({ account, mayBuy }: { account: string | null; mayBuy: boolean }) => {
  const [before, setBefore] = useState<string | null>(null);
  const { value, fault } = useQuery<PurchasesPage>(`/console/api/purchases${queryOf({ account, before })}`);
  if (fault)
    return (
      <p class="fault" role="alert">
        {fault}
      </p>
    );
  if (!value)
    return (
      <p class="muted" aria-busy="true">
        Loading…
      </p>
    );
  if (value.purchases.length === 0 && before === null) return <p class="muted">No purchases yet.</p>;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard. */}
      <section class="scrolls cards" tabIndex={0} aria-label="Table of purchases">
        <table>
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col" class="number">
                Amount
              </th>
              <th scope="col">Status</th>
              <th scope="col">Documents</th>
            </tr>
          </thead>
          <tbody>
            {value.purchases.map((purchase) => (
              <Row key={purchase.id} purchase={purchase} mayBuy={mayBuy} />
            ))}
          </tbody>
        </table>
      </section>
      <p class="pages">
        {before !== null && (
          <button type="button" onClick={() => setBefore(null)}>
            Newest
          </button>
        )}
        {value.next !== null && (
          <button type="button" onClick={() => setBefore(value.next)}>
            Older
          </button>
        )}
      </p>
    </>
  );
};
