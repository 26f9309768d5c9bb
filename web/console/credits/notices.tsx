// Notices of an account on every page: debt, pause, a low balance, and a spend alert.
import { X } from "lucide";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { CreditsView } from "../../../src/console/credits-dto.ts";
import { Icon } from "../../components/icon.tsx";
import { words } from "../../words/console-words.ts";
import { usdText } from "./amounts.ts";

/** The month of a dismissed alert, in UTC, with its amount: another amount or month is shown again. */
const dismissedKey = ({ account, spend }: CreditsView): string =>
  `genrouter.spend.${account.id}.${new Date().toISOString().slice(0, 7)}.${spend.alertCredits}`;
const isDismissed = (credits: CreditsView): boolean => {
  try {
    return localStorage.getItem(dismissedKey(credits)) !== null;
  } catch {
    return false;
  }
};

const SpendNotice = ({ credits }: { credits: CreditsView }): VNode | null => {
  const { notices } = words;
  const { alertCredits, monthSpentCredits, isReached } = credits.spend;
  const [isGone, setGone] = useState(() => isDismissed(credits));
  if (!isReached || alertCredits === null || isGone) return null;
  const dismiss = () => {
    setGone(true);
    try {
      localStorage.setItem(dismissedKey(credits), "1");
    } catch {
      // Without local storage it is gone until the page is loaded again.
    }
  };
  return (
    <div class="notice warn with-action" role="status">
      <p>
        {notices.spend(usdText(monthSpentCredits), usdText(alertCredits))} <a href="/console/usage">{notices.usage}</a>
      </p>
      <button type="button" class="button is-quiet is-icon is-small" aria-label={notices.dismiss} onClick={dismiss}>
        <Icon of={X} size={16} />
      </button>
    </div>
  );
};

const BalanceNotice = ({ credits, isHere }: { credits: CreditsView; isHere: boolean }): VNode | null => {
  const { notices } = words;
  const { account, owedCredits, low, availableCredits, buying } = credits;
  if (owedCredits > 0)
    return (
      <p class="notice bad" role="status">
        {account.paused ? notices.debtPaused(usdText(owedCredits)) : notices.debt(usdText(owedCredits))}{" "}
        {!isHere && <a href="/console/credits">{notices.credits}</a>}
      </p>
    );
  if (account.paused)
    return (
      <p class="notice bad" role="status">
        {notices.paused}
      </p>
    );
  // The page of the credits shows it at the amount itself.
  if (!low.isLow || isHere) return null;
  return (
    <p class="notice warn" role="status">
      {notices.low(usdText(availableCredits), usdText(low.thresholdCredits))}{" "}
      <a href="/console/credits">{buying.mayBuy ? notices.buy : notices.credits}</a>
    </p>
  );
};

/** @param more `isHere`: on the page of the credits, which needs no link to itself */
export const CreditsNotice = ({ credits, isHere = false }: { credits: CreditsView; isHere?: boolean }): VNode => (
  <>
    <BalanceNotice credits={credits} isHere={isHere} />
    <SpendNotice key={dismissedKey(credits)} credits={credits} />
  </>
);
