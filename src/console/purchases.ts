// Console endpoints for purchases: buy, checkout, simulated payment, list and receipts.
import { BillingError } from "../billing/billing-error.ts";
import type { Checkout } from "../billing/checkout.ts";
import type { PurchaseRow } from "../store/purchase-mutations.ts";
import type { StoreReads } from "../store/store.ts";
import { accountOf, type CreditsRequest, ownAccountId, seesAll } from "./account-scope.ts";
import type { Bought, PurchasesPage, PurchaseView } from "./credits-dto.ts";
import { actorOf } from "./request-context.ts";

export type PurchaseDeps = { till: Checkout; reads: Pick<StoreReads, "account" | "purchase" | "purchases"> };

const PAGE = 20;

/** Format of a receipt number: `R-000042`. */
export const receiptNumber = (receipt: number | null): string | null =>
  receipt === null ? null : `R-${String(receipt).padStart(6, "0")}`;

const toView = (row: PurchaseRow, accountName: string): PurchaseView => ({
  id: row.id,
  accountId: row.accountId,
  accountName,
  credits: row.credits,
  provider: row.provider,
  state: row.state,
  createdAtMs: row.createdAtMs,
  expiresAtMs: row.expiresAtMs,
  paidAtMs: row.paidAtMs,
  receipt: receiptNumber(row.receipt),
  invoice: row.invoiceUrl === null ? null : { number: row.invoiceNumber, url: row.invoiceUrl },
  refundedCredits: row.refundedCredits,
  disputedCredits: row.disputedCredits,
});

export const createPurchases = ({ till, reads }: PurchaseDeps) => {
  const seen = async (ask: CreditsRequest): Promise<PurchaseRow> => {
    const id = ask.params.id ?? "";
    const row = await reads.purchase(id);
    if (!row || (row.accountId !== ask.who.accountId && !seesAll(ask)))
      throw new BillingError("not_found", `There is no purchase ${id}.`);
    return row;
  };
  const own = async (ask: CreditsRequest): Promise<PurchaseRow> => {
    const row = await seen(ask);
    if (row.accountId !== ownAccountId(ask)) throw new BillingError("forbidden", "This purchase is another account's.");
    return row;
  };
  const view = async (row: PurchaseRow): Promise<PurchaseView> => toView(row, (await reads.account(row.accountId))?.name ?? "");

  return {
    /** `GET /console/api/purchases`: newest first; `before` is the last entry of the previous page. */
    list: async (ask: CreditsRequest): Promise<PurchasesPage> => {
      const account = await accountOf(reads, ask);
      const rows = await reads.purchases(account.id, ask.query.get("before"), PAGE + 1);
      const purchases = rows.slice(0, PAGE).map((row) => toView(row, account.name));
      return { purchases, next: rows.length > PAGE ? (purchases.at(-1)?.id ?? null) : null };
    },
    /** `GET /console/api/purchases/:id`. */
    show: async (ask: CreditsRequest): Promise<PurchaseView> => view(await seen(ask)),
    /** `POST /console/api/purchases`, `{ amount_usd }`. */
    buy: async (ask: CreditsRequest): Promise<Bought> => {
      const { amount_usd } = ask.body as { amount_usd: number };
      const bought = await till.buy({ accountId: ownAccountId(ask), by: actorOf(ask), usd: amount_usd });
      return { id: bought.purchaseId, url: bought.url };
    },
    /** `POST /console/api/purchases/:id/checkout`: returns to an open checkout. */
    checkout: async (ask: CreditsRequest): Promise<Bought> => {
      const { id } = await own(ask);
      return { id, url: await till.checkoutUrl(id) };
    },
    /** `POST /console/api/purchases/:id/look`: queries the payment service for the state of a purchase without an event. */
    look: async (ask: CreditsRequest): Promise<PurchaseView> => {
      const row = await seen(ask);
      return view((await till.lookAfter(row.id)) ?? row);
    },
    /** `POST /console/api/purchases/:id/test`, `{ how }`: ends a simulated checkout. */
    endTest: async (ask: CreditsRequest): Promise<PurchaseView> => {
      const { id } = await own(ask);
      await till.endTest(id, (ask.body as { how: "pay" | "cancel" }).how, actorOf(ask));
      return view(await seen(ask));
    },
  };
};
