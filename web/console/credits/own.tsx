// The balance of whoever is signed in, as it stands in the frame of every page: read with each page, and moved by the news meanwhile.
import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { CreditsView } from "../../../src/console/credits-wire.ts";
import type { BalanceNews, PurchaseNews } from "../../../src/console/making-wire.ts";
import { type Asked, useAsked } from "../../parts/asked.ts";
import { useNews } from "../making/news.ts";
import { queryOf, usdText } from "./amounts.ts";

const withNews = (credits: CreditsView, { paused, owedCredits, availableCredits, heldCredits }: BalanceNews): CreditsView => ({
  ...credits,
  ...{ owedCredits, availableCredits, heldCredits, balanceCredits: availableCredits + heldCredits },
  account: { ...credits.account, paused },
  low: { ...credits.low, isLow: availableCredits < credits.low.thresholdCredits },
});

/** News that came while credits were being read may be newer or older: they are read once more, this long after. */
const AGAIN_MS = 1000;

/** Credits that follow the news. @param account whose; null: one's own @param more `isAsked` false: there are none to ask for; `purchase`: what became of one */
export const useCredits = (
  account: string | null,
  { isAsked = true, purchase }: { isAsked?: boolean; purchase?: (news: PurchaseNews) => void } = {},
): Asked<CreditsView> => {
  const asked = useAsked<CreditsView>(isAsked ? `/console/api/credits${queryOf({ account })}` : null);
  const { value, isBusy, again, put } = asked;
  const isLate = useRef(false);
  const balance = (news: BalanceNews) => {
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
  useNews(account ?? undefined, { balance, again, ...(purchase ? { purchase } : {}) }, isAsked);
  return asked;
};

/** One's own, read anew with each page that is gone to. @param hasAccount operators may have none */
export const useOwnCredits = (hasAccount: boolean, path: string): CreditsView | undefined => {
  const { value, again } = useCredits(null, { isAsked: hasAccount });
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
