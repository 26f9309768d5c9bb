// Decisions about a generation: an operator settles, fails or retries it, or its client cancels it.
import type { Job, JsonObject } from "./types.ts";

/** `settle`: charge an attempt that delivered; `fail`: release the hold; `retry`: query its provider again. */
export const DECISIONS = ["settle", "fail", "retry"] as const;
export type Decision = (typeof DECISIONS)[number];

/** `by` and `reason` are stored; with `decidedAtMs` they identify the decision. */
type Decided = { by: string; reason: string; decidedAtMs: number };
export type OperatorDecision =
  /** It ends without a charge. */
  | ({ type: "failedByOperator" } & Decided)
  /** The provider is queried again with the full route timeout. `hasJob`: the job of the current attempt is known. */
  | ({ type: "retriedByOperator"; hasJob: boolean } & Decided)
  /** Attempt `n` on `route` of the plan has delivered: its files are downloaded and it is charged. `job`: as known. */
  | ({ type: "settledByOperator"; n: number; route: number; job?: Job } & Decided);

/** A client's cancel request. `by`: the id of the key. A generation keeps the first one; later ones change nothing. */
export type CancelRequest = { type: "cancelRequested"; by: string; decidedAtMs: number };
/** A decision that reaches the owner of a generation as an event of its statechart. */
export type GenerationDecision = OperatorDecision | CancelRequest;

/** Whether a stored event carries out this decision. */
export const isCarriedOut = (decision: GenerationDecision, event: JsonObject): boolean => {
  if (event.type !== decision.type) return false;
  if (decision.type === "cancelRequested") return true;
  return event.by === decision.by && event.reason === decision.reason && event.decidedAtMs === decision.decidedAtMs;
};

/** Sends a decision to the owner of a generation. */
export type Decide = (seq: number, decision: GenerationDecision) => Promise<void>;
