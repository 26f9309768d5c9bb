// Form for buying credits: fixed packs or any whole amount within the limits.
import { useState } from "preact/hooks";
import type { Bought, CreditsView } from "../../../src/console/credits-dto.ts";
import { call } from "../../components/api.ts";
import { usdText } from "./amounts.ts";

const OTHER = "other";

/** The fault of an amount, or null. */
export const amountFault = (text: string, { leastUsd, mostUsd }: CreditsView["buying"]): string | null => {
  const isWhole = /^\d{1,7}$/.test(text.trim());
  const usd = Number(text);
  if (isWhole && usd >= leastUsd && usd <= mostUsd) return null;
  return `Enter a whole number from ${leastUsd} to ${mostUsd.toLocaleString("en-US")}.`;
};

export const Buying = ({ buying }: { buying: CreditsView["buying"] }) => {
  const [pack, setPack] = useState(String(buying.packsUsd[1] ?? buying.leastUsd));
  const [other, setOther] = useState("");
  const [fault, setFault] = useState<{ field: boolean; text: string } | null>(null);
  const [isBusy, setBusy] = useState(false);
  const amount = pack === OTHER ? other : pack;

  const buy = async (event: Event) => {
    event.preventDefault();
    const wrong = amountFault(amount, buying);
    if (wrong !== null) return setFault({ field: true, text: wrong });
    setFault(null);
    setBusy(true);
    try {
      const { url } = await call<Bought>("POST", "/console/api/purchases", { amount_usd: Number(amount) });
      location.assign(url);
    } catch (thrown) {
      setFault({ field: false, text: thrown instanceof Error ? thrown.message : String(thrown) });
      setBusy(false);
    }
  };

  if (buying.provider === null)
    return <p class="muted">Purchases are disabled. Your operator can grant credits to your account.</p>;
  return (
    <form onSubmit={(event) => void buy(event)} noValidate class="buying">
      <fieldset class="packs">
        <legend>Amount in USD</legend>
        {buying.packsUsd.map((usd) => (
          <label key={usd} class="pack">
            <input type="radio" name="pack" value={usd} checked={pack === String(usd)} onChange={() => setPack(String(usd))} />
            <span>{usdText(usd * 100, 0)}</span>
          </label>
        ))}
        <label class="pack">
          <input type="radio" name="pack" value={OTHER} checked={pack === OTHER} onChange={() => setPack(OTHER)} />
          <span>Other</span>
        </label>
      </fieldset>
      {pack === OTHER && (
        <label class="field">
          <span>
            Other amount, {buying.leastUsd} to {buying.mostUsd.toLocaleString("en-US")} whole USD
          </span>
          <input
            name="amount"
            inputMode="numeric"
            autocomplete="off"
            value={other}
            aria-invalid={fault?.field === true}
            aria-describedby={fault?.field ? "amount-fault" : undefined}
            onInput={(event) => setOther(event.currentTarget.value)}
          />
        </label>
      )}
      {fault && (
        <p class="fault" role="alert" id="amount-fault">
          {fault.text}
        </p>
      )}
      <p>
        <button type="submit" class="primary" disabled={isBusy}>
          {isBusy
            ? "Opening the checkout…"
            : `Buy ${amountFault(amount, buying) === null ? usdText(Number(amount) * 100, 0) : "credits"}`}
        </button>{" "}
        {buying.provider === "test" && <span class="muted">Test checkout: no money is transferred.</span>}
      </p>
    </form>
  );
};
