// Refunds and disputes in foreign currencies: an operator decides their amount in credits.

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { AccountView, UndecidedLine } from "../../../src/console/operator-dto.ts";
import { call } from "../../components/api.ts";
import { timeText, usd } from "../../components/format.ts";
import { operatorWords } from "../../words/operator-words.ts";
import { locale } from "../../words/words.ts";
import { DialogState, TextField } from "./dialog.tsx";
import { creditsIn } from "./format.ts";
import { API, mayChange } from "./page.tsx";

/** The smallest units of most currencies are hundredths; the browser knows the others. */
const moneyText = (amount: number, currency: string): string => {
  const format = new Intl.NumberFormat(locale, { style: "currency", currency });
  return format.format(amount / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2));
};

const what = ({ kind, amount, currency }: UndecidedLine): string =>
  operatorWords.reversals.what(operatorWords.reversals.kinds[kind], moneyText(amount, currency));

type Props = { of: UndecidedLine; close: () => void; done: (account: AccountView, text: string) => void };
const Deciding = ({ of, close, done }: Props): VNode => {
  const [amount, setAmount] = useState("");
  const [reason, setReason] = useState("");
  const { reversals: says, operator, account: accountWords } = operatorWords;
  const run = async () => {
    // Zero is allowed, to take back nothing.
    const credits = /^0+(\.0{1,2})?$/.test(amount.trim()) ? 0 : creditsIn(amount);
    if (typeof credits === "string") return credits;
    if (credits > of.boughtCredits) return says.tooMuch(usd(of.boughtCredits));
    if (reason.trim() === "") return operator.reasonFault;
    const path = `${API}/accounts/${of.accountId}/reversals/${of.id}`;
    const account = await call<AccountView>("POST", path, { credits, reason: reason.trim() });
    done(account, `${says.done(of.id, usd(credits))}${account.paused ? "" : ` ${says.activeAgain}`}`);
    return undefined;
  };
  return (
    <DialogState title={says.title(of.id)} does={says.decide} close={close} run={run}>
      <p>{says.about(what(of), usd(of.boughtCredits), of.paymentIntent)}</p>
      <TextField says={accountWords.amount} isRequired value={amount} set={setAmount} inputMode="decimal" />
      <TextField says={operator.reason} isRequired value={reason} set={setReason} maxLength={500} about={says.reasonAbout} />
    </DialogState>
  );
};

/** Undecided reversals of one account, with the dialog for the decision. */
export const Undecided = ({ of, done }: { of: AccountView; done: Props["done"] }): VNode | null => {
  const [open, setOpen] = useState<UndecidedLine | null>(null);
  if (of.undecided.length === 0) return null;
  const { reversals: says } = operatorWords;
  return (
    <section class="notice is-bad">
      {of.undecided.map((one) => (
        <p key={one.id}>
          {says.waits(what(one), one.id, timeText(one.atMs))}{" "}
          {mayChange() && (
            <button type="button" class="button" onClick={() => setOpen(one)}>
              {says.decide}
            </button>
          )}
        </p>
      ))}
      {open !== null && (
        <Deciding
          of={open}
          close={() => setOpen(null)}
          done={(account, text) => {
            setOpen(null);
            done(account, text);
          }}
        />
      )}
    </section>
  );
};

/** Undecided reversals of all accounts, with links to the accounts. */
export const UndecidedOfAll = ({ undecided }: { undecided: readonly UndecidedLine[] }): VNode | null =>
  undecided.length === 0 ? null : (
    <section class="notice is-bad">
      {undecided.map((one) => (
        <p key={one.id}>
          {operatorWords.reversals.waitsFor(what(one))}{" "}
          <a href={`/console/operator/accounts/${one.accountId}`}>{one.accountId}</a>
        </p>
      ))}
    </section>
  );
