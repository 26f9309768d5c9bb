// Form for buying credits: fixed packs or any whole amount within the limits.
import { useState } from "preact/hooks";
import type { Bought, CreditsView } from "../../../src/console/credits-dto.ts";
import { call, errorText } from "../../components/api.ts";
import { words } from "../../words/console-words.ts";
import { numberText, usdText } from "./amounts.ts";

const OTHER = "other";

/** The fault of an amount, or null. */
export const amountFault = (text: string, { leastUsd, mostUsd }: CreditsView["buying"]): string | null => {
  const isWhole = /^\d{1,7}$/.test(text.trim());
  const usd = Number(text);
  if (isWhole && usd >= leastUsd && usd <= mostUsd) return null;
  return words.credits.wrongAmount(numberText(leastUsd), numberText(mostUsd));
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
      setFault({ field: false, text: errorText(thrown) });
      setBusy(false);
    }
  };

  const isRight = amountFault(amount, buying) === null;
  const label = isRight ? words.credits.buyAmount(usdText(Number(amount) * 100, 0)) : words.credits.buy;
  if (buying.provider === null) return <p class="muted">{words.credits.notSold}</p>;
  return (
    <form onSubmit={(event) => void buy(event)} noValidate class="buying">
      <fieldset class="packs">
        <legend>{words.credits.amount}</legend>
        {buying.packsUsd.map((usd) => (
          <label key={usd} class="pack">
            <input type="radio" name="pack" value={usd} checked={pack === String(usd)} onChange={() => setPack(String(usd))} />
            <span>{usdText(usd * 100, 0)}</span>
          </label>
        ))}
        <label class="pack">
          <input type="radio" name="pack" value={OTHER} checked={pack === OTHER} onChange={() => setPack(OTHER)} />
          <span>{words.credits.other}</span>
        </label>
      </fieldset>
      {pack === OTHER && (
        <label class="field">
          <span>{words.credits.otherAmount(numberText(buying.leastUsd), numberText(buying.mostUsd))}</span>
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
          {isBusy ? words.credits.opening : label}
        </button>{" "}
        {buying.provider === "test" && <span class="muted">{words.credits.testMode}</span>}
      </p>
    </form>
  );
};
