// Simulated checkout page; no money moves.
import { useState } from "preact/hooks";
import type { PurchaseView } from "../../../src/console/credits-dto.ts";
import { call } from "../../components/api.ts";
import { useQuery } from "../../components/use-query.ts";
import { usdText } from "./amounts.ts";

export const CheckoutPage = ({ id }: { id: string }) => {
  const path = `/console/api/purchases/${encodeURIComponent(id)}`;
  const { value: purchase, fault } = useQuery<PurchaseView>(path);
  const [failed, setFailed] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const end = async (how: "pay" | "cancel") => {
    setBusy(true);
    try {
      await call("POST", `${path}/test`, { how });
      location.assign(`/console/credits?${how === "pay" ? "purchase" : "cancelled"}=${encodeURIComponent(id)}`);
    } catch (thrown) {
      setFailed(thrown instanceof Error ? thrown.message : String(thrown));
      setBusy(false);
    }
  };
  const wrong = fault ?? failed;
  return (
    <section class="checkout" aria-label="Test checkout">
      <p class="notice warn">Test checkout: no money is transferred.</p>
      {wrong && (
        <p class="fault" role="alert">
          {wrong}
        </p>
      )}
      {purchase && (
        <>
          <p>Prepaid credits for {purchase.accountName || purchase.accountId}</p>
          {purchase.state === "open" ? (
            <p class="pages">
              <button type="button" class="primary" disabled={isBusy} onClick={() => void end("pay")}>
                Pay {usdText(purchase.credits)}
              </button>
              <button type="button" disabled={isBusy} onClick={() => void end("cancel")}>
                Cancel
              </button>
            </p>
          ) : (
            <p>
              This checkout has ended. <a href="/console/credits">Back to credits</a>
            </p>
          )}
        </>
      )}
    </section>
  );
};
