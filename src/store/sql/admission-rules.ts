// Admission rules in order of precedence, such as the credit check (402); a known idempotency key outranks all of them.
import type { AdmitGeneration, AdmitResult } from "../mutations.ts";
import type { Head } from "./ledger.ts";

/** Returns the first violated rule of account, concurrency and balance; undefined if there is none. */
export const admissionError = (
  { inProgressLimit, reservedCredits }: Pick<AdmitGeneration, "inProgressLimit" | "reservedCredits">,
  { inProgress, availableCredits, owedCredits }: Head,
  expired: AdmitResult | undefined,
  shortage: () => AdmitResult | undefined,
): AdmitResult | undefined => {
  if (expired) return expired;
  if (inProgress >= inProgressLimit) return { kind: "concurrency_limit" };
  const short = shortage();
  if (short) return short;
  if (owedCredits > 0) return { kind: "owed", owedCredits };
  return availableCredits < reservedCredits ? { kind: "insufficient_credits", availableCredits } : undefined;
};
