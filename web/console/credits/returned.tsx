// Page after the checkout: polls the purchase until its state is known.
import { useEffect, useState } from "preact/hooks";
import type { PurchaseView } from "../../../src/console/credits-dto.ts";
import { call } from "../../components/api.ts";
import { usdText } from "./amounts.ts";

const POLL_MS = 2_500;
/** Events usually arrive within seconds; after this many polls the page shows that it may take long. */
const LOOKS = 12;

export const Returned = ({ purchaseId, onPaid }: { purchaseId: string; onPaid: () => void }) => {
  const [purchase, setPurchase] = useState<PurchaseView | null>(null);
  const [looks, setLooks] = useState(0);
  const [fault, setFault] = useState<string | null>(null);
  useEffect(() => {
    let isGone = false;
    const look = async () => {
      try {
        const found = await call<PurchaseView>("POST", `/console/api/purchases/${purchaseId}/look`);
        if (isGone) return;
        setPurchase(found);
        setFault(null);
        if (found.state === "paid") onPaid();
      } catch (thrown) {
        if (!isGone) setFault(thrown instanceof Error ? thrown.message : String(thrown));
      }
    };
    const isKnown = purchase !== null && purchase.state !== "open";
    if (isKnown || looks >= LOOKS) return;
    const timer = setTimeout(() => void look().then(() => isGone || setLooks(looks + 1)), looks === 0 ? 0 : POLL_MS);
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, [purchaseId, looks, purchase, onPaid]);

  if (fault)
    return (
      <p class="notice bad" role="alert">
        {fault}
      </p>
    );
  if (!purchase) return <p class="notice">Checking your payment…</p>;
  const amount = usdText(purchase.credits);
  return (
    <div class="notice" role="status">
      {purchase.state === "paid" && (
        <p>
          Paid. {amount} were added to your account. <a href={`/console/receipts/${purchase.id}`}>Receipt {purchase.receipt}</a>
        </p>
      )}
      {purchase.state === "open" && looks < LOOKS && <p>Waiting for the payment of {amount}…</p>}
      {purchase.state === "open" && looks >= LOOKS && (
        <p>
          The payment of {amount} has not been confirmed yet. Some payment methods take days. The credits are added automatically
          after the confirmation.
        </p>
      )}
      {purchase.state === "expired" && <p>The checkout has expired. Nothing was paid.</p>}
      {purchase.state === "mismatched" && (
        <p>The payment does not match the purchase, so no credits were added. Your operator has been notified.</p>
      )}
    </div>
  );
};
