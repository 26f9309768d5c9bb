// Cost breakdown of a generation, attempt by attempt, from its replay.

import type { AttemptChange } from "../../src/domain/transition.ts";
import type { AttemptState, Credits, FailureClass, JsonObject } from "../../src/domain/types.ts";
import type { Passed } from "../generation/types.ts";
import { PARKED_MESSAGE } from "../generation/types.ts";
import type { ReplayStep, StateChange } from "./replay.ts";

/** `going`: it may still be charged. `left`: it became unnecessary without an error. */
export type CostBreakdownFormat = "going" | "good" | "bad" | "left";
export type AttemptCost = {
  n: number;
  routeId: string;
  /** A short outcome: `rejected`, `delivered`, `lost`. */
  outcome: string;
  look: CostBreakdownFormat;
  /** Events of the attempt besides its outcome. */
  onTheWay: string[];
  beganAtMs: number;
  /** Null while it is running. */
  endedAtMs: number | null;
  priceCredits: Credits;
  chargedCredits: Credits;
  /** Why it is charged or not. */
  why: string;
};
export type CostBreakdown = {
  heldCredits: Credits;
  chargedCredits: Credits;
  releasedCredits: Credits;
  attempts: AttemptCost[];
  passed: Passed[];
  /** Why nothing was charged at all, or not yet; null if something was charged. */
  unpaid: string | null;
};

type Ending = readonly [outcome: string, look: CostBreakdownFormat, why: string];
const NOT_YET = "nothing is charged before a delivery";
const NOT_THEIRS = "the customer does not pay what the provider may bill for it";
const ENDINGS: Readonly<Record<AttemptState, Ending>> = {
  intent: ["not sent yet", "going", NOT_YET],
  sending: ["sent, no response yet", "going", NOT_YET],
  accepted: ["running", "going", NOT_YET],
  delivered: ["delivered", "good", "the attempt delivered and is charged at its own price"],
  rejected: ["rejected", "bad", "the provider rejected the request"],
  absent: ["not received", "bad", "it is proved that the provider never received the request"],
  failed: ["failed", "bad", "the attempt failed"],
  lost: ["lost", "bad", `the outcome could not be confirmed; ${NOT_THEIRS}`],
  capped: ["timed out", "bad", `it had not delivered before the route timeout; ${NOT_THEIRS}`],
  cancelled: ["cancelled", "left", "the provider has no job of the attempt"],
  superseded: ["superseded", "left", `another attempt delivered first; ${NOT_THEIRS}`],
  mismatched: ["mismatched", "bad", "the delivery does not match the order"],
  late: ["late result", "left", `the generation had already ended; ${NOT_THEIRS}`],
};
const FAULTS: Readonly<Record<FailureClass, string>> = {
  refused_input: "the provider's content rules refuse the input",
  refused_output: "the provider's content rules refuse the output",
  invalid_for_route: "the provider does not support this input",
  input_unreachable: "the provider could not read the media of the input",
  rate_limited: "the provider's rate limit was exceeded",
  overloaded: "the provider was overloaded",
  config_fault: "the credential or the configuration of the route is invalid",
  balance: "the operator's balance at the provider was used up",
  not_sent: "the provider could not be reached",
  job_failed: "the job failed at the provider",
  gone: "the provider no longer has the job",
  result_expired: "the result had expired before it could be downloaded",
  result_unreadable: "the result could not be read",
  mismatched: "the delivery did not match the order",
};

/** Endings for failure classes that say more than the attempt state. */
const FAULT_ENDINGS: Partial<Record<FailureClass, Ending>> = {
  refused_input: ["refused", "bad", "the provider refused the input"],
  refused_output: ["refused", "bad", "the provider refused to return the output"],
  not_sent: ["unreachable", "bad", "the provider never received the request"],
};

const faultOf = (event: JsonObject): string => {
  const known = (event.failure as { class?: FailureClass } | undefined)?.class ?? "job_failed";
  return FAULTS[known] ?? known;
};
/** Given up but still polled, so it may deliver. */
const isWatched = (state: AttemptState): boolean => state === "lost" || state === "capped";

type Draft = Pick<AttemptCost, "n" | "routeId" | "priceCredits" | "beganAtMs" | "endedAtMs" | "onTheWay"> & {
  state: AttemptState;
  fault: FailureClass | null;
  sends: number;
};

