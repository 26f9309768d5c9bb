// Refunds and disputes in foreign currencies: an operator decides their amount in credits.

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { AccountView, UndecidedLine } from "../../../src/console/operator-dto.ts";
import { call } from "../../components/api.ts";
import { timeText, usd } from "../../components/format.ts";
import { DialogState, TextField } from "./dialog.tsx";
import { creditsIn } from "./format.ts";
import { API, mayChange } from "./page.tsx";

const what = ({ kind, amount, currency }: UndecidedLine): string =>
  `A ${kind} of ${amount} ${currency} (in the smallest unit of the currency)`;

type Props = { of: UndecidedLine; close: () => void; done: (account: AccountView, text: string) => void };
const Deciding = ({ of, close, done }: Props): VNode => {
  const [amount, setAmount] = useState("");
  const [reason, setReason] = useState("");
  const run = async () => {
    // Zero is allowed, to take back nothing.
    const credits = /^0+(\.0{1,2})?$/.test(amount.trim()) ? 0 : creditsIn(amount);
    if (typeof credits === "string") return credits;
    if (credits > of.boughtCredits) return `Amount in USD: must be at most ${usd(of.boughtCredits)}, the amount of the purchase.`;
    if (reason.trim() === "") return "Enter a reason. It is stored in the audit log.";
    const path = `${API}/accounts/${of.accountId}/reversals/${of.id}`;
    const account = await call<AccountView>("POST", path, { credits, reason: reason.trim() });
    done(account, `${of.id} reverses ${usd(credits)}.${account.paused ? "" : " The account is active again."}`);
    return undefined;
  };
  return (
    <DialogState title={`Decide on ${of.id}`} does="Decide" close={close} run={run}>
      <p>
        {what(of)} of a purchase of {usd(of.boughtCredits)}. Check the payment {of.paymentIntent} in Stripe. An amount of 0
        reverses nothing. The decision is final.
      </p>
      <TextField says="Amount in USD" value={amount} set={setAmount} inputMode="decimal" />
      <TextField says="Reason" value={reason} set={setReason} maxLength={500} about="Stored in the audit log." />
    </DialogState>
  );
};

/** Undecided reversals of one account, with the dialog for the decision. */
export const Undecided = ({ of, done }: { of: AccountView; done: Props["done"] }): VNode | null => {
  const [open, setOpen] = useState<UndecidedLine | null>(null);
  if (of.undecided.length === 0) return null;
  return (
    <section class="notice bad">
      {of.undecided.map((one) => (
        <p key={one.id}>
          {what(one)}, {one.id} of {timeText(one.atMs)}requires a decision. The account is paused until then.{" "}
          {mayChange() && (
            <button type="button" class="button" onClick={() => setOpen(one)}>
              Decide
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
    <section class="notice bad">
      {undecided.map((one) => (
        <p key={one.id}>
          {what(one)} waits for a decision: <a href={`/console/operator/accounts/${one.accountId}`}>{one.accountId}</a>
        </p>
      ))}
    </section>
  );
