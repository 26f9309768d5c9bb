// Redacts a generation's history for each audience without changing its replay.
import type { Replayed } from "../../actors/replay/replay.ts";
import type { FailureClass, JsonObject } from "../domain/types.ts";
import type { Life } from "./generation-history.ts";
import type { GenerationHistoryDto } from "./generation-history-dto.ts";

/**
 * Audiences. `member`: users of the account, without routes and providers. `words`: operators and viewers, with neither prompts
 * nor text of providers, which may repeat prompts. `prompts`: also prompts. `everything`: also text of providers.
 */
export type ViewerRole = "member" | "words" | "prompts" | "everything";

type Event = Replayed["journal"][number]["event"];
const HIDDEN = "hidden";

/** Failure classes that influence the statechart. The other classes reveal more about providers than about the generation. */
const TOLD_CLASSES: ReadonlySet<FailureClass> = new Set(["refused_input", "rate_limited", "not_sent", "job_failed"]);
const memberFailure = (failure: JsonObject): JsonObject => ({
  ...failure,
  class: TOLD_CLASSES.has(failure.class as FailureClass) ? (failure.class ?? null) : "job_failed",
});

/** Replaces text of providers and URLs of files by "hidden", so that their presence remains visible. */
const withoutTexts = (event: Event): Event => {
  const told: Event = { ...event };
  if (told.failure) told.failure = { ...(told.failure as JsonObject), detail: HIDDEN };
  for (const name of ["detail", "reason"]) if (told[name] !== undefined) told[name] = HIDDEN;
  if (Array.isArray(told.results)) told.results = told.results.map((file) => ({ ...(file as JsonObject), url: HIDDEN }));
  if (told.job) told.job = { jobId: (told.job as JsonObject).jobId ?? HIDDEN };
  return told;
};

/** For members: routes by their number in the plan, without providers. */
const forMember = (event: Event, nameOf: (routeId: unknown) => string): Event => {
  const told = withoutTexts(event);
  if (told.job) told.job = { jobId: HIDDEN };
  if (told.failure) told.failure = memberFailure(told.failure as JsonObject);
  if (told.ref !== undefined) told.ref = HIDDEN;
  if (told.spec) {
    const { routeId, kind = null } = told.spec as JsonObject;
    told.spec = { routeId: nameOf(routeId), provider: HIDDEN, endpoint: HIDDEN, kind };
  }
  if (Array.isArray(told.passed))
    told.passed = told.passed.map((each) => ({ routeId: nameOf((each as JsonObject).routeId), reason: "not available" }));
  return told;
};

/** @param input input of the generation; returned only if prompts are shown. */
export const redactHistory = ({ record, given }: Life, onlooker: ViewerRole, input: JsonObject | null): GenerationHistoryDto => {
  const isMember = onlooker === "member";
  const order = given.plan.map(({ routeId }) => routeId);
  const nameOf = (routeId: unknown) => `Route ${order.indexOf(String(routeId)) + 1}`;
  const tellEvent = (event: Event): Event => {
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
      plan: isMember ? given.plan.map((route) => ({ ...route, routeId: nameOf(route.routeId) })) : given.plan,
      journal: given.journal.map(({ node, ...line }) => ({
        ...line,
        event: tellEvent(line.event),
        ...(isMember || node === undefined ? {} : { node }),
      })),
    },
  };
};
