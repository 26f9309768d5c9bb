// Whose books a request about credits is for: one's own account, or any for those who may look at all of them.
import { BillingError } from "../billing/billing-error.ts";
import type { AccountRow, StoreReads } from "../store/store.ts";

/** What the answers about credits need of a request. */
export type CreditsRequest = {
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  body: unknown;
  who: { personId: string; email: string; role: "member" | "operator" | "viewer"; accountId: string | null };
};

/** Operators and viewers look at every account's books. */
export const seesAll = ({ who }: CreditsRequest): boolean => who.role !== "member";

/** The account named in the query, or one's own. @throws BillingError `not_found` for one that is not there, or not to be seen */
export const accountOf = async (reads: Pick<StoreReads, "account">, ask: CreditsRequest): Promise<AccountRow> => {
  const named = ask.query.get("account");
  const id = named ?? ask.who.accountId;
  if (id === null) throw new BillingError("not_found", "You have no account of your own: choose one.");
  const account = id === ask.who.accountId || seesAll(ask) ? await reads.account(id) : undefined;
  if (!account) throw new BillingError("not_found", `There is no account ${id}.`);
  return account;
};

/** One's own account, to change something of it. @throws BillingError */
export const ownAccountId = (ask: CreditsRequest): string => {
  if (ask.who.role === "viewer") throw new BillingError("forbidden", "You may look at everything here and change nothing.");
  if (ask.who.accountId === null) throw new BillingError("not_found", "You have no account of your own.");
  return ask.who.accountId;
};
