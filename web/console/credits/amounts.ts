// Formats amounts and states on the credit pages, in the language of the page.
import type { PurchaseView } from "../../../src/console/credits-dto.ts";
import { words } from "../../words/console-words.ts";
import { locale } from "../../words/words.ts";

/** `$1,234.50` in the language of the page; without cents if `digits` is 0. */
export const usdText = (credits: number, digits: 0 | 2 = 2): string =>
  (credits / 100).toLocaleString(locale, { style: "currency", currency: "USD", minimumFractionDigits: digits });

/** A change with its sign: `+$5.00`, `−$0.75`, and an empty text for zero. */
export const changeText = (credits: number): string => {
  if (credits === 0) return "";
  return `${credits > 0 ? "+" : "−"}${usdText(Math.abs(credits))}`;
};

/** A whole number in the language of the page. */
export const numberText = (n: number): string => n.toLocaleString(locale);

/** State of a purchase, in one or two words. */
export const statusOfPurchase = (purchase: PurchaseView, nowMs: number): string => {
  const { states, refundedPart } = words.purchases;
  const { state, credits, refundedCredits, disputedCredits } = purchase;
  if (state === "open") return nowMs < purchase.expiresAtMs ? states.open : states.over;
  if (state !== "paid") return states[state];
  if (disputedCredits > 0) return states.disputed;
  if (refundedCredits >= credits) return states.refunded;
  return refundedCredits > 0 ? refundedPart(usdText(refundedCredits)) : states.paid;
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
