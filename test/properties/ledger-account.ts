// Model of an account in the ledger's property, including how incoming credits pay debt.

/** `put`: all credits that came in, minus those taken out. */
export type AccountModel = Record<"available" | "held" | "charged" | "owed" | "inProgress" | "put", bigint> & {
  isPaused: boolean;
  /** The daily limit of its key; null: no limit. */
  dayLimit: number | null;
  /** Whether the spend of its key is counted: from the first limit on, even after the limit is removed. */
  isMetered: boolean;
  /** The total limit of its end user; null: no limit. */
  endUserLimit: number | null;
  /** Whether a generation or a limit has named the end user. */
  isEndUserKnown: boolean;
};
export const NEW_ACCOUNT: AccountModel = {
  available: 0n,
  held: 0n,
  charged: 0n,
  owed: 0n,
  inProgress: 0n,
  put: 0n,
  isPaused: false,
  dayLimit: null,
  isMetered: false,
  endUserLimit: null,
  isEndUserKnown: false,
};

const lesser = (one: bigint, other: bigint): bigint => {
  if (one < other) return one;
  return other;
};

/** Incoming or released credits pay the debt first; without debt the account is no longer paused. */
export const settleDebt = (balance: AccountModel): void => {
  const settled = lesser(balance.owed, balance.available);
  balance.available -= settled;
  balance.put -= settled;
  balance.owed -= settled;
  if (settled > 0n && balance.owed === 0n) balance.isPaused = false;
};
