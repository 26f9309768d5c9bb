// Console endpoints for purchases: buy, checkout, simulated payment, list and receipts.
import { BillingError } from "../billing/billing-error.ts";
import type { Checkout } from "../billing/checkout.ts";
import type { Settings } from "../config/schema.ts";
import type { PurchaseRow } from "../domain/purchase-mutations.ts";
import type { StoreReads } from "../store/store.ts";
import { accountOf, type CreditsRequest, ownAccountId, seesAll } from "./account-scope.ts";
import type { Bought, PurchasesPage, PurchaseView, ReceiptView } from "./credits-dto.ts";
import { actorOf } from "./request-context.ts";

export type PurchaseDeps = {
  settings: Pick<Settings, "credits">;
  checkout: Checkout;
  reads: Pick<StoreReads, "account" | "purchase" | "purchases">;
};

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

/** The seller on receipts; null without settings. */
const sellerOf = ({ seller_name, seller_address, seller_tax_id }: Settings["credits"]): ReceiptView["seller"] =>
  seller_name === "" ? null : { name: seller_name, address: seller_address, taxId: seller_tax_id };

export const createPurchases = ({ settings, checkout, reads }: PurchaseDeps) => {
  const seller = sellerOf(settings.credits);
  const seen = async (request: CreditsRequest): Promise<PurchaseRow> => {
    const id = request.params.id ?? "";
    const row = await reads.purchase(id);
    if (!row || (row.accountId !== request.who.accountId && !seesAll(request)))
      throw new BillingError("not_found", `There is no purchase ${id}.`);
    return row;
  };
  const own = async (request: CreditsRequest): Promise<PurchaseRow> => {
    const row = await seen(request);
    if (row.accountId !== ownAccountId(request)) throw new BillingError("forbidden", "This purchase is another account's.");
    return row;
  };
  const view = async (row: PurchaseRow): Promise<PurchaseView> => toView(row, (await reads.account(row.accountId))?.name ?? "");

  return {
    /** `GET /console/api/purchases`: newest first; `before` is the last entry of the previous page. */
    list: async (request: CreditsRequest): Promise<PurchasesPage> => {
      const account = await accountOf(reads, request);
      const rows = await reads.purchases(account.id, request.query.get("before"), PAGE + 1);
      const purchases = rows.slice(0, PAGE).map((row) => toView(row, account.name));
      return { purchases, next: rows.length > PAGE ? (purchases.at(-1)?.id ?? null) : null };
    },
    /** `GET /console/api/purchases/:id`, with the seller of its receipt. */
    show: async (request: CreditsRequest): Promise<ReceiptView> => ({ ...(await view(await seen(request))), seller }),
    /** `POST /console/api/purchases`, `{ amount_usd }`. */
    buy: async (request: CreditsRequest): Promise<Bought> => {
      const { amount_usd } = request.body as { amount_usd: number };
      const bought = await checkout.buy({ accountId: ownAccountId(request), by: actorOf(request), usd: amount_usd });
      return { id: bought.purchaseId, url: bought.url };
    },
    /** `POST /console/api/purchases/:id/checkout`: returns to an open checkout. */
    checkout: async (request: CreditsRequest): Promise<Bought> => {
      const { id } = await own(request);
      return { id, url: await checkout.checkoutUrl(id) };
    },
    /** `POST /console/api/purchases/:id/cancel`: ends an open checkout without a payment. */
    cancel: async (request: CreditsRequest): Promise<PurchaseView> => {
      const { id } = await own(request);
      await checkout.cancel(id);
      return view(await seen(request));
    },
    /** `POST /console/api/purchases/:id/look`: queries the payment service for the state of a purchase without an event. */
    look: async (request: CreditsRequest): Promise<PurchaseView> => {
      const row = await seen(request);
      return view((await checkout.refresh(row.id)) ?? row);
    },
    /** `POST /console/api/purchases/:id/test`, `{ how }`: ends a simulated checkout. */
    endTest: async (request: CreditsRequest): Promise<PurchaseView> => {
      const { id } = await own(request);
      await checkout.endTest(id, (request.body as { how: "pay" | "cancel" }).how, actorOf(request));
      return view(await seen(request));
    },
  };
};
