// Redacts a generation's history for each audience without changing its replay.
import type { Replayed } from "../../actors/replay/replay.ts";
import type { FailureClass, JsonObject } from "../domain/types.ts";
import { withoutCosts } from "./field-allowlist.ts";
import type { GenerationHistory } from "./generation-history.ts";
import type { GenerationHistoryDto } from "./generation-history-dto.ts";

/**
 * Audiences. `member`: users of the account, without routes and providers. `words`: operators and viewers, with neither prompts
 * nor text of providers, which may repeat prompts. `prompts`: also prompts. `everything`: also text of providers.
 */
export type ViewerRole = "member" | "words" | "prompts" | "everything";

type Event = Replayed["journal"][number]["event"];
const HIDDEN = "hidden";

/** Failure classes that influence the statechart. The other classes reveal more about providers than about the generation. */
const SHOWN_CLASSES: ReadonlySet<FailureClass> = new Set(["refused_input", "rate_limited", "not_sent", "job_failed"]);
const memberFailure = (failure: JsonObject): JsonObject => ({
  ...failure,
  class: SHOWN_CLASSES.has(failure.class as FailureClass) ? (failure.class ?? null) : "job_failed",
});

/** Replaces text of providers and URLs of files by "hidden", so that their presence remains visible. */
const withoutTexts = (event: Event): Event => {
  const shown: Event = { ...event };
  if (shown.failure) shown.failure = { ...(shown.failure as JsonObject), detail: HIDDEN };
  for (const name of ["detail", "reason"]) if (shown[name] !== undefined) shown[name] = HIDDEN;
  if (Array.isArray(shown.results)) shown.results = shown.results.map((file) => ({ ...(file as JsonObject), url: HIDDEN }));
  if (shown.job) shown.job = { jobId: (shown.job as JsonObject).jobId ?? HIDDEN };
  return shown;
};

/** For members: routes by their number in the plan, without providers. */
const forMember = (event: Event, nameOf: (routeId: unknown) => string): Event => {
  const shown = withoutTexts(event);
  if (shown.job) shown.job = { jobId: HIDDEN };
  if (shown.failure) shown.failure = memberFailure(shown.failure as JsonObject);
  if (shown.ref !== undefined) shown.ref = HIDDEN;
  if (shown.spec) {
    const { routeId, kind = null } = shown.spec as JsonObject;
    shown.spec = { routeId: nameOf(routeId), provider: HIDDEN, endpoint: HIDDEN, kind };
  }
  if (Array.isArray(shown.passed))
    shown.passed = shown.passed.map((each) => ({ routeId: nameOf((each as JsonObject).routeId), reason: "not available" }));
  return shown;
};

/** @param input input of the generation; returned only if prompts are shown. */
export const redactHistory = (
  { record, given }: GenerationHistory,
  onlooker: ViewerRole,
  input: JsonObject | null,
): GenerationHistoryDto => {
  const isMember = onlooker === "member";
  const order = given.plan.map(({ routeId }) => routeId);
  const nameOf = (routeId: unknown) => `Route ${order.indexOf(String(routeId)) + 1}`;
  const shownEvent = (event: Event): Event => {
    if (isMember) return forMember(event, nameOf);
    return onlooker === "everything" ? event : withoutTexts(event);
  };
  const { id, model, status, createdAtMs, completedAtMs, quotedCredits, reservedCredits, costCredits, accountId } = record;
  return {
    generation: { id, model, status, createdAtMs, completedAtMs, quotedCredits, reservedCredits, costCredits },
    accountId: isMember ? null : accountId,
    input: onlooker === "prompts" || onlooker === "everything" ? input : null,
    given: {
      ...given,
      plan: withoutCosts(given.plan).map((route) => (isMember ? { ...route, routeId: nameOf(route.routeId) } : route)),
      journal: given.journal.map(({ node, ...line }) => ({
        ...line,
        event: shownEvent(line.event),
        ...(isMember || node === undefined ? {} : { node }),
      })),
    },
  };
};
