// The balance of whoever is signed in, as it stands in the frame of every page: read with each page, and moved by the news meanwhile.
import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { CreditsView } from "../../../src/console/credits-wire.ts";
import type { BalanceNews } from "../../../src/console/making-wire.ts";
import { type Asked, useAsked } from "../../parts/asked.ts";
import { useNews } from "../making/news.ts";
import { queryOf, usdText } from "./amounts.ts";

const withNews = (credits: CreditsView, { paused, owedCredits, availableCredits, heldCredits }: BalanceNews): CreditsView => ({
  ...credits,
  ...{ owedCredits, availableCredits, heldCredits, balanceCredits: availableCredits + heldCredits },
  account: { ...credits.account, paused },
  low: { ...credits.low, isLow: availableCredits < credits.low.thresholdCredits },
});

/** Credits that follow the news. @param account whose; null: one's own @param isAsked false: there are none to ask for */
export const useCredits = (account: string | null, isAsked = true): Asked<CreditsView> => {
  const asked = useAsked<CreditsView>(isAsked ? `/console/api/credits${queryOf({ account })}` : null);
  const { value, isBusy, again, put } = asked;
  const balance = (news: BalanceNews) => {
    if (value && news.accountId !== value.account.id) return;
    // What is being read may be older than the news: it is read once more.
    if (!value || isBusy) again();
    else put(withNews(value, news));
  };
  useNews(account ?? undefined, { balance, again }, isAsked);
  return asked;
};

/** One's own, read anew with each page that is gone to. @param hasAccount operators may have none */
export const useOwnCredits = (hasAccount: boolean, path: string): CreditsView | undefined => {
  const { value, again } = useCredits(null, hasAccount);
  const before = useRef(path);
  useEffect(() => {
    if (before.current === path) return;
    before.current = path;
    again();
  }, [path, again]);
  return value;
};

export const Balance = ({ credits }: { credits: CreditsView }): VNode => (
  <a class="balance" href="/console/credits">
    Balance <strong>{usdText(credits.balanceCredits)}</strong>
    {credits.heldCredits > 0 && <small>{usdText(credits.heldCredits)} held</small>}
  </a>
);
