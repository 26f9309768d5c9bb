// Hook for the balance in the layout: loaded with each page, updated by events.
import { createContext, type VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { CreditsView } from "../../../src/console/credits-dto.ts";
import type { BalanceUpdate } from "../../../src/console/generations-dto.ts";
import { type Query, useQuery } from "../../components/use-query.ts";
import { words } from "../../words/console-words.ts";
import { isListening, useEvents } from "../generations/event-stream.ts";
import { queryOf, usdText } from "./amounts.ts";

const withNews = (credits: CreditsView, { paused, owedCredits, availableCredits, heldCredits }: BalanceUpdate): CreditsView => ({
  ...credits,
  ...{ owedCredits, availableCredits, heldCredits, balanceCredits: availableCredits + heldCredits },
  account: { ...credits.account, paused },
  low: { ...credits.low, isLow: availableCredits < credits.low.thresholdCredits },
});

/** An event during a read may be newer or older than its result. The balance is read again after this delay. */
const AGAIN_MS = 1000;

/** Balance of an account, updated by events. @param account null: the user's own @param more `isAsked` false loads nothing */
export const useCredits = (account: string | null, { isAsked = true } = {}): Query<CreditsView> => {
  const requested = useQuery<CreditsView>(isAsked && isListening.value ? `/console/api/credits${queryOf({ account })}` : null);
  const { value, isBusy, again, put } = requested;
  const isLate = useRef(false);
  const balance = (news: BalanceUpdate) => {
    if (value && news.accountId !== value.account.id) return;
    if (value) put(withNews(value, news));
    else if (!isBusy) again();
    isLate.current = isBusy;
  };
  useEffect(() => {
    if (isBusy || !isLate.current) return;
    isLate.current = false;
    const timer = setTimeout(again, AGAIN_MS);
    return () => clearTimeout(timer);
  }, [isBusy, again]);
  useEvents(account ?? undefined, { balance, again }, isAsked);
  return requested;
};

/** The user's own balance, reloaded with each page. @param hasAccount false for operators without an account */
export const useOwnCredits = (hasAccount: boolean, path: string): Query<CreditsView> => {
  const requested = useCredits(null, { isAsked: hasAccount });
  const { again } = requested;
  const before = useRef(path);
  useEffect(() => {
    if (before.current === path) return;
    before.current = path;
    again();
  }, [path, again]);
  return requested;
};

/** The user's own balance, loaded by the layout; null outside of a layout with an account. */
export const OwnCredits = createContext<Query<CreditsView> | null>(null);

export const Balance = ({ credits }: { credits: CreditsView }): VNode => (
  <a class="balance" href="/console/credits">
    <span class="label">{words.frame.balance} </span>
    <strong>{usdText(credits.balanceCredits)}</strong>
    {credits.heldCredits > 0 && <small>{words.frame.held(usdText(credits.heldCredits))}</small>}
  </a>
);
