// Doctor checks of payments: complete Stripe settings in the mode of the data directory.

import { isLiveKey, isSellerSet, isStripeSet, requireSeller, requireStripeSettings } from "../../billing/validate-config.ts";
import type { Settings } from "../../config/schema.ts";
import type { StoreReads } from "../../store/store.ts";
import { counted } from "../backup-text.ts";
import { type Finding, fault, ok, textOf, warning } from "./finding.ts";

const RECENT_MS = 2_592_000_000;
const NAMED = 100;

/** Payments of the last 30 days that an operator must check. */
export const purchaseFindings = async (
  reads: Pick<StoreReads, "mismatchedPurchases" | "undecidedReversals">,
  nowMs: number,
): Promise<Finding[]> => {
  const found = await reads.mismatchedPurchases(nowMs - RECENT_MS, NAMED);
  const undecided = await reads.undecidedReversals(NAMED);
  const findings: Finding[] = [];
  if (undecided.length > 0)
    findings.push(
      fault(
        "payments",
        `${counted(undecided.length, "refund or dispute", "refunds and disputes")} in a currency other than USD: the credits to reverse are undecided, and the accounts are paused`,
        "genrouter purchases undecided; then genrouter purchases settle <id> --usd <amount> --reason <text>",
      ),
    );
  if (found.length > 0)
    findings.push(
      warning(
        "payments",
        `${counted(found.length, "purchase")} of the last 30 days with a payment that differs from the request: nothing was credited`,
        "genrouter purchases list --state mismatched; credit the payment (genrouter credits add), or refund it at Stripe",
      ),
    );
  return findings;
};

export const paymentFindings = (settings: Settings, mode: "test" | "live" | null): Finding[] => {
  try {
    requireStripeSettings(settings, mode);
    requireSeller(settings);
  } catch (thrown) {
    return [fault("payments", textOf(thrown), "correct the settings of stripe and credits: genrouter config check")];
  }
  if (!isStripeSet(settings.stripe)) return [];
  if (mode === "live" && !isLiveKey(settings.stripe.secret_key))
    return [
      warning(
        "payments",
        "credits of a live service are bought in Stripe's test mode, where no money moves",
        "set GENROUTER_STRIPE__SECRET_KEY to a live key (sk_live_…) and GENROUTER_STRIPE__WEBHOOK_SECRET to its endpoint's",
      ),
    ];
  if (mode === "live" && !isSellerSet(settings.credits))
    return [
      warning("payments", "receipts name no seller", "set GENROUTER_CREDITS__SELLER_NAME and GENROUTER_CREDITS__SELLER_ADDRESS"),
    ];
  const where = settings.server.public_url === "" ? "" : `, which sends events to ${settings.server.public_url}/webhooks/stripe`;
  return [ok("payments", `credits are bought through Stripe${where}`)];
};
