// `genrouter accounts`: creates, lists, pauses and limits accounts.
import type { Command } from "commander";
import type { AdminService } from "../../admin/admin-service.ts";
import { newReference } from "../../admin/request-reference.ts";
import type { AccountRow } from "../../store/store.ts";
import { withAdminService } from "../admin-connection.ts";
import { CommandError, EXITS } from "../exit-codes.ts";
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

type Flags = DirFlag & JsonFlag;

/** An account in `--json` output: USD as numbers; null limits are the service's defaults. */
export const accountJson = (row: AccountRow) => ({
  id: row.id,
  name: row.name,
  paused: row.paused,
  balance_usd: usdNumber(row.availableCredits + row.heldCredits),
  held_usd: usdNumber(row.heldCredits),
  available_usd: usdNumber(row.availableCredits),
  charged_usd: usdNumber(row.chargedCredits),
  owed_usd: usdNumber(row.owedCredits),
  in_progress: row.inProgress,
  burst_per_s: row.burstPerS,
  in_progress_limit: row.inProgressLimit,
  prompt_retention_s: row.promptRetentionS,
  created_at: new Date(row.createdAtMs).toISOString(),
});

const retentionText = (retention: AccountRow["promptRetentionS"]): string => {
  if (retention === null) return "default";
  return retention === "forever" ? retention : `${retention} s`;
};

const accountLines = (rows: readonly AccountRow[]): string[] =>
  table(
    ["ID", "NAME", "STATE", "AVAILABLE", "HELD", "CHARGED", "RUNNING", "BURST/S", "IN PROGRESS", "TEXTS KEPT"],
    rows.map((row) => [
      row.id,
      row.name,
      row.paused ? "paused" : "active",
      showUsd(row.availableCredits),
      showUsd(row.heldCredits),
      showUsd(row.chargedCredits),
      String(row.inProgress),
      row.burstPerS === null ? "default" : String(row.burstPerS),
      row.inProgressLimit === null ? "default" : String(row.inProgressLimit),
      retentionText(row.promptRetentionS),
    ]),
    [3, 4, 5, 6],
  );

/** Parses a limit: a whole number, or `default` for the service's limit. */
const parseLimit = (text: string, flag: string): number | null =>
  text === "default" ? null : parseWhole(text, flag, 1, 1_000_000);

/** A hundred years, in seconds. */
const MAX_RETENTION_S = 3_153_600_000;
/** Parses a retention: whole seconds, `forever`, or `default` for that of the configuration. */
const parseRetention = (text: string, flag: string): AccountRow["promptRetentionS"] => {
  if (text === "default") return null;
  return text === "forever" ? text : parseWhole(text, flag, 0, MAX_RETENTION_S);
};

const MAX_NAME_CHARS = 200;

export const addAccounts = (program: Command, session: Session): void => {
  const { terminal } = session;
  const accounts = withExamples(
    program.command("accounts").description("create, list, pause and limit accounts"),
    "accounts create --name acme --credit-usd 25",
    "accounts list",
  );

  const create = accounts
    .command("create")
    .description("create an account")
    .requiredOption("--name <name>", "name")
    .option("--credit-usd <amount>", "initial credit in USD, at most two decimals")
    .option("--reference <text>", "makes the command safe to repeat: the same reference creates the account once")
    .option("--simulate", "create a new data directory for the simulator, not for real providers")
    .action(async (flags: Flags & { name: string; creditUsd?: string; reference?: string; simulate?: true }) => {
      if (flags.name.trim() === "" || flags.name.length > MAX_NAME_CHARS)
        throw new CommandError(EXITS.usage, `--name: expected a name of 1 to ${MAX_NAME_CHARS} characters`, {
          code: "bad_flag",
        });
      const creditCredits = flags.creditUsd === undefined ? 0 : parseUsd(flags.creditUsd, "--credit-usd");
      const reference = flags.reference ?? newReference("acc");
      const made = await withAdminService(
        settingsOf(session, flags),
        (admin) => admin.createAccount({ reference, name: flags.name, creditCredits }),
        { create: flags.simulate ? "test" : "live", note: terminal.note },
      );
      if (flags.json)
        terminal.print(JSON.stringify({ id: made.id, name: made.name, available_usd: usdNumber(made.availableCredits) }));
      else terminal.print(`account ${made.id}  ${made.name}  available ${showUsd(made.availableCredits)}`);
    });
  withExamples(
    withJson(withDir(create)),
    "accounts create --name acme --credit-usd 25",
    "accounts create --name acme --json | jq -r .id",
  );

  const list = accounts
    .command("list")
    .description("list all accounts")
    .action(async (flags: Flags) => {
      const rows = await withAdminService(settingsOf(session, flags), (admin) => admin.listAccounts({}));
      if (flags.json) terminal.print(JSON.stringify(rows.map(accountJson)));
      else if (rows.length === 0) terminal.note("no accounts; genrouter accounts create --name NAME creates one");
      else for (const line of accountLines(rows)) terminal.print(line);
    });
  withExamples(withJson(withDir(list)), "accounts list", "accounts list --json | jq '.[].available_usd'");

  const change = async (flags: Flags, id: string, what: Omit<Parameters<AdminService["setAccount"]>[0], "id">) => {
    const row = await withAdminService(settingsOf(session, flags), (admin) => admin.setAccount({ id, ...what }));
    if (flags.json) terminal.print(JSON.stringify(accountJson(row)));
    else for (const line of accountLines([row])) terminal.print(line);
  };

  const pause = accounts
    .command("pause <id>")
    .description("reject every request of its keys; open generations continue")
    .action((id: string, flags: Flags) => change(flags, id, { paused: true }));
  withExamples(withJson(withDir(pause)), "accounts pause acc_01k…");

  const resume = accounts
    .command("resume <id>")
    .description("accept requests of its keys again")
    .action((id: string, flags: Flags) => change(flags, id, { paused: false }));
  withExamples(withJson(withDir(resume)), "accounts resume acc_01k…");

  const set = accounts
    .command("set <id>")
    .description("set the limits of an account; `default` restores the limit of the configuration")
    .option("--burst <n>", "maximum requests per second over all endpoints that take a key")
    .option("--in-progress <n>", "maximum generations that are queued or running")
    .option(
      "--prompt-retention <s>",
      "seconds after the end of a generation at which its prompt, input, metadata and end user are erased; or forever",
    )
    .action(async (id: string, flags: Flags & { burst?: string; inProgress?: string; promptRetention?: string }) => {
      const { burst, inProgress, promptRetention } = flags;
      if (burst === undefined && inProgress === undefined && promptRetention === undefined)
        throw new CommandError(
          EXITS.usage,
          "nothing to set; give --burst, --in-progress, --prompt-retention or several of them",
          {
            code: "bad_flag",
          },
        );
      await change(flags, id, {
        ...(burst === undefined ? {} : { burstPerS: parseLimit(burst, "--burst") }),
        ...(inProgress === undefined ? {} : { inProgressLimit: parseLimit(inProgress, "--in-progress") }),
        ...(promptRetention === undefined ? {} : { promptRetentionS: parseRetention(promptRetention, "--prompt-retention") }),
      });
    });
  withExamples(
    withJson(withDir(set)),
    "accounts set acc_01k… --burst 50 --in-progress 100",
    "accounts set acc_01k… --burst default",
    "accounts set acc_01k… --prompt-retention 2592000   # 30 days",
  );
};
