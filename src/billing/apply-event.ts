// Applies payment events to the ledger, one mutation each, and logs them for operators.
import type Stripe from "stripe";
import type { Clock } from "../domain/clock.ts";
import type { Mutation, Principal, ResultOf } from "../domain/mutations.ts";
import type { Payment, PurchaseResult, PurchaseRow } from "../domain/purchase-mutations.ts";
import type { Log } from "../logging/events.ts";
import type { StoreReads } from "../store/store.ts";
import type { StripeClient } from "./stripe.ts";
import { eventOfRefund, type Named, type StripeEvent } from "./stripe-events.ts";

export type ApplyEventDeps = {
  clock: Clock;
  log: Log;
  reads: Pick<StoreReads, "purchase" | "account">;
  post: <D extends Mutation>(mutation: D) => Promise<ResultOf<D>>;
  stripe: StripeClient | null;
};

/** Principal of payment events. */
const STRIPE: Principal = { kind: "service", id: "stripe", name: "Stripe" };

export const createEventApplier = ({ clock, log, reads, post, stripe }: ApplyEventDeps) => {
  const reportUndecided = (outcome: PurchaseResult, why: string): void => {
    if (outcome.kind === "refused" || outcome.undecided === undefined || outcome.purchase === null) return;
    const { id, accountId } = outcome.purchase;
    const reason = `${why}: the credits to reverse must be set by an operator (genrouter purchases undecided); until then the account is paused`;
    log("reversal undecided", { purchase_id: id, account_id: accountId, count: outcome.undecided, reason });
  };

  const onReport = (outcome: PurchaseResult, why: string): void => {
    if (outcome.kind === "refused" || !outcome.changed) return;
    reportUndecided(outcome, why);
    const { id = "", accountId = "", owedCredits = 0 } = outcome.purchase ?? {};
    // If no credits were taken, only debt is worth a log line.
    if (outcome.transferredCredits === 0 && owedCredits === 0) return;
    const owed = owedCredits > 0 ? `; ${owedCredits} credits of debt, and the account is paused` : "";
    log("purchase reversed", {
      purchase_id: id,
      account_id: accountId,
      credits: outcome.transferredCredits,
      reason: `${why}${owed}`,
    });
  };

  const pay = async (id: string, payment: Payment, by: Principal = STRIPE): Promise<void> => {
    const outcome = await post({ mutation: "pay-purchase", id, payment, by, atMs: clock.nowMs() });
    const names = { purchase_id: id, credits: payment.amountCredits ?? 0 };
    if (outcome.kind === "refused") return log("payment mismatch", { ...names, reason: outcome.reason });
    if (!outcome.changed) return;
    const account_id = outcome.purchase?.accountId ?? "";
    if (outcome.purchase?.state === "mismatched")
      return log("payment mismatch", {
        ...{ ...names, account_id },
        reason: `paid ${payment.amountCredits ?? "nothing"} ${payment.currency}, which differs from the request: nothing was credited`,
      });
    log("purchase paid", { ...names, account_id });
    reportUndecided(outcome, "a reversal in a currency other than USD arrived before the payment");
  };

  /**
   * A purchase made after the backup that was restored is known from its checkout alone. @returns whether it belongs to this
   * service
   */
  const isOurs = async ({ purchaseId, accountId, credits }: Named): Promise<boolean> => {
    if (await reads.purchase(purchaseId)) return true;
    const account = accountId === null ? undefined : await reads.account(accountId);
    if (!account || credits === null) return false;
    const atMs = clock.nowMs();
    const outcome = await post({
      ...{
        mutation: "open-purchase",
        id: purchaseId,
        accountSeq: account.seq,
        userId: null,
        credits,
        provider: "stripe",
        atMs,
      },
      ...{ expiresAtMs: atMs + 1, by: STRIPE },
    });
    if (outcome.kind === "refused") log("payment mismatch", { purchase_id: purchaseId, reason: outcome.reason });
    return outcome.kind === "purchase";
  };

  const noted = (news: Extract<StripeEvent, { state: unknown }>, outcome: PurchaseResult): void => {
    const much = news.kind === "foreign" ? ` of ${news.amount} ${news.currency}` : "";
    if (outcome.kind === "refused") log("payment mismatch", { reason: `${news.of} ${news.id}: ${outcome.reason}` });
    onReport(outcome, `${news.of} ${news.id}${much}, ${news.state}`);
  };

  const over = async (id: string): Promise<void> => {
    await post({ mutation: "expire-purchase", id, atMs: clock.nowMs() });
  };

  const take = async (news: StripeEvent): Promise<void> => {
    switch (news.kind) {
      case "paid":
        if (await isOurs(news.named)) await pay(news.named.purchaseId, news.payment);
        return;
      case "over": {
        const row = await reads.purchase(news.named.purchaseId);
        // A checkout that is not the purchase's own does not decide about the purchase.
        if (row && (row.sessionId === null || row.sessionId === news.sessionId)) await over(row.id);
        return;
      }
      case "reversal": {
        const { kind: _, of, credits, ...reported } = news;
        return noted(
          news,
          await post({ ...reported, mutation: "note-reversal", kind: of, credits, by: STRIPE, atMs: clock.nowMs() }),
        );
      }
      case "foreign": {
        const { kind: _, of, ...reported } = news;
        return noted(
          news,
          await post({ ...reported, mutation: "note-foreign-reversal", kind: of, by: STRIPE, atMs: clock.nowMs() }),
        );
      }
      case "refunded":
        for (const refund of (await stripe?.refundsOf(news.paymentIntent)) ?? []) {
          const one = eventOfRefund(refund, clock.nowMs());
          if (one) await take(one);
        }
    }
  };

  return {
    pay,
    over,
    take,
    /** Stores the invoice of a purchase if Stripe has created it. @throws StripeUnavailable */
    invoice: async (row: PurchaseRow): Promise<void> => {
      const session = row.sessionId === null ? null : await stripe?.checkout(row.sessionId);
      const invoice = session?.invoice as Stripe.Invoice | string | null | undefined;
      if (!invoice || typeof invoice === "string" || !invoice.hosted_invoice_url) return;
      const { number, hosted_invoice_url: url } = invoice;
      await post({ mutation: "note-invoice", id: row.id, number, url, atMs: clock.nowMs() });
    },
  };
};
export type EventApplier = ReturnType<typeof createEventApplier>;
