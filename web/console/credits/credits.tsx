// Credits page: balance, buying, purchases and the low-balance threshold.
import { useCallback, useContext, useState } from "preact/hooks";
import { useSearch } from "wouter-preact";
import type { CreditsView } from "../../../src/console/credits-dto.ts";
import { useEvents } from "../generations/event-stream.ts";
import { queryOf, usdText } from "./amounts.ts";
import { Buying } from "./buying.tsx";
import { CreditsNotice, LowMark } from "./low-balance-alert.tsx";
import { Purchases } from "./purchases.tsx";
import { Returned } from "./returned.tsx";
import { OwnCredits, useCredits } from "./use-balance.tsx";

const Balance = ({ credits }: { credits: CreditsView }) => (
  <dl class="figures">
    <div>
      <dt>Available</dt>
      <dd class="large">{usdText(credits.availableCredits)}</dd>
    </div>
    <div>
      <dt>Held for generations in progress</dt>
      <dd>{usdText(credits.heldCredits)}</dd>
    </div>
    <div>
      <dt>Balance</dt>
      <dd>{usdText(credits.balanceCredits)}</dd>
    </div>
    {credits.owedCredits > 0 && (
      <div>
        <dt>Owed</dt>
        <dd class="bad">{usdText(credits.owedCredits)}</dd>
      </div>
    )}
  </dl>
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
  if (!credits)
    return (
      <p class="muted" aria-busy="true">
        Loading…
      </p>
    );
  return (
    <div class="credits">
      {purchaseId !== null && <Returned purchaseId={purchaseId} onPaid={onPaid} />}
      {cancelled !== null && (
        <p class="notice" role="status">
          Nothing was purchased or charged.
        </p>
      )}
      <CreditsNotice credits={credits} />
      <Balance credits={credits} />
      <p>
        <a href={`/console/ledger${queryOf({ account })}`}>Ledger: every transfer of this balance</a>
      </p>
      {(credits.buying.mayBuy || credits.buying.provider === null) && account === null && (
        <section aria-labelledby="buy">
          <h2 id="buy">Buy credits</h2>
          <Buying buying={credits.buying} />
        </section>
      )}
      <section aria-labelledby="bought">
        <h2 id="bought">Purchases</h2>
        <Purchases key={paid} account={account} mayBuy={credits.buying.mayBuy} />
      </section>
      <section aria-labelledby="mark">
        <h2 id="mark">Low balance</h2>
        <LowMark credits={credits} account={account} put={put} />
      </section>
    </div>
  );
};
