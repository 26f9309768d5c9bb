// Logs when Stripe is available again after a failed call.
//
// An alert on `payment provider unavailable` can therefore clear.
import type { Log } from "../logging/events.ts";
import { type StripeClient, StripeUnavailable } from "./stripe.ts";

/** @returns the same client. Each caller logs `payment provider unavailable` itself, with the action that failed. */
export const watchAvailability = (stripe: StripeClient, log: Log): StripeClient => {
  let isUnavailable = false;
  const watched =
    <Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      try {
        const result = await call(...args);
        if (isUnavailable) log("payment provider recovered", {});
        isUnavailable = false;
        return result;
      } catch (fault) {
        if (fault instanceof StripeUnavailable) isUnavailable = true;
        throw fault;
      }
    };
  return {
    openCheckout: watched(stripe.openCheckout),
    checkout: watched(stripe.checkout),
    expireCheckout: watched(stripe.expireCheckout),
    refundsOf: watched(stripe.refundsOf),
    eventsSince: watched(stripe.eventsSince),
    event: stripe.event,
  };
};
