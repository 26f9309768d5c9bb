// Planted violations of invariants 1 to 6.

import { OUTPUT } from "./fixture.ts";
import { type Plant, plant } from "./violation.ts";
import { PLANTS_OF_PURCHASES } from "./violations-purchases.ts";

export const ENDED = "(SELECT min(seq) FROM generation WHERE status = 'succeeded')";
export const FAILED = "(SELECT seq FROM generation WHERE status = 'failed')";
export const RUNNING = "(SELECT max(seq) FROM generation WHERE status = 'running')";
export const CONFIRMING = "(SELECT min(seq) FROM generation WHERE status = 'running')";
export const QUEUED = "(SELECT seq FROM generation WHERE status = 'queued')";
/** Charged on its second attempt; the first is late, the third superseded. */
export const EVENTFUL = "(SELECT generation_seq FROM attempt WHERE state = 'late')";

const TRANSFER = `account_seq, transfer_no, previous_seq, after_generation_seq, kind, credits, from_side, to_side, generation_seq, attempt_no, available_after,
  held_after, at_ms, epoch, hash, note`;
/** A copy of an existing transfer at another position. */
const again = (changes: Record<string, string>, where: string): string =>
  `INSERT INTO transfer (${TRANSFER}) SELECT ${TRANSFER.replaceAll("\n", "")
    .split(",")
    .map((column) => changes[column.trim()] ?? column.trim())
    .join(", ")} FROM transfer WHERE ${where}`;

