// Low balance: when the available credits of an account fall below its threshold, and the event about it.
import type { Credits, JsonObject } from "./types.ts";
import type { PendingDelivery } from "./webhooks.ts";

/** A balance that has just fallen below the threshold of its account. `deliveries`: its event in the outbox of webhooks. */
export type LowBalance = {
  accountSeq: number;
  availableCredits: Credits;
  thresholdCredits: Credits;
  deliveries: readonly PendingDelivery[];
};

/**
 * Whether a change makes the balance low. It is true once, until the balance has reached the threshold again. @param thresholdCredits
 * 0: never
 */
export const fallsBelow = (beforeCredits: Credits, afterCredits: Credits, thresholdCredits: Credits): boolean =>
  afterCredits < thresholdCredits && beforeCredits >= thresholdCredits;

type Balance = { availableCredits: Credits; heldCredits: Credits; owedCredits: Credits };

/** The balance of an account as the API returns it, without limits of a key. */
export const balanceObject = ({ availableCredits, heldCredits, owedCredits }: Balance): JsonObject => ({
  object: "balance",
  balance_usd: (availableCredits + heldCredits) / 100,
  held_usd: heldCredits / 100,
  available_usd: availableCredits / 100,
  owed_usd: owedCredits / 100,
  limits: [],
});
