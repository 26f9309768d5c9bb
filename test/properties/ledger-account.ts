// An account in the model of the books, and how what comes in pays what it owes.

/** `put`: everything that ever came in, less what was taken out. */
export type AccountModel = Record<"available" | "held" | "charged" | "owed" | "inProgress" | "put", bigint> & {
  isPaused: boolean;
  /** The most its key may spend in a day; null: as much as there is. */
  dayLimit: number | null;
  /** What its key spends is counted from its first limit on, also when that is taken away. */
  isMetered: boolean;
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
};

const lesser = (one: bigint, other: bigint): bigint => {
  if (one < other) return one;
  return other;
};

/** What comes in, or is given back at an end, settles what is owed first, and with it goes the pause. */
export const settleDebt = (balance: AccountModel): void => {
  const settled = lesser(balance.owed, balance.available);
  balance.available -= settled;
  balance.put -= settled;
  balance.owed -= settled;
  if (settled > 0n && balance.owed === 0n) balance.isPaused = false;
};
