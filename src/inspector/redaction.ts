// What is told of a generation's life to whom: as much as replays to the same way, and no name, text or address that is not theirs to see.
import type { Replayed } from "../../actors/replay/replay.ts";
import type { FailureClass, JsonObject } from "../domain/types.ts";
import type { Life } from "./generation-history.ts";
import type { GenerationHistoryDto } from "./generation-history-dto.ts";

/**
 * Who looks at it. `member`: the account's own people, who are told of no route and no provider; `words`: operators and viewers, but neither
 * prompts nor what providers say, which may repeat them; `prompts`: the prompts too; `everything`: also what providers say.
 */
export type ViewerRole = "member" | "words" | "prompts" | "everything";

type Event = Replayed["journal"][number]["event"];
const HIDDEN = "hidden";

/** The classes that decide the machine's way; the others say more of our providers than of the generation. */
const TOLD_CLASSES: ReadonlySet<FailureClass> = new Set(["refused_input", "rate_limited", "not_sent", "job_failed"]);
const memberFailure = (failure: JsonObject): JsonObject => ({
  ...failure,
  class: TOLD_CLASSES.has(failure.class as FailureClass) ? (failure.class ?? null) : "job_failed",
});

/** Texts of providers and addresses of files, hidden where they are; that they were there stays. */
const withoutTexts = (event: Event): Event => {
  const told: Event = { ...event };
  if (told.failure) told.failure = { ...(told.failure as JsonObject), detail: HIDDEN };
  for (const name of ["detail", "reason"]) if (told[name] !== undefined) told[name] = HIDDEN;
  if (Array.isArray(told.results)) told.results = told.results.map((file) => ({ ...(file as JsonObject), url: HIDDEN }));
  if (told.job) told.job = { jobId: (told.job as JsonObject).jobId ?? HIDDEN };
  return told;
};

/** The same for the customer: routes by their number in the plan, nothing of who is behind them. */
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

/** @param input what was asked for; told only where prompts are shown. */
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
