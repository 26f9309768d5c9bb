// `genrouter usage`: shows the ended generations and charges of the account by day, model, key or end user.
import { type Command, Option } from "commander";
import type { Client, Usage, UsageQuery } from "../../../client/src/client.ts";
import { CommandError, EXITS } from "../exit-codes.ts";
import {
  type ClientFlags,
  clientOf,
  interruptible,
  type JsonFlag,
  PAGE_TRIES,
  parseWhole,
  type Session,
  withClient,
  withExamples,
  withJson,
} from "../session.ts";
import { plain, table } from "../terminal.ts";
import { creditsOf, showUsd } from "../usd.ts";

type Grouping = Usage["group_by"];
type Flags = ClientFlags & JsonFlag & { by: Grouping; from?: string; to?: string; limit?: string; after?: string };

const GROUPINGS = ["day", "model", "key", "end_user"] as const satisfies readonly Grouping[];
const TITLES: Readonly<Record<Grouping, string>> = { day: "DAY", model: "MODEL", key: "KEY", end_user: "END USER" };
const PAGE = 100;
const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 10_000;

const queryOf = ({ by, from, to, after }: Flags): UsageQuery => ({
  group_by: by,
  ...(from === undefined ? {} : { from }),
  ...(to === undefined ? {} : { to }),
  ...(after === undefined ? {} : { after }),
});

/** Only the usage by end user is a list with pages. @throws CommandError (usage) */
const limitOf = ({ by, limit, after }: Flags): number => {
  const other = limit === undefined ? "--after" : "--limit";
  if (by !== "end_user" && (limit !== undefined || after !== undefined))
    throw new CommandError(EXITS.usage, `${other} needs --by end_user`, { code: "bad_flag" });
  return limit === undefined ? DEFAULT_LIMIT : parseWhole(limit, "--limit", 1, MAX_LIMIT);
};

/** Usage by end user has pages, which are joined up to `limit`. */
const joinPages = async (
  client: Pick<Client, "usage">,
  query: UsageQuery,
  limit: number,
  signal: AbortSignal,
): Promise<Usage> => {
  const pageOf = (after: string | undefined, left: number) =>
    client.usage(
      { ...query, limit: Math.min(PAGE, left), ...(after === undefined ? {} : { after }) },
      { signal, tries: PAGE_TRIES },
    );
  let page = await pageOf(query.after, limit);
  const data = [...page.data];
  while (page.next && data.length < limit) {
    page = await pageOf(page.next, limit - data.length);
    data.push(...page.data);
  }
  return { ...page, data };
};

type Sums = Usage["data"][number];
const cellsOf = (label: string, { generations, succeeded, failed, charged_usd, median_wait_s: waitS }: Sums): string[] => [
  ...[label, String(generations), String(succeeded), String(failed), showUsd(creditsOf(charged_usd))],
  typeof waitS === "number" ? `${waitS} s` : "–",
];
const labelOf = ({ day, model, key, name, end_user: endUser }: Sums): string =>
  plain(day ?? model ?? endUser ?? [key, name].filter(Boolean).join("  "));

export const addUsage = (program: Command, session: Session): void => {
  const { terminal } = session;
  const usage = program
    .command("usage")
    .description("show the ended generations and the charges of the account")
    .addOption(new Option("--by <grouping>", "grouping of the usage").choices(GROUPINGS).default("day"))
    .option("--from <day>", "first day, UTC (default: 29 days before the last)")
    .option("--to <day>", "last day, UTC (default: today)")
    .option("--limit <n>", `by end user: maximum number of end users (default: ${DEFAULT_LIMIT})`)
    .option("--after <cursor>", "by end user: continue after `next` of the previous output with --json")
    .action(async (flags: Flags) =>
      interruptible(async (signal) => {
        const limit = limitOf(flags);
        const client = await clientOf(session, flags);
        const query = queryOf(flags);
        const found =
          flags.by === "end_user"
            ? await joinPages(client, query, limit, signal)
            : await client.usage(query, { signal, tries: 1 });
        if (flags.json) return terminal.print(JSON.stringify(found));
        const rows = found.data.map((item) => cellsOf(labelOf(item), item));
        const head = [TITLES[flags.by], "GENERATIONS", "SUCCEEDED", "FAILED", "CHARGED", "MEDIAN WAIT"];
        for (const line of table(head, [...rows, cellsOf("total", found.total)], [1, 2, 3, 4, 5])) terminal.print(line);
      }),
    );
  withExamples(
    withJson(withClient(usage)),
    "usage",
    "usage --by model --from 2026-10-01 --to 2026-10-31",
    "usage --by end_user --limit 1000 --json | jq '.data[].charged_usd'",
  );
};
