// Low balances of an account, derived from its transfers: each has the available credits before and after it.
import { balanceObject, fallsBelow } from "../domain/low-balance.ts";
import type { Credits, JsonObject } from "../domain/types.ts";
import type { StoreReads, TransferRow } from "../store/store.ts";

export type LowBalanceDeps = {
  reads: Pick<StoreReads, "lowBalance" | "adjustmentsOfTransfers">;
  /** Threshold of accounts without their own; 0: never. */
  defaultCredits: Credits;
};
/** A transfer that made the balance low. `balance`: the object of the event. */
export type FallenBalance = Pick<TransferRow, "chainSeq" | "atMs"> & { balance: JsonObject };

/** Only holds and withdrawals lower available credits. */
const isLowering = ({ from }: TransferRow): boolean => from === "available";

/**
 * The transfers that made the balance low, by the present threshold of the account. A repayment takes credits that came after the
 * debt had made the balance low, so it makes none low.
 */
export const fallenBalances = async (
  { reads, defaultCredits }: LowBalanceDeps,
  accountSeq: number,
  transfers: readonly TransferRow[],
): Promise<FallenBalance[]> => {
  const lowering = transfers.filter(isLowering);
  if (lowering.length === 0) return [];
  const thresholdCredits = (await reads.lowBalance(accountSeq)) ?? defaultCredits;
  const fallen = lowering.filter(({ availableAfter, credits }) =>
    fallsBelow(availableAfter + credits, availableAfter, thresholdCredits),
  );
  const adjusting = fallen.filter(({ kind }) => kind === "adjust").map(({ seq }) => seq);
  const adjustments = await reads.adjustmentsOfTransfers(adjusting);
  return fallen.flatMap(({ seq, chainSeq, atMs, availableAfter: availableCredits, heldAfter: heldCredits }) => {
    // An account with a debt is not admitted, so a hold finds none.
    const { isRepayment, owedCredits } = adjustments.get(seq) ?? { isRepayment: false, owedCredits: 0 };
    return isRepayment ? [] : { chainSeq, atMs, balance: balanceObject({ availableCredits, heldCredits, owedCredits }) };
  });
};
