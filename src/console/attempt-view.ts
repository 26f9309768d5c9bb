// Describes the attempts of a generation; only operators and viewers get routes and providers.

import type { Attempt, AttemptState, FailureClass } from "../domain/types.ts";
import type { StoredEvent } from "../store/store.ts";
import type { AttemptDto } from "./generations-dto.ts";

const STATES: Readonly<Record<AttemptState, readonly [says: string, outcome: AttemptDto["outcome"]]>> = {
  intent: ["About to be sent", "going"],
  sending: ["Being sent", "going"],
  accepted: ["At work", "going"],
  delivered: ["Delivered", "good"],
  rejected: ["Turned down", "bad"],
  absent: ["Never arrived", "bad"],
  failed: ["Failed", "bad"],
  lost: ["Outcome unknown", "bad"],
  capped: ["Took too long", "bad"],
  cancelled: ["Given up before it was sent", "left"],
  superseded: ["Another route delivered first", "left"],
  late: ["Delivered too late", "left"],
  mismatched: ["Delivered something else", "bad"],
};
const WHY: Readonly<Record<FailureClass, string>> = {
  refused_input: "The content rules of this route refuse the input.",
  refused_output: "The content rules of this route refused what it had made.",
  invalid_for_route: "This route does not take the input.",
  input_unreachable: "This route could not read the media of the input.",
  rate_limited: "This route had too many requests.",
  overloaded: "This route was overloaded.",
  config_fault: "This route is not set up rightly; its operator has to look into it.",
  balance: "This route was out of funds; its operator has to look into it.",
  not_sent: "This route could not be reached.",
  job_failed: "The work failed on this route.",
  gone: "This route no longer knows of the work.",
  result_expired: "The result was gone before it could be fetched.",
  result_unreadable: "What this route delivered could not be read.",
  mismatched: "What this route delivered is not what was ordered. Nothing is charged for it.",
};

/** @param all true if the user may see routes, providers and their responses */
export const attemptViews = (attempts: readonly Attempt[], events: readonly StoredEvent[], all: boolean): AttemptDto[] => {
  const began = new Map(events.flatMap(({ event, atMs }) => (event.type === "begun" ? [[Number(event.n), atMs]] : [])));
  return attempts.map(({ n, route, state, failure, priceCredits, sentAtMs, endedAtMs, job }) => {
    const [says, outcome] = STATES[state];
    return {
      ...{ n, state: says, outcome, priceCredits, sentAtMs, endedAtMs },
      // An attempt that was rejected and submitted again keeps its reason. An attempt that is in progress or delivered has none.
      why: failure !== null && outcome !== "good" && outcome !== "going" ? WHY[failure.class] : null,
      beganAtMs: began.get(n) ?? sentAtMs ?? endedAtMs ?? 0,
      operator: all
        ? {
            ...{ routeId: route.routeId, provider: route.provider, endpoint: route.endpoint, state, jobId: job?.jobId ?? null },
            failure: failure && { class: failure.class, detail: failure.detail },
          }
        : null,
    };
  });
};
