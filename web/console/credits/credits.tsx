// Credits page: balance, buying, alerts and purchases.
import { ChartColumn, ReceiptText } from "lucide";
import type { VNode } from "preact";
import { useCallback, useContext, useState } from "preact/hooks";
import { useSearch } from "wouter-preact";
import type { CreditsView } from "../../../src/console/credits-dto.ts";
import { Icon } from "../../components/icon.tsx";
import { Skeleton } from "../../components/skeleton.tsx";
import { words } from "../../words/console-words.ts";
import { useEvents } from "../generations/event-stream.ts";
import { Alerts } from "./alerts.tsx";
import { queryOf, usdText } from "./amounts.ts";
import { Buying } from "./buying.tsx";
import { CreditsNotice } from "./notices.tsx";
import { Purchases } from "./purchases.tsx";
import { Returned } from "./returned.tsx";
import { OwnCredits, useCredits } from "./use-balance.tsx";

const Figure = ({
  label,
  credits,
  about,
  name = "",
}: {
  label: string;
  credits: number;
  about: string;
  name?: string;
}): VNode => (
  <div class={name}>
    <dt>{label}</dt>
    <dd>
      <strong>{usdText(credits)}</strong>
      <small>{about}</small>
    </dd>
  </div>
);

const Balance = ({ credits }: { credits: CreditsView }): VNode => {
  const { credits: says } = words;
  const { low, spend } = credits;
  const about = low.isLow ? says.belowAlert(usdText(low.thresholdCredits)) : "";
  return (
    <dl class="figures card">
      <Figure label={says.available} credits={credits.availableCredits} about={about} name={low.isLow ? "main is-low" : "main"} />
      <Figure label={says.held} credits={credits.heldCredits} about={says.heldAbout} />
      <Figure label={says.balance} credits={credits.balanceCredits} about={says.balanceAbout} />
      <Figure label={says.spent} credits={spend.monthSpentCredits} about={says.spentAbout} />
      {credits.owedCredits > 0 && (
        <Figure label={says.owed} credits={credits.owedCredits} about={says.owedAbout} name="is-owed" />
      )}
    </dl>
  );
};

const Links = ({ account }: { account: string | null }): VNode => (
  <p class="actions">
    <a class="button" href={`/console/ledger${queryOf({ account })}`}>
      <Icon of={ReceiptText} size={16} />
      {words.credits.ledger}
    </a>
    <a class="button" href={`/console/usage${queryOf({ account })}`}>
      <Icon of={ChartColumn} size={16} />
      {words.credits.usage}
    </a>
  </p>
);

export const CreditsPage = () => {
  const query = new URLSearchParams(useSearch());
  const [account, purchaseId, cancelled] = [query.get("account"), query.get("purchase"), query.get("cancelled")];
  // The list is reloaded when a purchase changes, not with each change of the balance.
  const [paid, setPaid] = useState(0);
  const own = useContext(OwnCredits);
  const isOwn = account === null && own !== null;
  const theirs = useCredits(account, { isAsked: !isOwn });
  const { value: credits, fault, again, put } = isOwn ? own : theirs;
  useEvents(account ?? undefined, { purchase: () => setPaid((times) => times + 1) });
  const onPaid = useCallback(() => {
    setPaid((times) => times + 1);
    again();
  }, [again]);
  if (fault)
    return (
      <p class="fault" role="alert">
        {fault}
      </p>
    );
  if (!credits) return <Skeleton lines={6} />;
  return (
    <div class="credits">
      {purchaseId !== null && <Returned purchaseId={purchaseId} onPaid={onPaid} />}
      {cancelled !== null && (
        <p class="notice" role="status">
          {words.credits.canceled}
        </p>
      )}
      <CreditsNotice credits={credits} isHere />
      <Balance credits={credits} />
      <Links account={account} />
      <div class="credit-columns">
        {(credits.buying.mayBuy || credits.buying.provider === null) && account === null && (
          <section class="card" aria-labelledby="buy">
            <h2 id="buy">{words.credits.buy}</h2>
            <Buying buying={credits.buying} />
          </section>
        )}
        <section class="card" aria-labelledby="alerts">
          <h2 id="alerts">{words.alerts.title}</h2>
          <Alerts credits={credits} account={account} put={put} />
        </section>
      </div>
      <section aria-labelledby="bought">
        <h2 id="bought">{words.purchases.title}</h2>
        <Purchases key={paid} account={account} mayBuy={credits.buying.mayBuy} />
      </section>
    </div>
  );
};
