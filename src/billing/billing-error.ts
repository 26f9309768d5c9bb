// Error of the checkout for the buyer.

/** The message is one sentence for the buyer: the fault and the remedy. */
export class BillingError extends Error {
  readonly kind: "invalid" | "forbidden" | "unavailable" | "not_found" | "conflict";
  constructor(kind: BillingError["kind"], message: string) {
    super(message);
    this.kind = kind;
  }
}
