// Low-balance alert: the notice of every page and the form for its threshold.
import { useState } from "preact/hooks";
import type { CreditsView } from "../../../src/console/credits-dto.ts";
import { call } from "../../components/api.ts";
import { queryOf, usdText } from "./amounts.ts";

/** One line at the top of a page; empty if the balance is sufficient. */
export const CreditsNotice = ({ credits }: { credits: CreditsView }) => {
  const { account, owedCredits, low, availableCredits, buying } = credits;
  if (owedCredits > 0)
    return (
      <p class="notice bad" role="status">
        The account has a debt of {usdText(owedCredits)} after a refund or dispute
        {account.paused ? ", and is paused" : ""}. Purchases pay the debt first. <a href="/console/credits">Credits</a>
      </p>
    );
  if (account.paused)
    return (
      <p class="notice bad" role="status">
        This account is paused and cannot generate. Contact your operator.
      </p>
    );
  if (!low.isLow) return null;
  return (
    <p class="notice warn" role="status">
      {usdText(availableCredits)} are available, less than {usdText(low.thresholdCredits)}.{" "}
      <a href="/console/credits">{buying.mayBuy ? "Buy credits" : "Credits"}</a>
    </p>
  );
};

export const LowMark = ({
  credits,
  account,
  put,
}: {
  credits: CreditsView;
  account: string | null;
  put: (credits: CreditsView) => void;
}) => {
  const [text, setText] = useState(String(credits.low.thresholdCredits / 100));
  const [message, setSaid] = useState<{ isFault: boolean; text: string } | null>(null);
  const save = async (usd: number | null) => {
    try {
      const changed = await call<CreditsView>("POST", `/console/api/credits/low${queryOf({ account })}`, { usd });
      put(changed);
      setText(String(changed.low.thresholdCredits / 100));
      setSaid({ isFault: false, text: "Saved." });
    } catch (thrown) {
      setSaid({ isFault: true, text: thrown instanceof Error ? thrown.message : String(thrown) });
    }
  };
  const submit = (event: Event) => {
    event.preventDefault();
    if (!/^\d{1,7}$/.test(text.trim()))
      return setSaid({ isFault: true, text: "Enter a whole number of USD; 0 disables the alert." });
    void save(Number(text));
  };
  return (
    <form onSubmit={submit} noValidate class="low">
      <label class="field">
        <span>Alert below this amount in USD (0: never)</span>
        <input
          name="low"
          inputMode="numeric"
          autocomplete="off"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <button type="submit">Save</button>
      {!credits.low.isDefault && (
        <button type="button" onClick={() => void save(null)}>
          Use the default
        </button>
      )}
      {message && (
        <p class={message.isFault ? "fault" : "muted"} role={message.isFault ? "alert" : "status"}>
          {message.text}
        </p>
      )}
    </form>
  );
};
