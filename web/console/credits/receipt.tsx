// Printable receipt of a purchase with its seller and later refunds.
import { Printer } from "lucide";
import type { ComponentChildren, VNode } from "preact";
import type { ReceiptView } from "../../../src/console/credits-dto.ts";
import { me } from "../../components/api.ts";
import { timeText } from "../../components/format.ts";
import { Icon } from "../../components/icon.tsx";
import { Skeleton } from "../../components/skeleton.tsx";
import { useQuery } from "../../components/use-query.ts";
import { words } from "../../words/console-words.ts";
import { AccountScope } from "../account-scope.tsx";
import { numberText, statusOfPurchase, usdText } from "./amounts.ts";

const Fact = ({ label, children }: { label: string; children: ComponentChildren }): VNode => (
  <div>
    <dt>{label}</dt>
    <dd>{children}</dd>
  </div>
);

/** Seller and buyer. Without settings no seller is named, and operators read how to name one. */
const Parties = ({ purchase: { seller, accountName, accountId } }: { purchase: ReceiptView }): VNode => {
  const { receipt } = words;
  return (
    <dl class="receipt-parties">
      {seller && (
        <Fact label={receipt.seller}>
          <strong>{seller.name}</strong>
          <span class="receipt-address">{seller.address}</span>
          {seller.taxId !== "" && <span>{receipt.taxId(seller.taxId)}</span>}
        </Fact>
      )}
      <Fact label={receipt.billedTo}>
        <strong>{accountName || accountId}</strong>
        <small>{accountId}</small>
      </Fact>
    </dl>
  );
};

const Facts = ({ purchase }: { purchase: ReceiptView }): VNode => {
  const { receipt } = words;
  return (
    <dl class="receipt-facts">
      <Fact label={receipt.number}>{purchase.receipt}</Fact>
      <Fact label={receipt.date}>{timeText(purchase.paidAtMs ?? purchase.createdAtMs)}</Fact>
      <Fact label={receipt.purchase}>{purchase.id}</Fact>
      <Fact label={receipt.paidBy}>{purchase.provider === "test" ? receipt.test : receipt.stripe}</Fact>
      {purchase.invoice && (
        <Fact label={receipt.invoice}>
          <a href={purchase.invoice.url} target="_blank" rel="noopener noreferrer">
            {purchase.invoice.number ?? receipt.invoice}
          </a>
        </Fact>
      )}
    </dl>
  );
};

const Items = ({ purchase }: { purchase: ReceiptView }): VNode => {
  const { receipt } = words;
  const { credits, refundedCredits, disputedCredits } = purchase;
  const takenBack = Math.min(credits, refundedCredits + disputedCredits);
  const rows = [
    [receipt.credits(numberText(credits)), credits],
    ...(refundedCredits > 0 ? [[receipt.refunded, -refundedCredits] as const] : []),
    ...(disputedCredits > 0 ? [[receipt.disputed, -disputedCredits] as const] : []),
  ] as const;
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">{receipt.item}</th>
          <th scope="col" class="number">
            {receipt.price}
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([says, amount]) => (
          <tr key={says}>
            <td>{says}</td>
            <td class="number">{usdText(amount)}</td>
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">{takenBack > 0 ? receipt.paidLess : receipt.paid}</th>
          <td class="number">{usdText(credits - takenBack)}</td>
        </tr>
      </tfoot>
    </table>
  );
};

const Receipt = ({ purchase }: { purchase: ReceiptView }): VNode => (
  <article class="receipt card">
    <Parties purchase={purchase} />
    <Facts purchase={purchase} />
    <Items purchase={purchase} />
    <p class="actions no-print">
      <button type="button" class="button is-main" onClick={() => print()}>
        <Icon of={Printer} size={16} />
        {words.receipt.print}
      </button>
      <a class="button" href="/console/credits">
        {words.checkout.back}
      </a>
    </p>
  </article>
);

export const ReceiptPage = ({ id }: { id: string }): VNode => {
  const { value: purchase, fault } = useQuery<ReceiptView>(`/console/api/purchases/${encodeURIComponent(id)}`);
  if (fault)
    return (
      <p class="fault" role="alert">
        {fault}
      </p>
    );
  if (!purchase) return <Skeleton lines={8} />;
  if (purchase.receipt === null)
    return <p>{words.receipt.none(usdText(purchase.credits), statusOfPurchase(purchase, Date.now()))}</p>;
  return (
    <>
      <AccountScope account={purchase.accountId} />
      {purchase.seller === null && me.value?.signedIn?.role === "operator" && (
        <p class="notice warn no-print">{words.receipt.noSeller}</p>
      )}
      <Receipt purchase={purchase} />
    </>
  );
};
