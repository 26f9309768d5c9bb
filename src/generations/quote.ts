// Quotes a request with the checks of a submission; nothing is stored or held.
import { refuse } from "../domain/api-errors.ts";
import { type Caller, type Credits, SKIP_REASONS, type SkipReason } from "../domain/types.ts";
import type { ConsideredRoute, Filter } from "../quote/plan.ts";
import { type OpenedInputs, openInputs } from "./own-inputs.ts";
import { checkMedia, checkRequest, explainRequest } from "./request-checks.ts";
import type { SubmitDeps, SubmitRequest } from "./submit.ts";

export type Quoted = {
  /** Price on the route that is tried first. */
  quotedCredits: Credits;
  /** What a submission would hold. */
  reservedCredits: Credits;
  /** Number of planned routes. */
  routes: number;
  /** Expected duration on the route that is tried first, ms. */
  expectedMs: number;
  /** Routes of the model that are not planned, by reason. Routes that are not configured are internal and not counted. */
  skipped: { reason: SkipReason; routes: number }[];
};
export type QuoteRequest = Pick<SubmitRequest, "caller" | "model" | "input" | "maxCostCredits" | "maxWaitMs">;
/** @throws ApiError as the submission would, up to the plan; `insufficient_credits` only before links are opened */
export type Quote = (request: QuoteRequest) => Promise<Quoted>;

export type QuoteDeps = Pick<
  SubmitDeps,
  | "reads"
  | "admission"
  | "catalogue"
  | "routeState"
  | "expectedMs"
  | "allowsHost"
  | "cannotGive"
  | "measure"
  | "ownFiles"
  | "pins"
>;

const REASON_OF: Readonly<Record<Filter, SkipReason | null>> = {
  unconfigured: null,
  unable: "unsupported_input",
  dear: "over_max_cost",
  slow: "over_max_wait",
  down: "unavailable",
};

const skippedIn = (considered: readonly ConsideredRoute[]): Quoted["skipped"] =>
  SKIP_REASONS.flatMap((reason) => {
    const routes = considered.filter(({ stoppedBy }) => stoppedBy !== null && REASON_OF[stoppedBy] === reason).length;
    return routes === 0 ? [] : [{ reason, routes }];
  });

export const createQuote = (deps: QuoteDeps): Quote => {
  /** Links are opened only for accounts that have credits, as in a submission. */
  const requireCredits = async ({ accountId }: Caller): Promise<void> => {
    const account = await deps.reads.account(accountId);
    if (account && account.availableCredits <= 0)
      refuse(
        "insufficient_credits",
        "The links of an input are opened only for an account with available credits; add credits, or quote an input without links.",
      );
  };
  return async (request) => {
    const { model, checked } = checkRequest(deps, request);
    let opened: OpenedInputs = { measured: [], files: new Map() };
    if (checked.links.length > 0) {
      await requireCredits(request.caller);
      opened = await openInputs(deps, checked.links, request.caller);
    }
    checkMedia(deps, model, checked, opened);
    const explanation = explainRequest(deps, request, model, checked, opened.measured);
    if ("refusal" in explanation) throw explanation.refusal;
    const { plan, considered } = explanation;
    const [first] = plan.routes;
    return {
      quotedCredits: plan.quotedCredits,
      reservedCredits: plan.reservedCredits,
      routes: plan.routes.length,
      expectedMs: considered.find(({ routeId }) => routeId === first?.routeId)?.expectedMs ?? 0,
      skipped: skippedIn(considered),
    };
  };
};
