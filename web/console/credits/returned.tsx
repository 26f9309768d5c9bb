// Page after the checkout: polls the purchase until its state is known.
import { useEffect, useState } from "preact/hooks";
import type { PurchaseView } from "../../../src/console/credits-dto.ts";
import { call, errorText } from "../../components/api.ts";
import { words } from "../../words/console-words.ts";
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
        if (!isGone) setFault(errorText(thrown));
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
  const { purchases: says } = words;
  if (!purchase) return <p class="notice">{says.checking}</p>;
  const amount = usdText(purchase.credits);
  return (
    <div class="notice" role="status">
      {purchase.state === "paid" && (
        <p>
          {says.received(amount)} <a href={`/console/receipts/${purchase.id}`}>{says.receipt(purchase.receipt ?? "")}</a>
        </p>
      )}
      {purchase.state === "open" && looks < LOOKS && <p>{says.waiting(amount)}</p>}
      {purchase.state === "open" && looks >= LOOKS && <p>{says.late(amount)}</p>}
      {purchase.state === "expired" && <p>{says.expired}</p>}
      {purchase.state === "mismatched" && <p>{says.mismatched}</p>}
    </div>
  );
};
