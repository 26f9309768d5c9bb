// Cost breakdown of a generation, attempt by attempt, from its replay.

import type { AttemptState, Credits, FailureClass, JsonObject } from "../../src/domain/types.ts";
import type { AttemptChange } from "../../src/store/mutations.ts";
import type { Passed } from "../generation/types.ts";
import { PARKED_MESSAGE } from "../generation/types.ts";
import type { ReplayStep, StateChange } from "./replay.ts";

/** `going`: it may still be charged. `left`: it became unnecessary without an error. */
export type CostBreakdownFormat = "going" | "good" | "bad" | "left";
export type AttemptBill = {
  n: number;
  routeId: string;
  /** A short outcome: `refused`, `delivered`, `lost`. */
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
export type Bill = {
  heldCredits: Credits;
  chargedCredits: Credits;
  releasedCredits: Credits;
  attempts: AttemptBill[];
  passed: Passed[];
  /** Why nothing was charged at all, or not yet; null if something was charged. */
  unpaid: string | null;
};

type Ending = readonly [outcome: string, look: CostBreakdownFormat, why: string];
const NOT_YET = "nothing is charged before it has delivered";
const NOT_THEIRS = "what its provider may bill for it is not the customer's";
const ENDINGS: Readonly<Record<AttemptState, Ending>> = {
  intent: ["not sent yet", "going", NOT_YET],
  sending: ["sent, not answered yet", "going", NOT_YET],
  accepted: ["at work", "going", NOT_YET],
  delivered: ["delivered", "good", "it delivered, and is charged at its own price; no other attempt is"],
  rejected: ["refused", "bad", "the provider did not take it"],
  absent: ["never arrived", "bad", "it is proved that the provider never had it"],
  failed: ["failed", "bad", "it delivered nothing"],
  lost: ["lost", "bad", `its outcome could not be confirmed; ${NOT_THEIRS}`],
  capped: ["out of time", "bad", `it had not delivered when its time was over; ${NOT_THEIRS}`],
  cancelled: ["cancelled", "left", "the provider has nothing of it"],
  superseded: ["superseded", "left", `another attempt delivered before it; ${NOT_THEIRS}`],
  mismatched: ["delivered something else", "bad", "it is not what was ordered"],
  late: ["delivered too late", "left", `the generation had ended; ${NOT_THEIRS}`],
};
const FAULTS: Readonly<Record<FailureClass, string>> = {
  refused_input: "its content rules refuse the input",
  refused_output: "its content rules refuse what it made",
  invalid_for_route: "it does not take this input",
  input_unreachable: "it could not read the media of the input",
  rate_limited: "it had too many requests",
  overloaded: "it was overloaded",
  config_fault: "it is not set up rightly",
  balance: "the operator's funds there were used up",
  not_sent: "it could not be reached",
  job_failed: "the work failed there",
  gone: "it no longer knows of the work",
  result_expired: "the result was gone before it could be fetched",
  result_unreadable: "the result could not be read",
  mismatched: "it was something else",
};

/** Endings for failure classes that say more than the attempt state. */
const FAULT_ENDINGS: Partial<Record<FailureClass, Ending>> = {
  refused_input: ["refused", "bad", "the provider refused it"],
  refused_output: ["refused", "bad", "the provider refused to hand it out"],
  not_sent: ["not reached", "bad", "the provider never had it"],
};

const faultOf = (event: JsonObject): string => {
  const known = (event.failure as { class?: FailureClass } | undefined)?.class ?? "job_failed";
  return FAULTS[known] ?? known;
};
/** Given up but still polled, so it may deliver. */
const isWatched = (state: AttemptState): boolean => state === "lost" || state === "capped";

type Draft = Pick<AttemptBill, "n" | "routeId" | "priceCredits" | "beganAtMs" | "endedAtMs" | "onTheWay"> & {
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
      return afterwards ? `learnt afterwards: ${faultOf(event)}` : null;
    case "provedAbsent":
      return afterwards ? "learnt afterwards: the provider never had it" : null;
    case "answerLost":
      return "its answer was lost";
    case "interrupted":
      return "the service restarted while it may have been out";
    case "accepted":
      return from?.startsWith("running.confirming") ? "confirmed: the provider had it" : null;
    case "rejected":
      if (afterwards) return `learnt afterwards: ${faultOf(event)}`;
      return to === "running.backingOff" ? `put off: ${faultOf(event)}` : null;
    case "mismatched":
      return afterwards ? "learnt afterwards: what it delivered is not what was ordered" : null;
    case "resultUnreadable":
      return "its result could not be read at first";
    case "storageRefused":
      return "our own storage refused its files for a while";
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
  if (last.to === "running.backingOff") return ["put off, sent again later", "going", NOT_YET];
  return last.to === "running.parked" ? ["parked", "going", "a user has to look first"] : null;
};

const sum = (transfers: readonly StateChange[], kind: StateChange["kind"], n?: number): Credits =>
  transfers
    .filter((moved) => moved.kind === kind && (n === undefined || moved.attemptN === n))
    .reduce((total, { credits }) => total + credits, 0);

const billOfAttempt = (draft: Draft, last: ReplayStep | undefined, transfers: readonly StateChange[]): AttemptBill => {
  const { state, fault, sends, onTheWay, ...rest } = draft;
  const ending = ENDINGS[state];
  const more = ending[1] === "going" ? goingNow(rest.n, last) : ending[1] === "bad" && fault !== null && FAULT_ENDINGS[fault];
  const [outcome, look, why] = more || ending;
  const chargedCredits = sum(transfers, "capture", rest.n);
  // Customers see one class for most failures; it says nothing about a job that was never accepted.
  const isReported = fault !== null && look === "bad" && !(state === "rejected" && fault === "job_failed");
  const reported = isReported ? `${why}: ${FAULTS[fault] ?? fault}` : why;
  return {
    ...{ ...rest, outcome, look, chargedCredits },
    onTheWay: sends > 1 ? [...onTheWay, `sent ${sends} times`] : onTheWay,
    why:
      look === "good" && chargedCredits !== rest.priceCredits
        ? "it delivered, and the ledger has another charge for it"
        : reported,
  };
};

const unpaidOf = (steps: readonly ReplayStep[], chargedCredits: Credits): string | null => {
  const settlement = steps.findLast((step) => step.settlement !== null)?.settlement;
  if (settlement?.kind === "release") return settlement.error.message;
  if (settlement || chargedCredits > 0) return null;
  return steps.at(-1)?.to === "running.parked" ? PARKED_MESSAGE : "It has not ended: its credits are on hold.";
};

/** @param transfers transfers of the ledger, which decide what was charged. */
export const billOf = (steps: readonly ReplayStep[], transfers: readonly StateChange[]): Bill => {
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
    attempts: [...drafts.values()].map((draft) => billOfAttempt(draft, steps.at(-1), transfers)),
    passed,
    unpaid: unpaidOf(steps, chargedCredits),
  };
};