/** An event of the attempt that its end does not show; null if there is none. */
const passing = ({ event, from, to }: ReplayStep, draft: Draft): string | null => {
  const afterwards = isWatched(draft.state);
  switch (event?.type) {
    case "jobFailed":
    case "resultLost":
      return afterwards ? `reported later: ${faultOf(event)}` : null;
    case "provedAbsent":
      return afterwards ? "reported later: the provider never received the request" : null;
    case "answerLost":
      return "the response was lost";
    case "interrupted":
      return "the service restarted while the request may have been sent";
    case "accepted":
      return from?.startsWith("running.confirming") ? "confirmed: the provider accepted the request" : null;
    case "rejected":
      if (afterwards) return `reported later: ${faultOf(event)}`;
      return to === "running.backingOff" ? `delayed: ${faultOf(event)}` : null;
    case "mismatched":
      return afterwards ? "reported later: the delivery does not match the order" : null;
    case "resultUnreadable":
      return "the result could not be read at first";
    case "storageRefused":
      return "result storage was temporarily unavailable";
    default:
      return null;
  }
};

const note = (drafts: Map<number, Draft>, change: AttemptChange, atMs: number): void => {
  const { n, begin, state, failure, endedAtMs } = change;
  if (begin)
    drafts.set(n, {
      ...{ n, routeId: begin.route.routeId, priceCredits: begin.priceCredits, beganAtMs: atMs, endedAtMs: null },
      ...{ onTheWay: [], state: "intent", fault: null, sends: 0 },
    });
  const draft = drafts.get(n);
  if (!draft) return;
  if (state === "sending") draft.sends += 1;
  // A given-up attempt that delivers after all is active again.
  if (state) [draft.state, draft.endedAtMs] = [state, endedAtMs ?? null];
  if (failure && !isWatched(draft.state)) draft.fault = failure.class;
};

/** For a running attempt, the state of the statechart says more than the row. */
const goingNow = (n: number, last: ReplayStep | undefined): Ending | null => {
  if (last?.context.current?.n !== n) return null;
  if (last.to.startsWith("running.confirming")) return ["being confirmed", "going", NOT_YET];
  if (last.to === "running.backingOff") return ["delayed, sent again later", "going", NOT_YET];
  return last.to === "running.parked" ? ["parked", "going", "an operator has to decide first"] : null;
};

const sum = (transfers: readonly StateChange[], kind: StateChange["kind"], n?: number): Credits =>
  transfers
    .filter((moved) => moved.kind === kind && (n === undefined || moved.attemptN === n))
    .reduce((total, { credits }) => total + credits, 0);

const costOfAttempt = (draft: Draft, last: ReplayStep | undefined, transfers: readonly StateChange[]): AttemptCost => {
  const { state, fault, sends, onTheWay, ...rest } = draft;
  const ending = ENDINGS[state];
  const more = ending[1] === "going" ? goingNow(rest.n, last) : ending[1] === "bad" && fault !== null && FAULT_ENDINGS[fault];
  const [outcome, look, why] = more || ending;
  const chargedCredits = sum(transfers, "capture", rest.n);
  // Customers see one class for most failures; it does not describe a job that was never accepted.
  const isReported = fault !== null && look === "bad" && !(state === "rejected" && fault === "job_failed");
  const reported = isReported ? `${why} (${FAULTS[fault] ?? fault})` : why;
  return {
    ...{ ...rest, outcome, look, chargedCredits },
    onTheWay: sends > 1 ? [...onTheWay, `sent ${sends} times`] : onTheWay,
    why:
      look === "good" && chargedCredits !== rest.priceCredits
        ? "the attempt delivered, but the ledger has a different charge"
        : reported,
  };
};

const unpaidOf = (steps: readonly ReplayStep[], chargedCredits: Credits): string | null => {
  const settlement = steps.findLast((step) => step.settlement !== null)?.settlement;
  if (settlement?.kind === "release") return settlement.error.message;
  if (settlement || chargedCredits > 0) return null;
  return steps.at(-1)?.to === "running.parked" ? PARKED_MESSAGE : "The generation has not ended. Its credits are held.";
};

/** @param transfers transfers of the ledger, which decide what was charged. */
export const costBreakdownOf = (steps: readonly ReplayStep[], transfers: readonly StateChange[]): CostBreakdown => {
  const drafts = new Map<number, Draft>();
  const passed: Passed[] = [];
  for (const step of steps) {
    for (const change of step.notes) note(drafts, change, step.atMs);
    const { event } = step;
    if (Array.isArray(event?.passed)) passed.push(...(event.passed as unknown as Passed[]));
    const draft = drafts.get(Number(event?.n));
    const reported = draft ? passing(step, draft) : null;
    if (reported !== null) draft?.onTheWay.push(reported);
  }
  const chargedCredits = sum(transfers, "capture");
  return {
    heldCredits: sum(transfers, "hold"),
    chargedCredits,
    releasedCredits: sum(transfers, "release"),
    attempts: [...drafts.values()].map((draft) => costOfAttempt(draft, steps.at(-1), transfers)),
    passed,
    unpaid: unpaidOf(steps, chargedCredits),
  };
};