/** Invariants 1 to 6. */
export const PLANTS_OF_MONEY: readonly Plant[] = [
  ...plant(1, "the transfer does not follow its predecessor", [
    ["a changed note", "UPDATE transfer SET note = 'gift' WHERE kind = 'topup' AND account_seq = 1"],
    ["a changed time of a hold", `UPDATE generation SET created_at_ms = created_at_ms - 1 WHERE seq = ${RUNNING}`],
    ["a changed amount", "UPDATE transfer SET credits = credits + 1 WHERE kind = 'topup' AND account_seq = 1"],
    ["a changed hash of a hold", `UPDATE generation SET hold_hash = '${"1".padStart(64, "0")}' WHERE seq = ${RUNNING}`],
    ["a changed hash", `UPDATE transfer SET hash = '${"1".padStart(64, "0")}' WHERE kind = 'capture'`],
    [
      "a transfer removed from the middle of a chain",
      `DELETE FROM transfer WHERE kind = 'capture' AND generation_seq = ${ENDED}`,
      2,
      3,
    ],
    [
      "two swapped transfers",
      `UPDATE transfer SET transfer_no = -transfer_no WHERE generation_seq = ${ENDED};
       UPDATE transfer SET transfer_no = -transfer_no + CASE kind WHEN 'capture' THEN 1 ELSE -1 END WHERE transfer_no < 0`,
    ],
    [
      "a transfer inserted into a chain",
      `UPDATE transfer SET transfer_no = transfer_no + 1 WHERE account_seq = 2 AND transfer_no >= 2;
       ${again({ transfer_no: "2", credits: "1", epoch: "2" }, "kind = 'topup' AND account_seq = 2")}`,
    ],
    [
      "a transfer with another predecessor",
      `UPDATE transfer SET previous_seq = 1 WHERE kind = 'release' AND generation_seq = ${ENDED}`,
    ],
    ["a hold with another predecessor", `UPDATE generation SET hold_previous_seq = 99 WHERE seq = ${RUNNING}`],
    [
      "a transfer appended to a chain",
      again({ transfer_no: "99", credits: "1", epoch: "2" }, "kind = 'topup' AND account_seq = 2"),
    ],
  ]),
  ...plant(1, "the balance differs from the end of its chain", [
    ["a transfer removed from the end of a chain", "DELETE FROM transfer WHERE account_seq = 2 AND kind = 'adjust'", 12],
    [
      "a balance whose last transfer number is too low",
      "UPDATE balance SET last_transfer_no = last_transfer_no - 1 WHERE account_seq = 1",
    ],
    [
      "a balance whose last transfer is another row",
      "UPDATE balance SET last_transfer_seq = last_transfer_seq + 1 WHERE account_seq = 1",
    ],
  ]),
  ...plant(1, "balance and charges differ from the sum of the transfers", [
    [
      "a balance that its transfers do not explain",
      "UPDATE balance SET available_credits = available_credits + 100 WHERE account_seq = 1",
    ],
    ["charges that no capture explains", "UPDATE balance SET charged_credits = charged_credits + 1 WHERE account_seq = 1"],
  ]),
  ...plant(1, "the incoming credits differ from the balances and charges", [
    [
      "credits without an incoming transfer",
      "UPDATE balance SET available_credits = available_credits + 100 WHERE account_seq = 2",
    ],
  ]),
  ...plant(1, "the account of the transfer is missing, or the account has no balance", [
    ["an account without a balance", "INSERT INTO account (id, name, created_at_ms) VALUES ('acc_x', 'x', 1)"],
    ["a top-up of a missing account", again({ account_seq: "77", epoch: "2" }, "kind = 'topup' AND account_seq = 2")],
  ]),
  ...plant(1, "the two entries of a transfer do not sum to zero", [
    [
      "a view that shows only one side of each transfer",
      "DROP VIEW transfer_entry; CREATE VIEW transfer_entry (transfer_seq, account_seq, side, credits) AS SELECT seq, account_seq, to_side, credits FROM transfer_log",
      12,
    ],
  ]),
  ...plant(1, "the debt differs from the untransferred adjustments minus the repayments", [
    ["a debt that was cleared without a repayment", "UPDATE balance SET owed_credits = 0 WHERE account_seq = 2"],
  ]),
  ...plant(1, "the adjustment differs from its transfer", [
    [
      "an adjustment of another amount",
      "UPDATE balance_adjustment SET requested_credits = 4000, transferred_credits = 4000 WHERE seq = 1",
    ],
  ]),
  ...PLANTS_OF_PURCHASES,
  ...plant(1, "the transfer does not have exactly one adjustment", [
    ["a top-up without its adjustment", "DELETE FROM balance_adjustment WHERE seq = 1"],
    [
      "a top-up with two adjustments",
      `INSERT INTO balance_adjustment (account_seq, kind, requested_credits, transferred_credits, transfer_seq, note, at_ms)
       SELECT account_seq, kind, requested_credits, transferred_credits, transfer_seq, note, at_ms FROM balance_adjustment WHERE seq = 1`,
    ],
  ]),

  ...plant(2, "the held credits differ from the holds of the open generations", [
    ["a changed reserve", `UPDATE generation SET reserved_credits = 200 WHERE seq = ${QUEUED}`, 1, 4],
    ["a wrong number of generations in progress", "UPDATE balance SET in_progress = 9 WHERE account_seq = 1"],
    [
      "held credits that no open generation explains",
      "UPDATE balance SET held_credits = held_credits + 9999, available_credits = available_credits - 9999 WHERE account_seq = 1",
      1,
    ],
  ]),
  ...plant(2, "the held credits differ from the holds minus their settlements", [
    [
      "a missing generation with a hold",
      `DELETE FROM generation_request WHERE generation_seq = ${QUEUED}; DELETE FROM generation WHERE seq = ${QUEUED}`,
      1,
    ],
  ]),
  ...plant(2, "the counted spending of a key differs from its generations", [
    ["a spend counter that is too low", "UPDATE spend_by_day SET credits = credits - 1"],
    ["a spend counter with a missing day", "DELETE FROM spend_by_day"],
    ["a spend counter with an additional day", "INSERT INTO spend_by_day SELECT spend_limit_seq, day + 1, 5 FROM spend_by_day"],
    ["a key with a spend limit that has not counted it", `UPDATE api_key_policy SET spend_limit_seq = 3 WHERE key_seq = 4`],
  ]),
  ...plant(2, "the counted days of an end user differ from its generations", [
    ["a spend counter of an end user that is too low", "UPDATE end_user_day SET spent_credits = spent_credits - 1"],
    ["a spend counter of an end user that is too high", "UPDATE end_user_day SET spent_credits = spent_credits + 1"],
    ["a hold of an end user that no generation explains", "UPDATE end_user_day SET held_credits = 1"],
    ["a charge of an end user that is too low", "UPDATE end_user_day SET charged_credits = charged_credits - 1"],
    ["an end of an end user that is not counted", "UPDATE end_user_day SET succeeded = succeeded - 1"],
    ["an end user with a missing day", "DELETE FROM end_user_day"],
  ]),

  ...plant(3, "the generation does not have exactly one settlement of its whole hold, at its end", [
    [
      "a settlement of an open generation",
      `UPDATE transfer SET generation_seq = ${RUNNING} WHERE kind = 'release' AND generation_seq = ${FAILED}`,
      1,
    ],
    ["a second capture", again({ transfer_no: "999", epoch: "2" }, `kind = 'capture' AND generation_seq = ${ENDED}`), 1, 2, 12],
    ["a failure without a release", `DELETE FROM transfer WHERE kind = 'release' AND generation_seq = ${FAILED}`, 1, 2],
    [
      "a success without a release of the rest",
      `DELETE FROM transfer WHERE kind = 'release' AND generation_seq = ${ENDED}`,
      1,
      2,
    ],
  ]),
  ...plant(3, "the settlement precedes the hold", [
    ["a hold that follows its settlement", `UPDATE generation SET hold_transfer_no = 1000 WHERE seq = ${ENDED}`, 1],
  ]),

  ...plant(4, "the cost differs from the price of the delivered attempt", [
    [
      "a delivered attempt of a failed generation",
      `UPDATE attempt SET state = 'delivered' WHERE generation_seq = ${FAILED} AND attempt_no = 1`,
    ],
    ["two delivered attempts", `UPDATE attempt SET state = 'delivered' WHERE generation_seq = ${EVENTFUL} AND attempt_no = 1`],
    ["a cost of a failed generation", `UPDATE generation SET cost_credits = 5 WHERE seq = ${FAILED}`],
    ["a cost of an open generation", `UPDATE generation SET cost_credits = 5 WHERE seq = ${RUNNING}`],
    ["a cost of another attempt", `UPDATE generation SET cost_credits = 75 WHERE seq = ${EVENTFUL}`, 3],
  ]),
  ...plant(4, "the capture does not belong to the delivered attempt", [
    [
      "a capture of an attempt that is not the delivered one",
      `UPDATE attempt SET state = CASE attempt_no WHEN 1 THEN 'delivered' ELSE 'capped' END WHERE generation_seq = ${EVENTFUL} AND attempt_no < 3`,
    ],
  ]),
  ...plant(4, "quote and hold differ from the lowest and highest price of the plan", [
    ["a quote that is not the lowest price", `UPDATE generation SET quoted_credits = 1 WHERE seq = ${QUEUED}`],
    [
      "a plan without routes",
      `INSERT INTO plan (seq, routes) VALUES (99, '[]'); UPDATE generation SET plan_seq = 99 WHERE seq = ${QUEUED}`,
    ],
  ]),
  ...plant(4, "a planned price exceeds the maximum cost", [
    ["a planned route above the maximum cost", `UPDATE generation SET max_cost_credits = 100 WHERE seq = ${QUEUED}`],
  ]),
  ...plant(4, "the price of the attempt differs from the plan", [
    [
      "an attempt below its planned price",
      `UPDATE attempt SET price_credits = 74 WHERE generation_seq = ${FAILED} AND attempt_no = 1`,
    ],
  ]),

  ...plant(5, "the status of the generation differs from its last event", [
    [
      "an end without an event",
      `UPDATE generation_event SET state_after = 'running.polling' WHERE generation_seq = ${ENDED} AND version = 2`,
    ],
    ["a running generation without events", `DELETE FROM generation_event WHERE generation_seq = ${RUNNING}`, 10],
    ["a queued generation whose last event is running", `UPDATE generation SET status = 'queued' WHERE seq = ${RUNNING}`],
  ]),
  ...plant(5, "the end time of the generation differs from its last event", [
    [
      "an end time that differs from the last event",
      `UPDATE generation SET completed_at_ms = completed_at_ms + 1 WHERE seq = ${ENDED}`,
    ],
  ]),
  ...plant(5, "the output has no files, or files that are not numbered from 1", [
    [
      "an output without files",
      `UPDATE generation SET output = replace(output, '${JSON.stringify(OUTPUT.files)}', '[]') WHERE seq = ${ENDED}`,
      13,
    ],
    [
      "an output whose first file is not number 1",
      `UPDATE generation SET output = replace(output, '"n":1', '"n":2') WHERE seq = ${ENDED}`,
    ],
  ]),
  ...plant(5, "the id does not contain the row number", [
    [
      "an id that does not contain the row number",
      `UPDATE generation SET id = 'gen_00000000000' || substr(id, 16) WHERE seq = ${QUEUED}`,
    ],
  ]),

  ...plant(6, "the idempotency key has more than one generation", [
    ["two generations with one idempotency key", "UPDATE generation SET idempotency_key = 'k1' WHERE idempotency_key = 'k2'", 12],
  ]),
  ...plant(6, "the idempotency key or the body is malformed", [
    ["a body that is not JSON", `UPDATE generation_request SET body = substr(body, 2) WHERE generation_seq = ${QUEUED}`],
    ["an empty idempotency key", `UPDATE generation SET idempotency_key = '' WHERE seq = ${QUEUED}`],
  ]),
];
