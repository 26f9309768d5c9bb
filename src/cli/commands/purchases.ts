// `genrouter purchases`: lists purchases with the data to find their payments at Stripe.
import type { Command } from "commander";
import {
  PURCHASE_STATES,
  type PurchaseRow,
  type PurchaseState,
  type UndecidedReversal,
} from "../../domain/purchase-mutations.ts";
import type { Credits } from "../../domain/types.ts";
import type { StoreReads } from "../../store/store.ts";
import { withAdminService } from "../admin-connection.ts";
import { CommandError, EXITS } from "../exit-codes.ts";
import { storeLocationOf, withReads } from "../read-only-store.ts";
import {
  type DirFlag,
  type JsonFlag,
  parseWhole,
  type Session,
  settingsOf,
  withDir,
  withExamples,
  withJson,
} from "../session.ts";
import { table } from "../terminal.ts";
import { parseUsd, showUsd, usdNumber } from "../usd.ts";
import { accountJson } from "./accounts.ts";

type SettleFlags = DirFlag & JsonFlag & { usd: string; reason: string };
type Flags = DirFlag & JsonFlag & { account?: string; state?: string; last: string };

const PAGE = 500;
const MAX_UNDECIDED = 1000;
const isState = (text: string): text is PurchaseState => (PURCHASE_STATES as readonly string[]).includes(text);
const iso = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

const jsonOf = (row: PurchaseRow) => ({
  id: row.id,
  account_id: row.accountId,
  state: row.state,
  usd: usdNumber(row.credits),
  refunded_usd: usdNumber(row.refundedCredits),
  disputed_usd: usdNumber(row.disputedCredits),
  provider: row.provider,
  created_at: iso(row.createdAtMs),
  paid_at: iso(row.paidAtMs),
  receipt: row.receipt,
  checkout: row.sessionId,
  payment: row.paymentIntent,
  paid_otherwise: row.found,
  invoice: row.invoiceNumber,
  invoice_url: row.invoiceUrl,
});

const noteOf = ({ found, refundedCredits, disputedCredits }: PurchaseRow): string =>
  [
    ...(found === null ? [] : [`paid ${found}`]),
    ...(refundedCredits > 0 ? [`refunded ${showUsd(refundedCredits)}`] : []),
    ...(disputedCredits > 0 ? [`disputed ${showUsd(disputedCredits)}`] : []),
  ].join(", ");

const linesOf = (rows: readonly PurchaseRow[]): string[] =>
  table(
    ["OPENED", "PURCHASE", "ACCOUNT", "USD", "STATE", "PAYMENT", "NOTE"],
    rows.map((row) => [
      iso(row.createdAtMs) ?? "",
      row.id,
      row.accountId,
      showUsd(row.credits),
      row.state,
      row.paymentIntent ?? row.sessionId ?? "",
      noteOf(row),
    ]),
    [3],
  );

/** The newest `most` matching purchases, newest first. */
const newest = async (
  reads: Pick<StoreReads, "purchases">,
  accountId: string | null,
  state: string | undefined,
  most: number,
): Promise<PurchaseRow[]> => {
  const found: PurchaseRow[] = [];
  for (let before: string | null = null; found.length < most; ) {
    const page: PurchaseRow[] = await reads.purchases(accountId, before, PAGE);
    found.push(...page.filter((row) => state === undefined || row.state === state));
    const last = page.at(-1);
    if (!last || page.length < PAGE) break;
    before = last.id;
  }
  return found.slice(0, most);
};

const undecidedJson = (row: UndecidedReversal) => ({
  id: row.id,
  kind: row.kind,
  state: row.state,
  amount: row.amount,
  currency: row.currency,
  payment: row.paymentIntent,
  purchase: row.purchaseId,
  account_id: row.accountId,
  bought_usd: usdNumber(row.boughtCredits),
  taken_back_usd: usdNumber(row.reversedCredits),
  at: iso(row.atMs),
});

const undecidedLines = (rows: readonly UndecidedReversal[]): string[] =>
  table(
    ["REPORTED", "REFUND OR DISPUTE", "AMOUNT", "STATE", "PURCHASE", "OF USD", "REVERSED", "ACCOUNT", "PAYMENT"],
    rows.map((row) => [
      iso(row.atMs) ?? "",
      row.id,
      `${row.amount} ${row.currency}`,
      row.state,
      row.purchaseId,
      showUsd(row.boughtCredits),
      showUsd(row.reversedCredits),
      row.accountId,
      row.paymentIntent,
    ]),
    [2, 5, 6],
  );

