// The audit log of money: purchases, payments, refunds, disputes and marks of a low balance, each once, in the transaction that writes it.
import type { PurchaseMutation, PurchaseResult } from "../purchase-mutations.ts";
import { accountOf, type Target, writeAudit } from "./audit.ts";
import type { SqlProgram } from "./sql-program.ts";

type Told = { action: string; target: Target; detail: Record<string, unknown> };
type Purchase = NonNullable<Extract<PurchaseResult, { kind: "purchase" }>["purchase"]>;

/** Every deed is here, so that a new one does not come without saying whether it is told. Null: of no money, or of none that moved. */
const toldOf = (deed: PurchaseMutation, purchase: Purchase | null): Told | null => {
  const of = { target: purchase?.id ?? null };
  const whose = purchase ? { accountId: purchase.accountId } : {};
  switch (deed.deed) {
    case "open-purchase":
      return { action: deed.deed, ...of, detail: { ...whose, credits: deed.credits, provider: deed.provider } };
    case "pay-purchase": {
      const { amountCredits: credits, currency, sessionId, paymentIntent } = deed.payment;
      const isPaid = purchase?.state === "paid";
      return {
        action: isPaid ? deed.deed : "mismatch-purchase",
        ...of,
        detail: { ...whose, credits, ...(isPaid ? {} : { currency }), sessionId, paymentIntent },
      };
    }
    case "note-reversal":
    case "note-foreign-reversal": {
      // Of a payment that is not known here, as of whatever else the same Stripe account sells: it may never be.
      if (purchase === null) return null;
      const { id, kind, state, paymentIntent } = deed;
      const much = "credits" in deed ? { credits: deed.credits } : { amount: deed.amount, currency: deed.currency };
      return { action: `note-${kind}`, ...of, detail: { ...whose, id, state, ...much, paymentIntent } };
    }
    case "set-low-balance":
      return { action: deed.deed, target: accountOf(deed.accountSeq), detail: { credits: deed.credits } };
    case "name-checkout":
    case "note-asked":
    case "expire-purchase":
    case "note-invoice":
      return null;
  }
};

/** What changed nothing, as all that is told again, leaves no line. */
export const auditPurchase = function* (deed: PurchaseMutation, outcome: PurchaseResult): SqlProgram<void> {
  if (outcome.kind === "refused" || !outcome.changed || !("by" in deed)) return;
  const { movedCredits, purchase, undecided } = outcome;
  const told = toldOf(deed, purchase);
  if (told === null) return;
  const moved = purchase ? { movedCredits, ...(purchase.owedCredits > 0 ? { owedCredits: purchase.owedCredits } : {}) } : {};
  const waits = undecided === undefined ? {} : { undecided };
  const isOpening = deed.deed === "open-purchase";
  yield* writeAudit(deed.atMs, deed.by, told.action, told.target, { ...told.detail, ...(isOpening ? {} : moved), ...waits });
};
