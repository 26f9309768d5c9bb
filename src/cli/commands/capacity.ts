// `genrouter capacity`: estimates the resources for a rate of generations from measured costs.
//
// It calls no service and no database.
import type { Command } from "commander";
import type { CapacityRequest } from "../capacity/plan.ts";
import { CommandError, EXITS } from "../exit-codes.ts";
import { type JsonFlag, parseWhole, type Session, settingsOf, withExamples, withJson } from "../session.ts";

type Flags = JsonFlag & {
  rate: string;
  runS: string;
  polls: string;
  resultMb: string;
  keepFilesDays?: string;
  keepRowsDays: string;
  routes: string;
  nodes?: string;
  store: string;
  full: string;
  syncMs?: string;
  roundTripMs: string;
};

const STORES = ["auto", "sqlite", "postgres"] as const;
const MAX_NODES = 64;

/** Parses a number, fractions allowed. @throws CommandError (usage) */
const parseNumber = (text: string, flag: string, least: number, most: number): number => {
  const value = /^\d{1,9}(\.\d{1,6})?$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= least && value <= most))
    throw new CommandError(EXITS.usage, `${flag}: ${JSON.stringify(text)} is not a number from ${least} to ${most}`, {
      code: "bad_flag",
    });
  return value;
};

const DAY_S = 86_400;

const askOf = (flags: Flags, keepFilesS: number, measuredSyncMs: number): CapacityRequest => ({
  rate: parseNumber(flags.rate, "--rate", 0.001, 100_000),
  runS: parseNumber(flags.runS, "--run-s", 0.1, 7200),
  polls: parseNumber(flags.polls, "--polls", 0, 10_000),
  resultBytes: parseNumber(flags.resultMb, "--result-mb", 0, 100_000) * 1e6,
  keepFilesDays:
    flags.keepFilesDays === undefined ? keepFilesS / DAY_S : parseNumber(flags.keepFilesDays, "--keep-files-days", 0, 36_500),
  keepRowsDays: parseNumber(flags.keepRowsDays, "--keep-rows-days", 0, 36_500),
  routes: parseWhole(flags.routes, "--routes", 1, 1000),
  nodes: flags.nodes === undefined ? null : parseWhole(flags.nodes, "--nodes", 1, MAX_NODES),
  full: parseWhole(flags.full, "--full", 10, 95) / 100,
  syncMs: flags.syncMs === undefined ? measuredSyncMs : parseNumber(flags.syncMs, "--sync-ms", 0, 1000),
  roundTripMs: parseNumber(flags.roundTripMs, "--round-trip-ms", 0, 1000),
});

export const addCapacity = (program: Command, session: Session): void => {
  const { terminal } = session;
  const command = program
    .command("capacity")
    .description(
      "estimate nodes, concurrency, database, WAL and bucket for a rate of generations, and its maximum, from measured costs",
    )
    .requiredOption("--rate <generations>", "generations a second")
    .option("--run-s <seconds>", "average duration at the provider in seconds", "60")
    .option("--polls <count>", "client polls per generation", "20")
    .option("--result-mb <megabytes>", "size of the result files per generation in MB", "2")
    .option("--keep-files-days <days>", "retention of result files in days (limits.file_retention_s)")
    .option("--keep-rows-days <days>", "retention of rows in days", "365")
    .option("--routes <count>", "number of routes", "1")
    .option("--nodes <count>", "number of nodes (default: as many as required)")
    .option("--store <name>", `store: ${STORES.join(", ")}; auto takes SQLite where it is enough`, "auto")
    .option("--full <percent>", "planned utilization of a core in percent", "60")
    .option("--sync-ms <ms>", "duration of an fsync on the database disk in milliseconds (default: measured)")
    .option("--round-trip-ms <ms>", "round trip from a node to the database in milliseconds", "0.5")
    .action(async (flags: Flags) => {
      const [{ answerTo }, { MEASURED }, { jsonOf, linesOf }] = await Promise.all([
        import("../capacity/answer.ts"),
        import("../capacity/costs.ts"),
        import("../capacity/lines.ts"),
      ]);
      const store = STORES.find((name) => name === flags.store);
      if (store === undefined)
        throw new CommandError(EXITS.usage, `--store: ${JSON.stringify(flags.store)} is not a store; use ${STORES.join(", ")}`, {
          code: "bad_flag",
        });
      const settings = settingsOf(session, {});
      const request = askOf(flags, settings.limits.file_retention_s, MEASURED.syncMs);
      if (store === "sqlite" && (request.nodes ?? 1) > 1)
        throw new CommandError(EXITS.usage, "--nodes: SQLite is for one node; use --store postgres", { code: "bad_flag" });
      const answer = answerTo(request, store === "auto" ? null : store, settings.store.read_connections);
      if (flags.json) return terminal.print(JSON.stringify(jsonOf(answer)));
      for (const line of linesOf(answer)) terminal.print(line);
      terminal.note(`costs as measured on ${MEASURED.machine}; your machine's: npm run costs`);
    });
  withExamples(
    withJson(command),
    "capacity --rate 10",
    "capacity --rate 1000 --run-s 90 --result-mb 8 --routes 40",
    "capacity --rate 100 --nodes 3 --store postgres --sync-ms 2 --round-trip-ms 1",
    "capacity --rate 50 --json | jq .nodes",
  );
};
