// Account operations of the operator pages: search, create, pause, limit and adjust balances.

import type { UndecidedReversal } from "../../domain/purchase-mutations.ts";
import type { Credits } from "../../domain/types.ts";
import type { AccountRow, TransferRow } from "../../store/store.ts";
import {
  ACCOUNT_STATUSES,
  type AccountLine,
  type AccountStatus,
  type AccountsPage,
  type AccountTransfer,
  type AccountView,
  type CreditsAdjusted,
  type UndecidedLine,
} from "../operator-dto.ts";
import { ConsoleRefused, type ConsoleRequest } from "../request-context.ts";
import { named, type OperatorDeps, signed } from "./deps.ts";

const PAGE = 50;
const LAST_TRANSFERS = 20;
const MAX_TEXT = 100;
const MAX_UNDECIDED = 1000;

type NewAccount = { reference: string; name: string; creditCredits: Credits };
type AccountChange = Omit<Parameters<OperatorDeps["admin"]["setAccount"]>[0], "id" | "by">;
type DecisionRequest = { credits: Credits; reason: string };
type CreditsRequest = { reference: string; credits: Credits; note: string };

const isStanding = (text: string): text is AccountStatus => ACCOUNT_STATUSES.some((one) => one === text);

const lineOf = (row: AccountRow): AccountLine => ({
  id: row.id,
  name: row.name,
  paused: row.paused,
  balanceCredits: row.availableCredits + row.heldCredits,
  availableCredits: row.availableCredits,
  heldCredits: row.heldCredits,
  owedCredits: row.owedCredits,
  inProgress: row.inProgress,
  createdAtMs: row.createdAtMs,
});

const transferOf = (row: TransferRow): AccountTransfer => ({
  kind: row.kind,
  credits: row.credits,
  isOut: row.from === "available",
  generationId: row.generationId,
  note: row.note,
  availableAfterCredits: row.availableAfter,
  atMs: row.atMs,
});

const undecidedOf = ({ state: _, ...row }: UndecidedReversal): UndecidedLine => row;

export const createAccounts = ({ admin, reads, limits }: OperatorDeps) => {
  const undecided = async () => (await reads.undecidedReversals(MAX_UNDECIDED)).map(undecidedOf);
  const view = async (id: string): Promise<AccountView> => {
    const row = await reads.account(id);
    if (!row) throw new ConsoleRefused("not_found", `There is no account ${id}.`);
    const [keys, transfers] = [await reads.keys(id), await reads.transfers(id, null, LAST_TRANSFERS)];
    const users = await reads.users();
    return {
      ...lineOf(row),
      chargedCredits: row.chargedCredits,
      limits: {
        burstPerS: { own: row.burstPerS, service: limits.burstPerS },
        inProgress: { own: row.inProgressLimit, service: limits.inProgress },
      },
      promptRetention: { own: row.promptRetentionS, service: limits.promptRetention },
      keys: { active: keys.filter(({ revokedAtMs }) => revokedAtMs === null).length, all: keys.length },
      users: users.filter((one) => one.accountId === id && one.disabledAtMs === null).map(({ email }) => email),
      transfers: transfers.map(transferOf),
      undecided: (await undecided()).filter(({ accountId }) => accountId === id),
    };
  };
  return {
    list: async ({ query }: ConsoleRequest): Promise<AccountsPage> => {
      const [text, standing, before] = [query.get("text") ?? "", query.get("standing") ?? "all", query.get("before")];
      if (text.length > MAX_TEXT) throw new ConsoleRefused("invalid", `text: at most ${MAX_TEXT} characters.`);
      if (!isStanding(standing)) throw new ConsoleRefused("invalid", `standing: one of ${ACCOUNT_STATUSES.join(", ")}.`);
      if (before !== null && !/^\d{1,15}$/.test(before))
        throw new ConsoleRefused("invalid", "before: expected the value from the previous page.");
      const beforeSeq = before === null ? null : Number(before);
      // One row more than a page shows whether there is another page.
      const rows = await reads.searchAccounts({ text: text.trim(), standing, beforeSeq }, PAGE + 1);
      const shown = rows.slice(0, PAGE);
      const next = rows.length > PAGE ? (shown.at(-1)?.seq ?? null) : null;
      return { accounts: shown.map(lineOf), next, undecided: await undecided() };
    },
    show: (request: ConsoleRequest): Promise<AccountView> => view(named(request, "id")),
    create: async (request: ConsoleRequest): Promise<AccountView> => {
      const { id } = await admin.createAccount(signed(request, request.body as NewAccount));
      return view(id);
    },
    change: async (request: ConsoleRequest): Promise<AccountView> => {
      const { id } = await admin.setAccount(signed(request, { id: named(request, "id"), ...(request.body as AccountChange) }));
      return view(id);
    },
    /** Decides how much a refund or dispute in a foreign currency takes back. The decision is final. */
    decide: async (request: ConsoleRequest): Promise<AccountView> => {
      const id = named(request, "reversal");
      const of = (await undecided()).find((one) => one.id === id);
      if (of?.accountId !== named(request, "id"))
        throw new ConsoleRefused("not_found", `There is nothing to decide about ${id}.`);
      await admin.decideReversal(signed(request, { id, ...(request.body as DecisionRequest) }));
      return view(of.accountId);
    },
    /** A positive amount grants credits; a negative one takes back at most the available credits. */
    credit: async (request: ConsoleRequest): Promise<CreditsAdjusted> => {
      const { reference, credits, note } = request.body as CreditsRequest;
      const accountId = named(request, "id");
      // The reference is scoped to the console and the account, so that it cannot match a request from another source.
      const decision = signed(request, {
        reference: `console ${accountId} ${reference}`,
        accountId,
        credits: Math.abs(credits),
        note,
      });
      const owedBefore = (await reads.account(accountId))?.owedCredits ?? 0;
      const { transferredCredits } = await (credits > 0 ? admin.addCredits(decision) : admin.takeCredits(decision));
      const account = await view(accountId);
      return { account, transferredCredits, newlyOwedCredits: Math.max(0, account.owedCredits - owedBefore) };
    },
  };
};
