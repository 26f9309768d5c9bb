// How the till says no to the person who buys.

/** The message is one sentence for that person: what is wrong and what to do. */
export class BillingError extends Error {
  readonly kind: "invalid" | "forbidden" | "unavailable" | "not_found" | "conflict";
  constructor(kind: BillingError["kind"], message: string) {
    super(message);
    this.kind = kind;
  }
}
