// What an operator decides about a generation that does not end by itself, and how its owner hears of it.
import type { Job } from "./terms.ts";

/** `settle`: charge an attempt that delivered; `fail`: release the hold; `retry`: ask its provider again. */
export const DECISIONS = ["settle", "fail", "retry"] as const;
export type Decision = (typeof DECISIONS)[number];

/** `by` and `reason` are for the books. */
type Decided = { by: string; reason: string };
export type OperatorDecision =
  /** It ends without a charge. */
  | ({ type: "failedByOperator" } & Decided)
  /** It is asked about anew, with its route's whole time. `hasJob`: the job of the attempt in hand is known. */
  | ({ type: "retriedByOperator"; hasJob: boolean } & Decided)
  /** Attempt `n`, on `route` of the plan, has delivered: its files are fetched, and it is charged for them. `job`: as it is known. */
  | ({ type: "settledByOperator"; n: number; route: number; job?: Job } & Decided);

/** Tells the owner of a generation what an operator has decided about it. */
export type Decide = (seq: number, decision: OperatorDecision) => Promise<void>;
