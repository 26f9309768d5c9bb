// `genrouter credits`: adds, takes back and shows prepaid credits of an account.
import type { Command } from "commander";
import { TRANSFER_LABELS } from "../../domain/transfer-labels.ts";
import type { TransferRow } from "../../store/store.ts";
import { withAdminService } from "../admin-connection.ts";
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

type Flags = DirFlag & JsonFlag & { account: string };
type MoveFlags = Flags & { usd: string; note: string; reference?: string };

const transferJson = (row: TransferRow) => ({
  at: new Date(row.atMs).toISOString(),
  kind: row.kind,
  usd: usdNumber(row.credits),
  from: row.from,
  to: row.to,
  generation: row.generationId,
  request: row.requestId,
  note: row.note,
  available_after_usd: usdNumber(row.availableAfter),
  held_after_usd: usdNumber(row.heldAfter),
});

const transferLines = (rows: readonly TransferRow[]): string[] =>
  table(
    ["TIME", "KIND", "USD", "FROM → TO", "AVAILABLE", "HELD", "FOR"],
    rows.map((row) => [
      new Date(row.atMs).toISOString(),
      TRANSFER_LABELS[row.kind],
      showUsd(row.credits),
      `${row.from} → ${row.to}`,
      showUsd(row.availableAfter),
      showUsd(row.heldAfter),
      row.generationId ?? row.note ?? "",
    ]),
    [2, 4, 5],
  );

export const addCredits = (program: Command, session: Session): void => {
  const { terminal } = session;
  const credits = withExamples(
    program.command("credits").description("add, withdraw and show prepaid credits"),
    "credits add --account acc_01k… --usd 25",
    "credits show --account acc_01k…",
  );

  const move = (name: "add" | "take", description: string) =>
    withJson(withDir(credits.command(name).description(description)))
      .requiredOption("--account <id>", "the account")
      .requiredOption("--usd <amount>", "USD, at most two decimals")
      .option("--note <text>", "note for the ledger", "")
      .option("--reference <text>", "makes the command safe to repeat: the same reference transfers credits once")
      .action(async (flags: MoveFlags) => {
        const request = {
          reference: flags.reference ?? crypto.randomUUID(),
          accountId: flags.account,
          credits: parseUsd(flags.usd, "--usd"),
          note: flags.note,
        };
        const { account, transferredCredits } = await withAdminService(settingsOf(session, flags), (admin) =>
          name === "add" ? admin.addCredits(request) : admin.takeCredits(request),
        );
        if (flags.json)
          return terminal.print(JSON.stringify({ moved_usd: usdNumber(transferredCredits), ...accountJson(account) }));
        if (transferredCredits === 0 && flags.reference !== undefined && name === "add")
          terminal.note(`nothing added: the reference ${JSON.stringify(flags.reference)} has been used before`);
        const owed = account.owedCredits > 0 ? `  owed ${showUsd(account.owedCredits)}` : "";
        const paused = account.paused ? "  account paused" : "";
        terminal.print(
          `${name === "add" ? "added" : "taken"} ${showUsd(Math.abs(transferredCredits))}  balance ${showUsd(account.availableCredits + account.heldCredits)}  available ${showUsd(account.availableCredits)}${owed}${paused}`,
        );
      });
  withExamples(
    move("add", "add credits: an operator may grant any amount; packs of 10 to 5,000 USD are what customers buy"),
    'credits add --account acc_01k… --usd 25 --note "invoice 1042"',
    "credits add --account acc_01k… --usd 12.50 --reference invoice-1043",
  );
  withExamples(
    move(
      "take",
      "withdraw credits, for example of a refunded purchase, at most the available balance; the remainder becomes a debt and pauses the account",
    ),
    'credits take --account acc_01k… --usd 25 --note "dispute of invoice 1042"',
  );

  const show = credits
    .command("show")
    .description("show the balance and the last transfers")
    .requiredOption("--account <id>", "the account")
    .option("--last <n>", "number of transfers, newest last", "10")
    .action(async (flags: Flags & { last: string }) => {
      const last = parseWhole(flags.last, "--last", 0, 1000);
      const { account, transfers } = await withAdminService(settingsOf(session, flags), (admin) =>
        admin.showCredits({ accountId: flags.account, last }),
      );
      const { balance_usd, held_usd, available_usd, charged_usd, owed_usd } = accountJson(account);
      if (flags.json)
        return terminal.print(
          JSON.stringify({ balance_usd, held_usd, available_usd, charged_usd, owed_usd, movements: transfers.map(transferJson) }),
        );
      terminal.print(
        `balance ${showUsd(account.availableCredits + account.heldCredits)}  held ${showUsd(account.heldCredits)}  available ${showUsd(account.availableCredits)}  charged ${showUsd(account.chargedCredits)}${account.owedCredits > 0 ? `  owed ${showUsd(account.owedCredits)}` : ""}`,
      );
      if (transfers.length > 0) for (const line of transferLines(transfers)) terminal.print(line);
    });
  withExamples(
    withJson(withDir(show)),
    "credits show --account acc_01k…",
    "credits show --account acc_01k… --json | jq .available_usd",
  );
};
