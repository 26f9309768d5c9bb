// Quotes a request for the console's form; errors are returned as values.
//
// Members get no names of routes.

import { ApiError } from "../domain/api-errors.ts";
import type { Json } from "../domain/types.ts";
import type { Preview } from "../generations/preview.ts";
import { readEnvelope } from "../http/parse-submission.ts";
import type { ConsideredRoute } from "../quote/plan.ts";
import type { QuoteDto, QuoteErrorDto } from "./generations-dto.ts";

/** The field at the start of an error message, as in `input.duration: …`. */
export const quoteErrorDto = ({ code, message }: ApiError): QuoteErrorDto => {
  const [, field] = /^(?:input\.)?([a-z_]+)(?:\[\d+\])?:/.exec(message) ?? [];
  return { code, message, field: field ?? null };
};

/** Reason why a route is not in the plan, for members; null if the reason is internal to the service. */
const skippedFor = ({ verdict }: ConsideredRoute): string | null => (verdict === "not configured" ? null : verdict);

/** @param all true if the user may see the names of routes */
export const quoteDto = (preview: Preview, body: Json, all: boolean): QuoteDto => {
  try {
    const { model, explanation, timedBy } = preview(readEnvelope(body));
    if ("refusal" in explanation) return { refusal: quoteErrorDto(explanation.refusal) };
    const { plan, considered } = explanation;
    const isKnown = timedBy.length === 0;
    const prices = plan.routes.map(({ priceCredits }) => priceCredits);
    const planned = new Set(plan.routes.map(({ routeId }) => routeId));
    return {
      refusal: null,
      quotedCredits: isKnown ? plan.quotedCredits : null,
      reservedCredits: isKnown ? plan.reservedCredits : null,
      leastCredits: isKnown ? Math.min(...prices) : null,
      mostCredits: isKnown ? Math.max(...prices) : null,
      timedBy: timedBy.map((name) => `input.${name}`),
      routes: plan.routes.map(({ routeId, priceCredits }, at) => ({
        n: at + 1,
        priceCredits: isKnown ? priceCredits : null,
        expectedS: Math.round((considered.find((one) => one.routeId === routeId)?.expectedMs ?? 0) / 1000),
        ...(all ? { name: routeId, provider: model.routes.find(({ id }) => id === routeId)?.provider ?? "" } : {}),
      })),
      skipped: considered.flatMap((route) => {
        if (planned.has(route.routeId)) return [];
        if (all) return [{ why: route.verdict, name: route.routeId }];
        const why = skippedFor(route);
        return why === null ? [] : [{ why }];
      }),
    };
  } catch (fault) {
    if (fault instanceof ApiError) return { refusal: quoteErrorDto(fault) };
    throw fault;
  }
};
