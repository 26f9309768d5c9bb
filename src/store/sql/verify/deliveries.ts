// Invariant 13: each charged delivery matches its order.
//
// The comparison is the delivery check that precedes the charge.
import { describeMismatch, mismatchOf, type Ordered } from "../../../domain/delivery-check.ts";
import type { JsonObject, Output } from "../../../domain/types.ts";
import { type Check, type Clause, clause, clauses } from "./check.ts";

export const EARLIER = "generations were accepted by a build that stored no expected delivery; they are not compared";
export const CHARGED_OTHERWISE = "the charged delivery differs from the order";

/**
 * The difference between a charged delivery and its order; undefined if they match. Unreadable values are a violation as well.
 */
export const mismatchFault = (ordered: unknown, output: unknown): string | undefined => {
  try {
    const mismatch = mismatchOf(JSON.parse(String(ordered)) as Ordered, JSON.parse(String(output)) as Output);
    return mismatch && describeMismatch(mismatch);
  } catch {
    return "what was ordered or what was delivered cannot be read";
  }
};

const compared: Clause = {
  ...clause(
    CHARGED_OTHERWISE,
    "SELECT id AS generation, expected_delivery AS ordered, output FROM generation WHERE status = 'succeeded' AND expected_delivery IS NOT NULL AND output IS NOT NULL",
  ),
  isOffender: ({ ordered, output }) => mismatchFault(ordered, output) !== undefined,
  shown: ({ generation, ordered, output }): JsonObject => ({
    ...(generation === undefined ? {} : { generation }),
    mismatch: mismatchFault(ordered, output) ?? "",
  }),
};

const earlier: Clause = {
  ...clause(
    EARLIER,
    "SELECT count(*) AS generations FROM generation WHERE status = 'succeeded' AND expected_delivery IS NULL HAVING count(*) > 0",
  ),
  isNote: true,
};

const UNPINNED = "an attempt started before the inputs of its generation were pinned";
const OTHER_LENGTH = "the length of a pinned input differs from the billed length";
/** A generation with attempts has copies of its measured inputs. */
const pinned = clauses(
  [UNPINNED, OTHER_LENGTH],
  `SELECT CASE WHEN p.sha256 IS NULL THEN '${UNPINNED}' ELSE '${OTHER_LENGTH}' END AS fault, g.id AS generation, p.field, p.measured_ms, p.ms
     FROM pinned_input p JOIN generation g ON g.seq = p.generation_seq
     WHERE (p.sha256 IS NULL AND g.erased_at_ms IS NULL AND EXISTS (SELECT 1 FROM attempt a WHERE a.generation_seq = p.generation_seq))
       OR p.ms NOT BETWEEN p.measured_ms - p.frame_ms AND p.measured_ms + p.frame_ms`,
);

/** 13. */
const asOrdered: Check<Clause> = {
  invariant: 13,
  name: "delivered as ordered",
  clauses: [
    compared,
    clause(
      "a mismatched attempt was charged",
      `SELECT a.ref AS attempt, p.kind FROM transfer p JOIN attempt a ON a.generation_seq = p.generation_seq AND a.attempt_no = p.attempt_no
       WHERE p.kind = 'capture' AND a.state = 'mismatched'`,
    ),
    pinned,
    earlier,
  ],
};

export const DELIVERY_CHECKS = [asOrdered] as const;
