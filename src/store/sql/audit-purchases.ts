// Audit entries of purchases, payments, refunds, disputes and low-balance alerts.
//
// Each entry is written once, in the transaction of its mutation.
import type { PurchaseMutation, PurchaseResult } from "../../domain/purchase-mutations.ts";
import { accountOf, type Target, writeAudit } from "./audit.ts";
import type { SqlProgram } from "./sql-program.ts";

type AuditEntry = { action: string; target: Target; detail: Record<string, unknown> };
type Purchase = NonNullable<Extract<PurchaseResult, { kind: "purchase" }>["purchase"]>;

/** Lists every mutation, so that a new one must define its audit entry. Null: it concerns no money, or transferred none. */
const auditEntryOf = (mutation: PurchaseMutation, purchase: Purchase | null): AuditEntry | null => {
  const of = { target: purchase?.id ?? null };
  const target = purchase ? { accountId: purchase.accountId } : {};
  switch (mutation.mutation) {
    case "open-purchase":
      return { action: mutation.mutation, ...of, detail: { ...target, credits: mutation.credits, provider: mutation.provider } };
    case "pay-purchase": {
      const { amountCredits: credits, currency, sessionId, paymentIntent } = mutation.payment;
      const isPaid = purchase?.state === "paid";
      return {
        action: isPaid ? mutation.mutation : "mismatch-purchase",
        ...of,
        detail: { ...target, credits, ...(isPaid ? {} : { currency }), sessionId, paymentIntent },
      };
    }
    case "note-reversal":
    case "note-foreign-reversal": {
      // The payment is unknown here, like other sales of the same Stripe account.
      if (purchase === null) return null;
      const { id, kind, state, paymentIntent } = mutation;
      const much =
        "credits" in mutation ? { credits: mutation.credits } : { amount: mutation.amount, currency: mutation.currency };
      return { action: `note-${kind}`, ...of, detail: { ...target, id, state, ...much, paymentIntent } };
    }
    case "set-low-balance":
    case "set-spend-alert":
      return { action: mutation.mutation, target: accountOf(mutation.accountSeq), detail: { credits: mutation.credits } };
    case "name-checkout":
    case "note-asked":
    case "expire-purchase":
    case "note-invoice":
      return null;
  }
};

/** A mutation that changed nothing, such as a repeated event, writes no entry. */
export const auditPurchase = function* (mutation: PurchaseMutation, outcome: PurchaseResult): SqlProgram<void> {
  if (outcome.kind === "refused" || !outcome.changed || !("by" in mutation)) return;
  const { transferredCredits, purchase, undecided } = outcome;
  const reported = auditEntryOf(mutation, purchase);
  if (reported === null) return;
  const moved = purchase
    ? { transferredCredits, ...(purchase.owedCredits > 0 ? { owedCredits: purchase.owedCredits } : {}) }
    : {};
  const waits = undecided === undefined ? {} : { undecided };
  const isOpening = mutation.mutation === "open-purchase";
  yield* writeAudit(mutation.atMs, mutation.by, reported.action, reported.target, {
    ...reported.detail,
    ...(isOpening ? {} : moved),
    ...waits,
  });
};
