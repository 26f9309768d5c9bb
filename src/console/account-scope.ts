// Selects the account of a request about credits and checks access to it.
//
// A member has access to its own account; operators and viewers can read all accounts.
import { BillingError } from "../billing/billing-error.ts";
import type { AccountRow, StoreReads } from "../store/store.ts";

/** The parts of a request that the credits endpoints use. */
export type CreditsRequest = {
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  body: unknown;
  who: { userId: string; email: string; role: "member" | "operator" | "viewer"; accountId: string | null };
};

const READ_ONLY = "Your role has read access only.";

/** True for operators and viewers, who can read every account. */
export const seesAll = ({ who }: CreditsRequest): boolean => who.role !== "member";

/**
 * The account named in the query, or the user's own. @throws BillingError `not_found` if it does not exist or the user has no
 * access
 */
export const accountOf = async (reads: Pick<StoreReads, "account">, request: CreditsRequest): Promise<AccountRow> => {
  const named = request.query.get("account");
  const id = named ?? request.who.accountId;
  if (id === null) throw new BillingError("not_found", "Your user has no account; choose one.");
  const account = id === request.who.accountId || seesAll(request) ? await reads.account(id) : undefined;
  if (!account) throw new BillingError("not_found", `There is no account ${id}.`);
  return account;
};

/** Members change their own account, operators any, viewers none. */
export const mayChange = ({ who }: Pick<CreditsRequest, "who">, accountId: string): boolean =>
  who.role === "operator" || (who.role === "member" && who.accountId === accountId);

/** The account named in the query, or the user's own, for a change. @throws BillingError `not_found`, `forbidden` */
export const accountToChange = async (reads: Pick<StoreReads, "account">, request: CreditsRequest): Promise<AccountRow> => {
  const account = await accountOf(reads, request);
  if (!mayChange(request, account.id)) throw new BillingError("forbidden", READ_ONLY);
  return account;
};

/** The user's own account, for a change. @throws BillingError */
export const ownAccountId = (request: CreditsRequest): string => {
  if (request.who.role === "viewer") throw new BillingError("forbidden", READ_ONLY);
  if (request.who.accountId === null) throw new BillingError("not_found", "Your user has no account.");
  return request.who.accountId;
};