/** Zero is allowed, to take back nothing. */
const creditsOf = (usd: string): Credits => (/^0+(\.0{1,2})?$/.test(usd) ? 0 : parseUsd(usd, "--usd"));

/** Adds the commands for undecided reversals and their decision. */
const addDeciding = (purchases: Command, session: Session): void => {
  const { terminal } = session;
  const undecided = purchases
    .command("undecided")
    .description(
      "list refunds and disputes in a currency other than USD; their accounts are paused until an operator sets the amount to reverse; amounts are in the currency's smallest unit",
    )
    .action(async (flags: DirFlag & JsonFlag) => {
      const rows = await withReads(storeLocationOf(session, flags), (reads) => reads.undecidedReversals(MAX_UNDECIDED));
      if (flags.json) return terminal.print(JSON.stringify({ undecided: rows.map(undecidedJson) }));
      if (rows.length === 0) return terminal.print("none");
      for (const line of undecidedLines(rows)) terminal.print(line);
    });
  withExamples(withJson(withDir(undecided)), "purchases undecided", "purchases undecided --json | jq -r '.undecided[].id'");

  const settle = purchases
    .command("settle")
    .description("set the amount that a reversal takes from its purchase; the account resumes if no other reversal is undecided")
    .argument("<id>", "id of the refund or dispute at Stripe, as printed by purchases undecided")
    .requiredOption("--usd <amount>", "USD to withdraw, at most the purchase; 0: nothing")
    .requiredOption("--reason <text>", "reason, for the audit log")
    .action(async (id: string, flags: SettleFlags) => {
      const request = { id, credits: creditsOf(flags.usd), reason: flags.reason };
      const { transferredCredits, account } = await withAdminService(settingsOf(session, flags), (admin) =>
        admin.decideReversal(request),
      );
      if (flags.json)
        return terminal.print(
          JSON.stringify({ moved_usd: usdNumber(transferredCredits), ...(account ? accountJson(account) : {}) }),
        );
      const owed = account && account.owedCredits > 0 ? `  owed ${showUsd(account.owedCredits)}` : "";
      const paused = account?.paused ? "  account paused" : "";
      terminal.print(`decided ${showUsd(request.credits)}  reversed ${showUsd(0 - transferredCredits)}${owed}${paused}`);
    });
  withExamples(
    withJson(withDir(settle)),
    'purchases settle re_3Pk… --usd 10 --reason "9.20 EUR, the rate of the payment"',
    'purchases settle dp_1Pk… --usd 0 --reason "payment of another shop"',
  );
};

export const addPurchases = (program: Command, session: Session): void => {
  const { terminal } = session;
  const purchases = withExamples(
    program.command("purchases").description("show purchases with their Stripe ids (operator)"),
    "purchases list",
    "purchases list --state mismatched",
    "purchases undecided",
  );
  addDeciding(purchases, session);
  const list = purchases
    .command("list")
    .description("list purchases, newest last")
    .option("--account <id>", "only this account")
    .option(
      "--state <state>",
      `only purchases in this state: ${PURCHASE_STATES.join(", ")} (mismatched: the payment differs from the request and was not credited)`,
    )
    .option("--last <n>", "number of purchases", "20")
    .action(async (flags: Flags) => {
      const { account, state } = flags;
      const last = parseWhole(flags.last, "--last", 1, 10_000);
      if (state !== undefined && !isState(state))
        throw new CommandError(
          EXITS.usage,
          `--state: ${JSON.stringify(state)} is not a state; use ${PURCHASE_STATES.join(", ")}`,
          {
            code: "bad_flag",
          },
        );
      const rows = await withReads(storeLocationOf(session, flags), async (reads) => {
        if (account !== undefined && !(await reads.account(account)))
          throw new CommandError(EXITS.notFound, `there is no account ${account}`, {
            fix: "genrouter accounts list shows the available accounts",
            code: "not_found",
          });
        return (await newest(reads, account ?? null, state, last)).reverse();
      });
      if (flags.json) return terminal.print(JSON.stringify({ purchases: rows.map(jsonOf) }));
      if (rows.length === 0) return terminal.print("none");
      for (const line of linesOf(rows)) terminal.print(line);
    });
  withExamples(
    withJson(withDir(list)),
    "purchases list --account acc_01k… --last 5",
    "purchases list --json | jq -r '.purchases[] | select(.refunded_usd > 0) | [.id, .payment] | @tsv'",
  );
};
