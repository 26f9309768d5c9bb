// What an operator decides about a generation that does not end by itself, and how its owner hears of it.
import type { Job, JsonObject } from "./types.ts";

/** `settle`: charge an attempt that delivered; `fail`: release the hold; `retry`: ask its provider again. */
export const DECISIONS = ["settle", "fail", "retry"] as const;
export type Decision = (typeof DECISIONS)[number];

/** `by` and `reason` are for the books; with `decidedAtMs` they tell one decision from all others. */
type Decided = { by: string; reason: string; decidedAtMs: number };
export type OperatorDecision =
  /** It ends without a charge. */
  | ({ type: "failedByOperator" } & Decided)
  /** It is asked about anew, with its route's whole time. `hasJob`: the job of the attempt in hand is known. */
  | ({ type: "retriedByOperator"; hasJob: boolean } & Decided)
  /** Attempt `n`, on `route` of the plan, has delivered: its files are fetched, and it is charged for them. `job`: as it is known. */
  | ({ type: "settledByOperator"; n: number; route: number; job?: Job } & Decided);

/** Whether an event of a journal is this decision, carried out. */
export const isCarriedOut = (decision: OperatorDecision, event: JsonObject): boolean =>
  event.type === decision.type &&
  event.by === decision.by &&
  event.reason === decision.reason &&
  event.decidedAtMs === decision.decidedAtMs;

/** Tells the owner of a generation what an operator has decided about it. */
export type Decide = (seq: number, decision: OperatorDecision) => Promise<void>;
