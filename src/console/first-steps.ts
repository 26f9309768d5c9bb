// Console endpoint of the first steps of a new account: each is derived from what the account has.
import type { Clock } from "../domain/clock.ts";
import type { StoreReads } from "../store/store.ts";
import { accountOf, type CreditsRequest } from "./account-scope.ts";
import type { FirstSteps } from "./credits-dto.ts";

export type FirstStepsDeps = { clock: Clock; reads: Pick<StoreReads, "account" | "keys" | "countUsers" | "invitations"> };

const COLLEAGUES = 2;

export const createFirstSteps = ({ clock, reads }: FirstStepsDeps) => {
  const isInvited = async (accountId: string): Promise<boolean> => {
    const nowMs = clock.nowMs();
    return (await reads.invitations()).some(
      (one) => one.accountId === accountId && one.usedAtMs === null && one.withdrawnAtMs === null && one.expiresAtMs > nowMs,
    );
  };
  return {
    /** `GET /console/api/first-steps`, of the user's own account. */
    show: async (request: CreditsRequest): Promise<FirstSteps> => {
      const { seq, id, availableCredits, heldCredits, chargedCredits } = await accountOf(reads, {
        ...request,
        query: new URLSearchParams(),
      });
      const [keys, users] = await Promise.all([reads.keys(id), reads.countUsers(seq, COLLEAGUES)]);
      return {
        hasGenerated: chargedCredits > 0,
        hasCredits: availableCredits + heldCredits + chargedCredits > 0,
        hasKey: keys.length > 0,
        hasColleague: users >= COLLEAGUES || (await isInvited(id)),
        mayInvite: request.who.role === "operator",
      };
    },
  };
};
