// Formats amounts, times and ledger terms on the credit pages.
import type { LedgerLine, PurchaseView } from "../../../src/console/credits-dto.ts";

/** `$1,234.50`; without cents if `digits` is 0. A negative amount has a minus before the dollar sign. */
export const usdText = (credits: number, digits: 0 | 2 = 2): string =>
  (credits / 100).toLocaleString("en-US", { style: "currency", currency: "USD", minimumFractionDigits: digits });

/** A change with its sign: `+$5.00`, `−$0.75`, and an empty text for zero. */
export const changeText = (credits: number): string => {
  if (credits === 0) return "";
  return `${credits > 0 ? "+" : "−"}${usdText(Math.abs(credits))}`;
};

export const KIND_LABELS: Readonly<Record<LedgerLine["kind"], string>> = {
  topup: "Top-up",
  hold: "Hold",
  capture: "Charge",
  release: "Release",
  adjust: "Adjustment",
};

/** State of a purchase, in one or two words. */
export const statusOfPurchase = (purchase: PurchaseView, nowMs: number): string => {
  const { state, credits, refundedCredits, disputedCredits } = purchase;
  if (state === "open") return nowMs < purchase.expiresAtMs ? "Waiting for payment" : "Over";
  if (state === "expired") return "Not paid";
  if (state === "mismatched") return "Under review";
  if (disputedCredits > 0) return "Disputed";
  if (refundedCredits >= credits) return "Refunded";
  return refundedCredits > 0 ? `Refunded ${usdText(refundedCredits)}` : "Paid";
};

/** Start of a local day such as `2026-11-24`, ms since 1970; null for an empty field. @param more days to add */
export const dayStartMs = (day: string, more = 0): number | null => {
  const [year, month, date] = day.split("-").map(Number);
  if (!year || !month || !date) return null;
  return new Date(year, month - 1, date + more).getTime();
};

/** Query string that names the account if it is not the user's own. */
export const queryOf = (values: Readonly<Record<string, string | number | null>>): string => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value !== null && value !== "") query.set(name, String(value));
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
};
