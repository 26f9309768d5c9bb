// `genrouter generations list`: lists the generations of the account of an API key.
import { type Command, Option } from "commander";
import type { Client, Generation, GenerationFilter } from "../../../client/src/client.ts";
import { GENERATION_STATUSES } from "../../domain/types.ts";
import { CommandError, EXITS } from "../exit-codes.ts";
import { sinceMs } from "../parse-time.ts";
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
import { table } from "../terminal.ts";
import { creditsOf, showUsd } from "../usd.ts";

type Flags = ClientFlags &
  JsonFlag & {
    status?: Generation["status"];
    model?: string;
    metadata?: Record<string, string>;
    since?: string;
    after?: string;
    limit?: string;
  };

const PAGE = 100;
const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 10_000;

/** Adds `order=1207` to the metadata of the flags before it. @throws CommandError (usage) */
const addMetadata = (text: string, before: Record<string, string> = {}): Record<string, string> => {
  const [, name, value = ""] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined)
    throw new CommandError(EXITS.usage, `--metadata: ${JSON.stringify(text)} is not a name and a value; for example order=1207`, {
      code: "bad_flag",
    });
  return { ...before, [name]: value };
};

const filterOf = ({ status, model, metadata, since, after }: Flags): GenerationFilter => ({
  ...(status === undefined ? {} : { status }),
  ...(model === undefined ? {} : { model }),
  ...(metadata === undefined ? {} : { metadata }),
  ...(since === undefined ? {} : { created_after: new Date(sinceMs(since, Date.now())).toISOString() }),
  ...(after === undefined ? {} : { after }),
});

/** The newest generations that match, at most `limit`, page by page. */
const newest = async (
  client: Pick<Client, "list">,
  filter: GenerationFilter,
  limit: number,
  signal: AbortSignal,
): Promise<Generation[]> => {
  const found: Generation[] = [];
  for await (const generation of client.list({ ...filter, limit: Math.min(PAGE, limit) }, { signal, tries: PAGE_TRIES })) {
    found.push(generation);
    if (found.length === limit) break;
  }
  return found;
};

const rowOf = ({ id, status, model, cost_usd: costUsd, created_at: createdAt, error }: Generation): string[] => [
  ...[id, status, model, costUsd === null ? "–" : showUsd(creditsOf(costUsd)), createdAt, error?.code ?? ""],
];

export const addGenerationsList = (generations: Command, session: Session): void => {
  const { terminal } = session;
  const list = generations
    .command("list")
    .description("list the generations of the account, newest first")
    .addOption(new Option("--status <status>", "only this status").choices(GENERATION_STATUSES))
    .option("--model <model>", "only this model")
    .option("--metadata <name=value>", "only with this metadata; once per name", addMetadata)
    .option("--since <time>", "only later than this time, for example 24h, 7d or 2026-10-19")
    .option("--after <id>", "continue after this generation, the last one of the previous list")
    .option("--limit <n>", `maximum number of generations (default: ${DEFAULT_LIMIT})`)
    .action(async (flags: Flags) =>
      interruptible(async (signal) => {
        const limit = flags.limit === undefined ? DEFAULT_LIMIT : parseWhole(flags.limit, "--limit", 1, MAX_LIMIT);
        const filter = filterOf(flags);
        const found = await newest(await clientOf(session, flags), filter, limit, signal);
        if (flags.json) return terminal.print(JSON.stringify(found));
        if (found.length === 0) return terminal.print("none");
        const head = ["GENERATION", "STATUS", "MODEL", "CHARGED", "CREATED", "ERROR"];
        for (const line of table(head, found.map(rowOf), [3])) terminal.print(line);
      }),
    );
  withExamples(
    withJson(withClient(list)),
    "generations list",
    "generations list --status failed --since 7d",
    "generations list --metadata order=1207 --json | jq -r '.[].id'",
  );
};
