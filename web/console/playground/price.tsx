// Prices of the requests being edited, quoted shortly after the last change, with their routes.
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { QuoteDto } from "../../../src/console/generations-dto.ts";
import type { JsonObject } from "../../../src/domain/types.ts";
import { call, errorText } from "../../components/api.ts";
import { words } from "../../words/console-words.ts";
import { usdText } from "../credits/amounts.ts";
import { titleOf } from "./form.ts";

const REST_MS = 250;

export type PriceQuery = { model: string; input: JsonObject };
export type Priced = { quote: QuoteDto | null; fault: string | null };
const NOT_PRICED: Priced = { quote: null, fault: null };

const quoteOf = async (request: PriceQuery | null, signal: AbortSignal): Promise<Priced> => {
  if (request === null) return NOT_PRICED;
  try {
    return { quote: await call<QuoteDto>("POST", "/console/api/quote", request, { signal }), fault: null };
  } catch (thrown) {
    return { quote: null, fault: errorText(thrown) };
  }
};

/** The quotes of requests, in their order; no quote while a request is incomplete (null). */
export const useQuotes = (requests: readonly (PriceQuery | null)[]): readonly Priced[] => {
  const [priced, setPriced] = useState<readonly Priced[]>([]);
  const text = JSON.stringify(requests);
  useEffect(() => {
    const ending = new AbortController();
    const asked = JSON.parse(text) as (PriceQuery | null)[];
    const ask = async () => {
      const answers = await Promise.all(asked.map((request) => quoteOf(request, ending.signal)));
      if (!ending.signal.aborted) setPriced(answers);
    };
    if (asked.every((request) => request === null)) setPriced([]);
    const timer = setTimeout(() => void ask(), REST_MS);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [text]);
  return requests.map((_, n) => priced[n] ?? NOT_PRICED);
};

type Known = Extract<QuoteDto, { refusal: null }>;
type Range = { least: number; most: number };

/** The range of the price in credits; null if the quote has none. */
export const rangeOf = ({ quote }: Priced): Range | null =>
  quote?.refusal === null && quote.leastCredits !== null && quote.mostCredits !== null
    ? { least: quote.leastCredits, most: quote.mostCredits }
    : null;

/** `$0.06`, `$0.06–$0.07`; an empty text if a price is unknown. */
export const totalText = (priced: readonly Priced[], times: number): string => {
  const ranges = priced.map(rangeOf);
  if (ranges.length === 0 || ranges.some((range) => range === null)) return "";
  const sum = (of: (range: Range) => number): number => times * ranges.reduce((all, range) => all + (range ? of(range) : 0), 0);
  const [least, most] = [sum((range) => range.least), sum((range) => range.most)];
  return least === most ? usdText(least) : `${usdText(least)}–${usdText(most)}`;
};

const sentence = ({ leastCredits, mostCredits, reservedCredits, timedBy }: Known): string => {
  const { playground } = words;
  if (leastCredits === null || mostCredits === null || reservedCredits === null)
    return playground.byLength(timedBy.map((name) => titleOf(name.replace("input.", ""))).join(", "));
  const [least, most] = [usdText(leastCredits), usdText(mostCredits)];
  return playground.charged(least === most ? least : playground.between(least, most), usdText(reservedCredits));
};

const Routes = ({ routes, skipped }: Known): VNode => (
  <details>
    <summary>{words.playground.routes(routes.length)}</summary>
    <ol class="quoted-routes">
      {routes.map(({ n, priceCredits, expectedS, name, provider }) => (
        <li key={n}>
          {words.playground.routeLine(
            name ? `${name} (${provider})` : words.playground.route(n),
            priceCredits === null ? words.playground.routeByLength : usdText(priceCredits),
            expectedS,
          )}
        </li>
      ))}
    </ol>
    {skipped.length > 0 && (
      <ul>
        {skipped.map(({ why, name }, at) => (
          <li key={name ?? at}>
            {name ?? words.playground.routeSkipped}: {why}
          </li>
        ))}
      </ul>
    )}
    <p class="muted">{words.playground.onlyDelivered}</p>
  </details>
);

/** @param isShownAtField the refusal is shown at its field */
export const Price = ({ quote, fault, isShownAtField }: Priced & { isShownAtField: boolean }): VNode => (
  <div class="price" role="status" aria-live="polite">
    {fault !== null && <p class="fault">{fault}</p>}
    {quote === null && fault === null && <p class="muted">{words.playground.enterPrompt}</p>}
    {quote?.refusal && !isShownAtField && <p class="fault">{quote.refusal.message}</p>}
    {quote?.refusal === null && (
      <>
        <p>{sentence(quote)}</p>
        <Routes {...quote} />
      </>
    )}
  </div>
);
