// Printable receipt of a purchase with later refunds.
import type { PurchaseView } from "../../../src/console/credits-dto.ts";
import { timeText } from "../../components/format.ts";
import { useQuery } from "../../components/use-query.ts";
import { AccountScope } from "../account-scope.tsx";
import { statusOfPurchase, usdText } from "./amounts.ts";

const Receipt = ({ purchase }: { purchase: PurchaseView }) => {
  const takenBack = Math.min(purchase.credits, purchase.refundedCredits + purchase.disputedCredits);
  return (
    <article class="receipt">
      <p>{location.host}</p>
      <dl>
        <dt>Number</dt>
        <dd>{purchase.receipt}</dd>
        <dt>Date</dt>
        <dd>{timeText(purchase.paidAtMs ?? purchase.createdAtMs)}</dd>
        <dt>Account</dt>
        <dd>
          {purchase.accountName} <small>{purchase.accountId}</small>
        </dd>
        <dt>Purchase</dt>
        <dd>{purchase.id}</dd>
        <dt>Paid by</dt>
        <dd>{purchase.provider === "test" ? "Test checkout: no money was transferred" : "Stripe"}</dd>
        {purchase.invoice && (
          <>
            <dt>Invoice</dt>
            <dd>
              <a href={purchase.invoice.url} target="_blank" rel="noopener noreferrer">
                {purchase.invoice.number ?? "Invoice"}
              </a>
            </dd>
          </>
        )}
      </dl>
      <table>
        <thead>
          <tr>
            <th scope="col">Item</th>
            <th scope="col" class="number">
              USD
            </th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <td>Prepaid credits ({purchase.credits.toLocaleString("en-US")} at 0.01 USD)</td>
            <td class="number">{usdText(purchase.credits)}</td>
          </tr>
          {purchase.refundedCredits > 0 && (
            <tr>
              <td>Refunded</td>
              <td class="number">−{usdText(purchase.refundedCredits)}</td>
            </tr>
          )}
          {purchase.disputedCredits > 0 && (
            <tr>
              <td>Reversed by a dispute</td>
              <td class="number">−{usdText(purchase.disputedCredits)}</td>
            </tr>
          )}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">{takenBack > 0 ? "Paid, less reversals" : "Paid"}</th>
            <td class="number">{usdText(purchase.credits - takenBack)}</td>
          </tr>
        </tfoot>
      </table>
      <p class="no-print">
        <button type="button" onClick={() => print()}>
          Print
        </button>{" "}
        <a href="/console/credits">Back to credits</a>
      </p>
    </article>
  );
};

export const ReceiptPage = ({ id }: { id: string }) => {
  const { value: purchase, fault } = useQuery<PurchaseView>(`/console/api/purchases/${encodeURIComponent(id)}`);
  if (fault)
    return (
      <p class="fault" role="alert">
        {fault}
      </p>
    );
  if (!purchase)
    return (
      <p class="muted" aria-busy="true">
        Loading…
      </p>
    );
  if (purchase.receipt === null)
    return (
      <p>
        This purchase of {usdText(purchase.credits)} has no receipt yet: {statusOfPurchase(purchase, Date.now()).toLowerCase()}.
      </p>
    );
  return (
    <>
      <AccountScope account={purchase.accountId} />
      <Receipt purchase={purchase} />
    </>
  );
};
