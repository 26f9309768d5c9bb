// Serves the balance of the account and the limits of the key, GET /v1/balance.
import { windowEndsAtMs } from "../../domain/calendar.ts";
import type { Clock } from "../../domain/clock.ts";
import { balanceObject } from "../../domain/low-balance.ts";
import { KEY_WINDOWS } from "../../domain/types.ts";
import type { StoreReads } from "../../store/store.ts";
import type { AuthenticatedHandler } from "../auth.ts";
import { readQuery } from "../query.ts";
import { usd } from "../resource.ts";
import { answerJson } from "../response.ts";

export type BalanceReads = Pick<StoreReads, "account" | "key" | "keyWindows">;

/** The limits of a key, in the order of `KEY_WINDOWS`, with what is left of them. */
const limitsOf = async (reads: BalanceReads, keyId: string, nowMs: number) => {
  const [key, windows] = await Promise.all([reads.key(keyId), reads.keyWindows(keyId, nowMs)]);
  return KEY_WINDOWS.flatMap((window) => {
    const limitCredits = key?.limits[window] ?? null;
    if (limitCredits === null) return [];
    const spentCredits = windows?.[window] ?? 0;
    return {
      window,
      limit_usd: usd(limitCredits),
      spent_usd: usd(spentCredits),
      // A limit may be lowered below what is spent.
      left_usd: usd(Math.max(0, limitCredits - spentCredits)),
      resets_at: new Date(windowEndsAtMs(window, nowMs)).toISOString(),
    };
  });
};

export const balance =
  ({ reads, clock }: { reads: BalanceReads; clock: Clock }): AuthenticatedHandler =>
  async (request, requestId, { accountId, keyId }) => {
    readQuery(request, []);
    const [account, limits] = await Promise.all([reads.account(accountId), limitsOf(reads, keyId, clock.nowMs())]);
    if (!account) throw new Error("the account of a valid key does not exist");
    return answerJson(200, JSON.stringify({ ...balanceObject(account), limits }), requestId);
  };
