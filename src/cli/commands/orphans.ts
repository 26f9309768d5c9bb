// `genrouter orphans`: attempts that may have been paid and that nobody was charged for, with what is known and what to do.
import type { Command } from "commander";
import type { OrphanRow } from "../../store/store.ts";
import type { Credits } from "../../terms.ts";
import { CommandFault, EXITS } from "../exits.ts";
import { withReads } from "../reads.ts";
import { type DirFlag, dirOf, type JsonFlag, type Session, withDir, withExamples, withJson } from "../session.ts";
import { table } from "../terminal.ts";
import { showUsd, usdNumber } from "../usd.ts";

type Flags = DirFlag & JsonFlag & { since?: string; sort: string };

const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const ORDERS = ["newest", "price"] as const;

/** `90m`, `24h`, `7d`, or a date: the time it names. @throws CommandFault (usage) */
const sinceMs = (text: string | undefined, nowMs: number): number => {
  if (text === undefined) return 0;
  const [, amount, unit = ""] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (amount !== undefined) return nowMs - Number(amount) * (UNIT_MS[unit] ?? 0);
  const atMs = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(atMs))
    throw new CommandFault(EXITS.usage, `--since: ${JSON.stringify(text)} is not a time; use 90m, 24h, 7d or 2026-10-19`, {
      code: "bad_flag",
    });
  return atMs;
};

/** Where the provider knows it: by its own id, else by the reference or the input it was sent. */
const whereOf = ({ provider, jobId, ref }: OrphanRow): string =>
  jobId === null ? `a job of ${ref} in the list of ${provider}` : `job ${jobId} at ${provider}`;

const iso = (ms: number): string => new Date(ms).toISOString();

/** What is known of an orphan, and what is to be done about it. */
const adviceOf = (row: OrphanRow): { known: string; toDo: string } => {
  const refund = `it was paid: ask ${row.provider} for it back, or book it as a loss`;
  if (row.fate === "late") return { known: "it delivered when its result was no longer wanted", toDo: refund };
  if (row.fate === "unusable") return { known: "it delivered a result that could not be had or read", toDo: refund };
  const known =
    row.failure?.class === "gone"
      ? "the provider no longer knows its job"
      : row.jobId === null
        ? "its request was sent and its answer lost; no job was found"
        : "its job was not seen to end";
  if (row.isWatched && row.watchUntilMs !== null) {
    const outcome =
      row.status === "running" ? "if it delivers in time it is used and charged" : "if it delivers it is marked late";
    return { known, toDo: `nothing yet: it is asked about until ${iso(row.watchUntilMs)}; ${outcome}` };
  }
  return { known, toDo: `look for ${whereOf(row)}: if it is there, cancel it or ask for it back` };
};

const jsonOf = (row: OrphanRow, nowMs: number) => {
  const { known, toDo } = adviceOf(row);
  return {
    generation_id: row.generationId,
    attempt: row.n,
    account_id: row.accountId,
    fate: row.fate,
    state: row.state,
    provider: row.provider,
    route_id: row.routeId,
    endpoint: row.endpoint,
    job_id: row.jobId,
    ref: row.ref,
    price_usd: usdNumber(row.priceCredits),
    sent_at: iso(row.sentAtMs),
    ended_at: row.endedAtMs === null ? null : iso(row.endedAtMs),
    age_s: Math.max(0, Math.floor((nowMs - row.sentAtMs) / 1000)),
    watched_until: row.watchUntilMs === null ? null : iso(row.watchUntilMs),
    failure: row.failure?.class ?? null,
    known,
    to_do: toDo,
  };
};

/** `45 s`, `12 min`, `3 h`, `9 d`. */
const showAge = (ms: number): string => {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 120) return `${s} s`;
  if (s < 7200) return `${Math.floor(s / 60)} min`;
  return s < 172_800 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86_400)} d`;
};

const linesOf = (rows: readonly OrphanRow[], nowMs: number): string[] =>
  table(
    ["GENERATION", "N", "FATE", "USD", "AGE", "PROVIDER", "ROUTE", "JOB OR REFERENCE", "KNOWN; TO DO"],
    rows.map((row) => {
      const { known, toDo } = adviceOf(row);
      return [
        row.generationId,
        String(row.n),
        row.fate,
        showUsd(row.priceCredits),
        showAge(nowMs - row.sentAtMs),
        row.provider,
        row.routeId,
        row.jobId ?? row.ref,
        `${known}; ${toDo}`,
      ];
    }),
    [1, 3, 4],
  );

const sumOf = (rows: readonly OrphanRow[]): Credits => rows.reduce((sum, { priceCredits }) => sum + priceCredits, 0);

export const addOrphans = (program: Command, session: Session): void => {
  const { terminal } = session;
  const orphans = program
    .command("orphans")
    .description("list attempts that may have been paid and that nobody was charged for: fate unknown, late, unusable (operator)")
    .option("--since <time>", "only those sent since then: 90m, 24h, 7d, or a date like 2026-10-19")
    .option("--sort <order>", `order: ${ORDERS.join(" or ")} first`, "newest")
    .action(async (flags: Flags) => {
      const nowMs = Date.now();
      if (!ORDERS.some((order) => order === flags.sort))
        throw new CommandFault(EXITS.usage, `--sort: ${JSON.stringify(flags.sort)} is not an order; use ${ORDERS.join(" or ")}`, {
          code: "bad_flag",
        });
      const since = sinceMs(flags.since, nowMs);
      const found = await withReads(dirOf(session, flags), (reads) => reads.orphans(since));
      // A stable sort: those of one price stay newest first.
      const rows = flags.sort === "price" ? found.toSorted((a, b) => b.priceCredits - a.priceCredits) : found;
      const lost = sumOf(rows);
      if (flags.json) {
        const all = rows.map((row) => jsonOf(row, nowMs));
        return terminal.print(JSON.stringify({ count: rows.length, at_most_lost_usd: usdNumber(lost), orphans: all }));
      }
      if (rows.length === 0) return terminal.print("none");
      for (const line of linesOf(rows, nowMs)) terminal.print(line);
      terminal.print(`${rows.length} ${rows.length === 1 ? "orphan" : "orphans"}, at most ${showUsd(lost)} lost at route prices`);
    });
  withExamples(
    withJson(withDir(orphans)),
    "orphans --data /var/lib/genrouter",
    "orphans --since 24h --sort price",
    "orphans --json | jq -r '.orphans[] | select(.fate == \"late\") | [.provider, .job_id, .price_usd] | @tsv'",
  );
};
