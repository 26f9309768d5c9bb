// `genrouter generations`: lists generations, and settles, fails or retries a parked one.
import type { Command } from "commander";
import type { Decided } from "../../admin/generations.ts";
import type { Decision } from "../../domain/operator-decision.ts";
import type { ParkedRow } from "../../store/store.ts";
import { withAdminService } from "../admin-connection.ts";
import { EXITS } from "../exit-codes.ts";
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
import { showUsd, usdNumber } from "../usd.ts";
import { addGenerationsList } from "./generations-list.ts";

type Flags = DirFlag & JsonFlag;
type DecisionFlags = Flags & { reason: string; attempt?: string };

/** More than an operator decides by hand. */
const MAX_PARKED = 1000;
const iso = (ms: number): string => new Date(ms).toISOString();

const parkedJson = (row: ParkedRow) => ({
  ...{ generation_id: row.id, account_id: row.accountId, model: row.model, held_usd: usdNumber(row.reservedCredits) },
  ...{ created_at: iso(row.createdAtMs), parked_at: iso(row.parkedAtMs), reason: row.reason },
});
const decidedJson = ({ id, status, state, isTaken, costCredits, message }: Decided) => ({
  ...{ generation_id: id, status, state, taken: isTaken, message },
  cost_usd: costCredits === null ? null : usdNumber(costCredits),
});
const ENDED: ReadonlySet<string> = new Set(["succeeded", "failed"]);
const decidedText = ({ id, status, state, isTaken, costCredits, message }: Decided): string => {
  if (!isTaken && ENDED.has(status)) return `${id}  ${status} before the decision`;
  if (!isTaken) return `${id}  stored; the owning node applies it within a minute: genrouter trace ${id}`;
  const cost = costCredits === null ? "" : `  charged ${showUsd(costCredits)}`;
  return `${id}  ${status}${state === status ? "" : ` (${state})`}${cost}${message === null ? "" : `  ${message}`}`;
};

const DECISIONS: Readonly<Record<Decision, { about: string; example: string }>> = {
  settle: {
    about: "download the delivered result of an attempt and charge it",
    example: '--attempt 1 --reason "fal bills job 764…"',
  },
  fail: {
    about: "fail it without a charge: the whole hold is released, and a job that may still deliver is listed as an orphan",
    example: '--reason "lost at the provider since Monday"',
  },
  retry: {
    about: "poll the provider again with the full timeout of the route; use another route only within the waiting time",
    example: '--reason "the defect is fixed in 0.2"',
  },
};

export const addGenerations = (program: Command, session: Session): void => {
  const { terminal } = session;
  const generations = withExamples(
    program.command("generations").description("list generations; settle, fail or retry parked ones (operator)"),
    "generations list --status running",
    "generations parked",
    'generations fail gen_01k… --reason "lost at the provider since Monday"',
  );
  addGenerationsList(generations, session);

  const parked = generations
    .command("parked")
    .description("list parked generations with the reason; their credits stay on hold until you decide")
    .action(async (flags: Flags) => {
      const rows = await withReads(storeLocationOf(session, flags), (reads) => reads.parked(MAX_PARKED));
      if (flags.json) return terminal.print(JSON.stringify({ parked: rows.map(parkedJson) }));
      if (rows.length === 0) return terminal.print("none");
      const cells = rows.map((row) => [
        iso(row.parkedAtMs),
        row.id,
        row.model,
        row.accountId,
        showUsd(row.reservedCredits),
        row.reason,
      ]);
      for (const line of table(["PARKED", "GENERATION", "MODEL", "ACCOUNT", "HELD", "REASON"], cells, [4])) terminal.print(line);
    });
  withExamples(withJson(withDir(parked)), "generations parked", "generations parked --json | jq -r '.parked[].generation_id'");

  for (const [decision, { about, example }] of Object.entries(DECISIONS) as [Decision, (typeof DECISIONS)[Decision]][]) {
    const command = generations
      .command(`${decision} <id>`)
      .description(about)
      .requiredOption("--reason <text>", "reason, for the audit log and the events of the generation");
    if (decision === "settle")
      command.option("--attempt <n>", "number of the attempt that delivered (default: the newest that may have delivered)");
    command.action(async (id: string, flags: DecisionFlags) => {
      const attempt = flags.attempt === undefined ? null : parseWhole(flags.attempt, "--attempt", 1, 1000);
      const request = { id, decision, attempt, reason: flags.reason };
      const decided = await withAdminService(settingsOf(session, flags), (admin) => admin.decideGeneration(request));
      if (!decided.isTaken) session.exit = EXITS.tryAgain;
      terminal.print(flags.json ? JSON.stringify(decidedJson(decided)) : decidedText(decided));
    });
    withExamples(withJson(withDir(command)), `generations ${decision} gen_01k… ${example}`);
  }
};
