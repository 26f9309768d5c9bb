// Descriptions of audit entries about money, with amounts in USD, and the search for an action by its description.
import { expect, test } from "bun:test";
import type { AuditRow } from "../../src/store/user-reads.ts";
import { actionOf, describeAuditEntry, howOf } from "../../web/console/users/describe-audit-entry.ts";

const PAID = { accountId: "acc_1", credits: 2500, sessionId: "cs_1", paymentIntent: "pi_1", transferredCredits: 2500 };
const BACK = { accountId: "acc_1", id: "re_1", state: "taken", credits: 700, paymentIntent: "pi_1", transferredCredits: -700 };

test.each<[string, AuditRow["detail"], string, string]>([
  [
    "note-refused-sign-ins",
    { wrong: 12, throttled: 3, networks: 2 },
    "Sign-ins rejected",
    "12 wrong passwords and 3 throttled attempts, from 2 networks",
  ],
  [
    "open-purchase",
    { accountId: "acc_1", credits: 250_000, provider: "stripe" },
    "Purchase opened",
    "$2,500.00 for acc_1, through Stripe",
  ],
  [
    "open-purchase",
    { accountId: "acc_1", credits: 1000, provider: "test" },
    "Purchase opened",
    "$10.00 for acc_1, in a test checkout",
  ],
  ["pay-purchase", PAID, "Purchase paid", "$25.00 paid (pi_1): $25.00 added to acc_1"],
  [
    "mismatch-purchase",
    { ...PAID, credits: 9900, currency: "eur", transferredCredits: 0 },
    "Purchase mismatched",
    "99.00 EUR paid (pi_1), which does not match the purchase; nothing added to acc_1",
  ],
  ["note-refund", BACK, "Refund", "$7.00 reversed (re_1): $7.00 withdrawn from acc_1"],
  [
    "note-refund",
    { ...BACK, state: "returned", transferredCredits: 700 },
    "Refund",
    "$7.00 reversal withdrawn (re_1): $7.00 added to acc_1",
  ],
  [
    "note-refund",
    { id: "re_1", state: "taken", credits: 700, paymentIntent: "pi_1" },
    "Refund",
    "$7.00 reversed (re_1): its payment pi_1 is unknown",
  ],
  [
    "note-dispute",
    { ...BACK, id: "dp_1", transferredCredits: -500, owedCredits: 200 },
    "Dispute",
    "$7.00 reversed (dp_1): $5.00 withdrawn from acc_1; debt $2.00",
  ],
  [
    "note-dispute",
    { ...BACK, id: "dp_1", state: "asked", transferredCredits: 0 },
    "Dispute",
    "$7.00 under inquiry (dp_1): no transfer on acc_1",
  ],
  ["note-look", { what: "files" }, "Viewed", "its files"],
  [
    "note-key-network",
    { address: "192.0.2.7", network: "192.0.2.0/24" },
    "Key used from a new network",
    "192.0.2.7 (192.0.2.0/24)",
  ],
  ["note-inspector-token", { role: "viewer" }, "Inspector token", "for a program, as viewer"],
  ["set-low-balance", { credits: 700 }, "Low-balance alert", "below $7.00"],
  ["set-low-balance", { credits: 0 }, "Low-balance alert", "never alerted"],
  ["set-spend-alert", { credits: 700 }, "Spend alert", "from $7.00 a month"],
  ["set-spend-alert", { credits: null }, "Spend alert", "never alerted"],
  ["set-low-balance", { credits: null }, "Low-balance alert", "the service's default"],
  ["set-account", { paused: true }, "Set account", "paused: true"],
])("describes %s with %j", (action, detail, words, how) => {
  expect([describeAuditEntry(action), howOf({ action, detail })]).toEqual([words, how]);
  expect([actionOf(words), actionOf(` ${words.toUpperCase()} `), actionOf(action)]).toEqual([action, action, action]);
});
