// Price of the request being edited, quoted shortly after the last change, with its routes.
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { QuoteDto } from "../../../src/console/generations-dto.ts";
import type { JsonObject } from "../../../src/domain/types.ts";
import { call, errorText } from "../../components/api.ts";
import { usdText } from "../credits/amounts.ts";
import { titleOf } from "./form.ts";

const REST_MS = 250;

export type PriceQuery = { model: string; input: JsonObject };
export type Priced = { quote: QuoteDto | null; fault: string | null };

/** The quote of a request; null while the request is incomplete. */
export const useQuote = (request: PriceQuery | null): Priced => {
  const [priced, setPriced] = useState<Priced>({ quote: null, fault: null });
  const text = request === null ? null : JSON.stringify(request);
  useEffect(() => {
    if (text === null) return setPriced({ quote: null, fault: null });
    const ending = new AbortController();
    const timer = setTimeout(() => {
      call<QuoteDto>("POST", "/console/api/quote", JSON.parse(text), { signal: ending.signal }).then(
        (quote) => setPriced({ quote, fault: null }),
        (thrown: unknown) => {
          if (!ending.signal.aborted) setPriced({ quote: null, fault: errorText(thrown) });
        },
      );
    }, REST_MS);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [text]);
  return priced;
};

type Known = Extract<QuoteDto, { refusal: null }>;

const sentence = ({ leastCredits, mostCredits, reservedCredits, timedBy }: Known): string => {
  if (leastCredits === null || mostCredits === null || reservedCredits === null)
    return `The price depends on the length of ${timedBy.map((name) => titleOf(name.replace("input.", ""))).join(", ")}, which is measured at submission.`;
  const charged =
    leastCredits === mostCredits ? usdText(leastCredits) : `between ${usdText(leastCredits)} and ${usdText(mostCredits)}`;
  return `You are charged ${charged}; ${usdText(reservedCredits)} is held until the generation has ended.`;
};

const Routes = ({ routes, skipped }: Known): VNode => (
  <details>
    <summary>
      {routes.length} {routes.length === 1 ? "route" : "routes"}
    </summary>
    <ol class="quoted-routes">
      {routes.map(({ n, priceCredits, expectedS, name, provider }) => (
        <li key={n}>
          {name ? `${name} (${provider})` : `Route ${n}`}: {priceCredits === null ? "by length" : usdText(priceCredits)}, about{" "}
          {expectedS} s
        </li>
      ))}
    </ol>
    {skipped.length > 0 && (
      <ul>
        {skipped.map(({ why, name }, at) => (
          <li key={name ?? at}>
            {name ?? "A route is skipped"}: {why}
          </li>
        ))}
      </ul>
    )}
    <p class="muted">The routes are tried in this order. Only the route that delivers is charged.</p>
  </details>
);

export const Price = ({ quote, fault }: Priced): VNode => (
  <div class="price" role="status" aria-live="polite">
    {fault !== null && <p class="fault">{fault}</p>}
    {quote === null && fault === null && <p class="muted">Fill in the required fields to show the price.</p>}
    {quote?.refusal && <p class="fault">{quote.refusal.message}</p>}
    {quote?.refusal === null && (
      <>
        <p>{sentence(quote)}</p>
        <Routes {...quote} />
      </>
    )}
  </div>
);
