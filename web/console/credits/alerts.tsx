// Alerts of an account: the forms for its low balance and for its spend of a month.
import type { VNode } from "preact";
import { useId, useState } from "preact/hooks";
import type { CreditsView } from "../../../src/console/credits-dto.ts";
import { call, errorText } from "../../components/api.ts";
import { words } from "../../words/console-words.ts";
import { queryOf } from "./amounts.ts";

type Props = { credits: CreditsView; account: string | null; put: (credits: CreditsView) => void };
type Kind = "low" | "spend";

/** What the field shows for the stored amount. */
const textOf = (kind: Kind, { low, spend }: CreditsView): string => {
  const credits = kind === "low" ? low.thresholdCredits : spend.alertCredits;
  return credits === null ? "" : String(credits / 100);
};
const TYPED: Readonly<Record<Kind, RegExp>> = { low: /^\d{1,7}$/, spend: /^([1-9]\d{0,6})?$/ };
const PATHS = { low: "low", spend: "spend-alert" } as const;

const AlertForm = ({ kind, credits, account, put }: Props & { kind: Kind }): VNode => {
  const { alerts } = words;
  const id = useId();
  const [text, setText] = useState(textOf(kind, credits));
  const [message, setMessage] = useState<{ isFault: boolean; text: string } | null>(null);
  const [isBusy, setBusy] = useState(false);
  const labels = kind === "low" ? [alerts.low, alerts.lowHint] : [alerts.spend, alerts.spendHint];
  const [label = "", hint = ""] = labels;
  const save = async (usd: number | null) => {
    setBusy(true);
    try {
      const changed = await call<CreditsView>("POST", `/console/api/credits/${PATHS[kind]}${queryOf({ account })}`, { usd });
      put(changed);
      setText(textOf(kind, changed));
      setMessage({ isFault: false, text: alerts.saved });
    } catch (thrown) {
      setMessage({ isFault: true, text: errorText(thrown) });
    }
    setBusy(false);
  };
  const submit = (event: Event) => {
    event.preventDefault();
    const typed = text.trim();
    if (!TYPED[kind].test(typed) || Number(typed) > 1_000_000)
      return setMessage({ isFault: true, text: kind === "low" ? alerts.wrongLow : alerts.wrongSpend });
    void save(typed === "" ? null : Number(typed));
  };
  return (
    <form onSubmit={submit} noValidate class="alert-form">
      <div class="field">
        <label for={id}>{label}</label>
        <span class="alert-line">
          <input
            id={id}
            name={kind}
            inputMode="numeric"
            autocomplete="off"
            value={text}
            aria-describedby={`${id}-hint`}
            aria-invalid={message?.isFault === true}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <button type="submit" class="button" aria-label={alerts.saveNamed(label)} disabled={isBusy}>
            {alerts.save}
          </button>
          {kind === "low" && !credits.low.isDefault && (
            <button type="button" class="button is-quiet" disabled={isBusy} onClick={() => void save(null)}>
              {alerts.default}
            </button>
          )}
        </span>
        <span class="field-hint" id={`${id}-hint`}>
          {hint}
        </span>
        {message && (
          <span class={message.isFault ? "fault" : "muted"} role={message.isFault ? "alert" : "status"}>
            {message.text}
          </span>
        )}
      </div>
    </form>
  );
};

export const Alerts = (props: Props): VNode => (
  <>
    <AlertForm kind="low" {...props} />
    <AlertForm kind="spend" {...props} />
    <p class="muted">{words.alerts.about}</p>
  </>
);
