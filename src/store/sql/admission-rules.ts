// What stands in the way of a submission, in the order of rank; a key that was used before outranks all of it.
import type { AdmitGeneration, AdmitResult } from "../mutations.ts";
import type { Head } from "./ledger.ts";

/** What is in the way of everything, of one more, and of this one; undefined: nothing is. */
export const inTheWay = (
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
