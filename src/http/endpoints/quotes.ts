// Serves quotes, POST /v1/quotes: the price and the plan of a request, without submitting it.
import type { Quote, Quoted } from "../../generations/quote.ts";
import type { AuthenticatedHandler } from "../auth.ts";
import { parseJson, readBody } from "../body.ts";
import { readEnvelope } from "../parse-submission.ts";
import { addLogContext } from "../request-log-context.ts";
import { usd } from "../resource.ts";
import { answerJson } from "../response.ts";

const quoteObject = ({ quotedCredits, reservedCredits, routes, expectedMs, skipped }: Quoted) => ({
  object: "quote",
  quoted_usd: usd(quotedCredits),
  reserved_usd: usd(reservedCredits),
  routes,
  expected_s: Math.ceil(expectedMs / 1000),
  skipped,
});

export const quoteRequest =
  (quote: Quote): AuthenticatedHandler =>
  async (request, requestId, caller) => {
    addLogContext(request, { account_id: caller.accountId, key_id: caller.keyId });
    const { value } = parseJson(await readBody(request));
    const quoted = await quote({ caller, ...readEnvelope(value) });
    return answerJson(200, JSON.stringify(quoteObject(quoted)), requestId);
  };
