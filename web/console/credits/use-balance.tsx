// The balance of whoever is signed in, as it stands in the frame of every page: read with each page, and moved by the news meanwhile.
import { createContext, type VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { CreditsView } from "../../../src/console/credits-dto.ts";
import type { BalanceUpdate } from "../../../src/console/generations-dto.ts";
import { type Query, useQuery } from "../../components/use-query.ts";
import { isListening, useEvents } from "../generations/event-stream.ts";
import { queryOf, usdText } from "./amounts.ts";

const withNews = (credits: CreditsView, { paused, owedCredits, availableCredits, heldCredits }: BalanceUpdate): CreditsView => ({
  ...credits,
  ...{ owedCredits, availableCredits, heldCredits, balanceCredits: availableCredits + heldCredits },
  account: { ...credits.account, paused },
  low: { ...credits.low, isLow: availableCredits < credits.low.thresholdCredits },
});

/** News that came while credits were being read may be newer or older: they are read once more, this long after. */
const AGAIN_MS = 1000;

/** Credits that follow the news. @param account whose; null: one's own @param more `isAsked` false: there are none to ask for */
export const useCredits = (account: string | null, { isAsked = true } = {}): Query<CreditsView> => {
  const asked = useQuery<CreditsView>(isAsked && isListening.value ? `/console/api/credits${queryOf({ account })}` : null);
  const { value, isBusy, again, put } = asked;
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
  return asked;
};

/** One's own, read anew with each page that is gone to. @param hasAccount operators may have none */
export const useOwnCredits = (hasAccount: boolean, path: string): Query<CreditsView> => {
  const asked = useCredits(null, { isAsked: hasAccount });
  const { again } = asked;
  const before = useRef(path);
  useEffect(() => {
    if (before.current === path) return;
    before.current = path;
    again();
  }, [path, again]);
  return asked;
};

/** One's own credits, as the frame of the page has asked for them; null outside of a frame with an account. */
export const OwnCredits = createContext<Query<CreditsView> | null>(null);

export const Balance = ({ credits }: { credits: CreditsView }): VNode => (
  <a class="balance" href="/console/credits">
    Balance <strong>{usdText(credits.balanceCredits)}</strong>
    {credits.heldCredits > 0 && <small>{usdText(credits.heldCredits)} held</small>}
  </a>
);
