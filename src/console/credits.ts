// Console endpoints for credits: balance, low-balance threshold, and the ledger with CSV export.

import { BillingError } from "../billing/billing-error.ts";
import type { Checkout } from "../billing/checkout.ts";
import type { Settings } from "../config/schema.ts";
import type { Clock } from "../domain/clock.ts";
import type { Mutation, ResultOf } from "../domain/mutations.ts";
import { MAX_USD, MIN_USD, PACKS_USD } from "../domain/purchase-mutations.ts";
import { isReachedAt } from "../domain/spend-alert.ts";
import { TRANSFER_KINDS, type TransferKind } from "../domain/types.ts";
import { csvFile } from "../reports/csv.ts";
import { type LedgerRequest, ledgerCsv } from "../reports/ledger.ts";
import { ledgerRows } from "../reports/ledger-rows.ts";
import type { AccountRow, StoreReads } from "../store/store.ts";
import type { AccessAudit } from "./access-audit.ts";
import { accountOf, accountToChange, type CreditsRequest } from "./account-scope.ts";
import type { CreditsView, LedgerRowsPage } from "./credits-dto.ts";
import { actorOf } from "./request-context.ts";

export type CreditsDeps = {
  settings: Pick<Settings, "credits">;
  checkout: Pick<Checkout, "provider">;
  clock: Clock;
  reads: Pick<
    StoreReads,
    "account" | "ledgerGenerations" | "lowBalance" | "monthSpend" | "purchasesOfTransfers" | "spendAlert" | "transfers"
  >;
  post: <D extends Mutation>(mutation: D) => Promise<ResultOf<D>>;
  /** A ledger shows the beginnings of prompts. */
  accessAudit: AccessAudit;
  /** Resolves when usage includes all generations that have ended by now. */
  rollUpUsage: () => Promise<void>;
};

const PAGE = 50;
const MAX_ALERT_USD = 1_000_000;

const isKind = (text: string): text is TransferKind => (TRANSFER_KINDS as readonly string[]).includes(text);

/** A time in the query, ms since 1970. @throws BillingError */
const timeIn = (query: URLSearchParams, name: string): number | null => {
  const text = query.get(name);
  if (text === null || text === "") return null;
  if (!/^\d{1,15}$/.test(text)) throw new BillingError("invalid", `${name}: a time is milliseconds since 1970`);
  return Number(text);
};

const ledgerRequestOf = (account: AccountRow, { query }: CreditsRequest): LedgerRequest => {
  const kind = query.get("kind") ?? "";
  if (kind !== "" && !isKind(kind))
    throw new BillingError("invalid", `kind: choose ${TRANSFER_KINDS.join(", ")}, or leave it out`);
  return { accountId: account.id, kind: kind === "" ? null : kind, fromMs: timeIn(query, "from"), toMs: timeIn(query, "to") };
};

/** The page of an account as the user of a request sees it. */
const viewsOf =
  ({ settings, checkout, clock, reads }: Pick<CreditsDeps, "settings" | "checkout" | "clock" | "reads">) =>
  async (account: AccountRow, request: CreditsRequest): Promise<CreditsView> => {
    const nowMs = clock.nowMs();
    const [own, alert, monthSpentCredits] = await Promise.all([
      reads.lowBalance(account.seq),
      reads.spendAlert(account.seq),
      reads.monthSpend(account.seq, nowMs),
    ]);
    const thresholdCredits = own ?? settings.credits.low_balance_alert_usd * 100;
    return {
      account: { id: account.id, name: account.name, paused: account.paused },
      balanceCredits: account.availableCredits + account.heldCredits,
      heldCredits: account.heldCredits,
      availableCredits: account.availableCredits,
      owedCredits: account.owedCredits,
      low: { thresholdCredits, isDefault: own === null, isLow: account.availableCredits < thresholdCredits },
      spend: { alertCredits: alert?.credits ?? null, monthSpentCredits, isReached: isReachedAt(alert, nowMs) },
      buying: {
        provider: checkout.provider,
        mayBuy: checkout.provider !== null && request.who.role !== "viewer" && account.id === request.who.accountId,
        packsUsd: PACKS_USD,
        leastUsd: MIN_USD,
        mostUsd: MAX_USD,
      },
    };
  };

export const createCredits = (deps: CreditsDeps) => {
  const { clock, reads, post, rollUpUsage } = deps;
  const view = viewsOf(deps);
  return {
    /** `GET /console/api/credits`. */
    show: async (request: CreditsRequest): Promise<CreditsView> => view(await accountOf(reads, request), request),
    /**
     * `POST /console/api/credits/low`, `{ usd }`: a whole number; 0 switches the alert off, null restores the service's default.
     */
    setLow: async (request: CreditsRequest): Promise<CreditsView> => {
      const account = await accountToChange(reads, request);
      const { usd } = request.body as { usd: number | null };
      if (usd !== null && (!Number.isInteger(usd) || usd < 0 || usd > MAX_ALERT_USD))
        throw new BillingError("invalid", `usd: expected a whole number from 0 to ${MAX_ALERT_USD.toLocaleString("en-US")}`);
      const mark = { mutation: "set-low-balance", accountSeq: account.seq, credits: usd === null ? null : usd * 100 } as const;
      await post({ ...mark, by: actorOf(request), atMs: clock.nowMs() });
      return view(account, request);
    },
    /** `POST /console/api/credits/spend-alert`, `{ usd }`: a whole number; null for no alert. */
    setSpendAlert: async (request: CreditsRequest): Promise<CreditsView> => {
      const account = await accountToChange(reads, request);
      const { usd } = request.body as { usd: number | null };
      if (usd !== null && (!Number.isInteger(usd) || usd < 1 || usd > MAX_ALERT_USD))
        throw new BillingError(
          "invalid",
          `usd: expected a whole number from 1 to ${MAX_ALERT_USD.toLocaleString("en-US")}, or null for no alert`,
        );
      // The spend of the month counts as far as usage is rolled up.
      await rollUpUsage();
      const credits = usd === null ? null : usd * 100;
      const outcome = await post({
        ...{ mutation: "set-spend-alert", accountSeq: account.seq, credits },
        ...{ by: actorOf(request), atMs: clock.nowMs() },
      });
      if (outcome.kind === "refused") throw new Error(outcome.reason);
      return view(account, request);
    },
    /** `GET /console/api/ledger`: a row for each generation and each other transfer, newest first; `before` is the end of the previous page. */
    ledger: async (request: CreditsRequest): Promise<LedgerRowsPage> => {
      const account = await accountOf(reads, request);
      const before = request.query.get("before");
      if (before !== null && !/^-?\d{1,16}$/.test(before))
        throw new BillingError("invalid", "before: expected the value from the previous page");
      deps.accessAudit.note(request.who, { what: "ledger", of: account.id, accountId: account.id });
      return ledgerRows(reads, ledgerRequestOf(account, request), before === null ? null : Number(before), PAGE);
    },
    /** `GET /console/api/ledger.csv`: all transfers that match the filters, streamed. */
    csv: async (request: CreditsRequest): Promise<Response> => {
      const account = await accountOf(reads, request);
      const name = `ledger-${account.id}-${new Date(clock.nowMs()).toISOString().slice(0, 10)}.csv`;
      return csvFile(name, ledgerCsv(reads, ledgerRequestOf(account, request)));
    },
  };
};
