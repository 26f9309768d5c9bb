// Simulated checkout page; no money moves.
import { useState } from "preact/hooks";
import type { PurchaseView } from "../../../src/console/credits-dto.ts";
import { call, errorText } from "../../components/api.ts";
import { Skeleton } from "../../components/skeleton.tsx";
import { useQuery } from "../../components/use-query.ts";
import { words } from "../../words/console-words.ts";
import { usdText } from "./amounts.ts";

export const CheckoutPage = ({ id }: { id: string }) => {
  const { checkout } = words;
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
      setFailed(errorText(thrown));
      setBusy(false);
    }
  };
  const wrong = fault ?? failed;
  return (
    <section class="checkout card" aria-label={words.pages.checkout}>
      <p class="notice warn">{checkout.testMode}</p>
      {wrong && (
        <p class="fault" role="alert">
          {wrong}
        </p>
      )}
      {!purchase && !wrong && <Skeleton />}
      {purchase && (
        <>
          <p class="checkout-line">
            <span>
              {checkout.what}
              <small>{checkout.for(purchase.accountName || purchase.accountId)}</small>
            </span>
            <strong>{usdText(purchase.credits)}</strong>
          </p>
          {purchase.state === "open" ? (
            <p class="actions">
              <button type="button" class="primary" disabled={isBusy} onClick={() => void end("pay")}>
                {checkout.pay(usdText(purchase.credits))}
              </button>
              <button type="button" disabled={isBusy} onClick={() => void end("cancel")}>
                {checkout.cancel}
              </button>
            </p>
          ) : (
            <p>
              {checkout.ended} <a href="/console/credits">{checkout.back}</a>
            </p>
          )}
        </>
      )}
    </section>
  );
};
