// Planted violations of purchases and debts.
import { type Plant, plant } from "./violation.ts";

const A = "(SELECT seq FROM purchase WHERE id = 'pur_a')";
const B = "(SELECT seq FROM purchase WHERE id = 'pur_b')";

export const PLANTS_OF_PURCHASES: readonly Plant[] = [
  ...plant(1, "a paid purchase does not have exactly one top-up of its credits", [
    ["a paid purchase without its top-up", `DELETE FROM purchase_adjustment WHERE purchase_seq = ${B} AND reason = 'paid'`],
    [
      "a top-up of an unpaid purchase",
      `UPDATE purchase_adjustment SET purchase_seq = (SELECT seq FROM purchase WHERE id = 'pur_c') WHERE purchase_seq = ${B} AND reason = 'paid'`,
    ],
    ["a paid purchase of more credits than its top-up", `UPDATE purchase SET credits = 5000 WHERE seq = ${B}`],
    [
      "two top-ups of one purchase",
      `INSERT INTO purchase_adjustment SELECT seq, ${B}, 'paid' FROM balance_adjustment WHERE account_seq = 1 AND kind = 'topup'`,
      12,
    ],
  ]),
  ...plant(1, "the reversed credits of a purchase differ from its adjustments", [
    ["a refund without an adjustment", `DELETE FROM purchase_adjustment WHERE purchase_seq = ${B} AND reason = 'taken'`],
    [
      "a refund that is recorded with another reason",
      `UPDATE purchase_adjustment SET reason = 'returned' WHERE purchase_seq = ${B} AND reason = 'taken'`,
    ],
  ]),
  ...plant(1, "the reversed credits of a purchase differ from its refunds and disputes", [
    ["reversed credits without their refund", "DELETE FROM reversal WHERE id = 're_b'"],
    ["a returned dispute whose credits stay reversed", "UPDATE reversal SET state = 'returned' WHERE id = 'dp_a'"],
  ]),
  ...plant(1, "an adjustment of a purchase belongs to another account", [
    ["a purchase that was moved to another account", `UPDATE purchase SET account_seq = 1 WHERE seq = ${A}`],
  ]),
  ...plant(1, "the debt repayment differs from its adjustment", [
    ["a debt repayment of another amount", "UPDATE debt_repayment SET credits = credits + 1"],
  ]),
  ...plant(1, "the account has a debt and available credits", [
    [
      "available credits of an account with a debt",
      `UPDATE balance SET owed_credits = 5 WHERE account_seq = (SELECT account_seq FROM purchase WHERE id = 'pur_b') AND available_credits > 0;
       UPDATE balance_adjustment SET requested_credits = requested_credits - 5 WHERE seq = (SELECT max(seq) FROM balance_adjustment WHERE reference IS NULL AND account_seq = (SELECT account_seq FROM purchase WHERE id = 'pur_b'))`,
    ],
  ]),
  ...plant(1, "the decided credits of a refund or dispute are not reversed", [
    ["a changed decision", "UPDATE foreign_reversal SET decided_credits = decided_credits + 1 WHERE id = 're_f'"],
    ["a returned refund whose decided credits stay reversed", "UPDATE foreign_reversal SET state = 'returned' WHERE id = 're_f'"],
  ]),
  ...plant(1, "receipt numbers do not start at 1 or have a gap", [
    ["a missing receipt number", `UPDATE purchase SET receipt = 7 WHERE seq = ${B}`],
  ]),
];
