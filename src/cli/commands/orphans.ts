// `genrouter orphans`: lists attempts that a provider may have billed but no customer paid for.
//
// Each has the known facts and the recommended action.
import type { Command } from "commander";
import { adviceOf } from "../../admin/orphan-advice.ts";
import type { Credits } from "../../domain/types.ts";
import type { OrphanRow } from "../../store/store.ts";
import { CommandError, EXITS } from "../exit-codes.ts";
import { sinceMs } from "../parse-time.ts";
import { storeLocationOf, withReads } from "../read-only-store.ts";
import { type DirFlag, type JsonFlag, type Session, withDir, withExamples, withJson } from "../session.ts";
import { showUsd, usdNumber } from "../usd.ts";
import { linesOf } from "./orphans-table.ts";

type Flags = DirFlag & JsonFlag & { since?: string; sort: string };

/** Width if standard output is no terminal or its width is unknown. */
const COLUMNS = 100;
const ORDERS = ["newest", "price"] as const;

const iso = (ms: number): string => new Date(ms).toISOString();

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

const sumOf = (rows: readonly OrphanRow[]): Credits => rows.reduce((sum, { priceCredits }) => sum + priceCredits, 0);

export const addOrphans = (program: Command, session: Session): void => {
  const { terminal } = session;
  const orphans = program
    .command("orphans")
    .description(
      "list attempts that a provider may have billed but no customer was charged for: unknown, late, mismatched, unusable (operator)",
    )
    .option("--since <time>", "only attempts sent since: 90m, 24h, 7d, or a date like 2026-10-19")
    .option("--sort <order>", `order: ${ORDERS.join(" or ")} first`, "newest")
    .action(async (flags: Flags) => {
      const nowMs = Date.now();
      if (!ORDERS.some((order) => order === flags.sort))
        throw new CommandError(EXITS.usage, `--sort: ${JSON.stringify(flags.sort)} is not an order; use ${ORDERS.join(" or ")}`, {
          code: "bad_flag",
        });
      const since = sinceMs(flags.since, nowMs);
      const found = await withReads(storeLocationOf(session, flags), (reads) => reads.orphans(since));
      // The sort is stable, so orphans of equal price remain newest first.
      const rows = flags.sort === "price" ? found.toSorted((a, b) => b.priceCredits - a.priceCredits) : found;
      const lost = sumOf(rows);
      if (flags.json) {
        const all = rows.map((row) => jsonOf(row, nowMs));
        return terminal.print(JSON.stringify({ count: rows.length, at_most_lost_usd: usdNumber(lost), orphans: all }));
      }
      if (rows.length === 0) return terminal.print("none");
      for (const line of linesOf(rows, nowMs, process.stdout.columns || COLUMNS)) terminal.print(line);
      terminal.print(`${rows.length} ${rows.length === 1 ? "orphan" : "orphans"}, at most ${showUsd(lost)} lost at route prices`);
    });
  withExamples(
    withJson(withDir(orphans)),
    "orphans --data /var/lib/genrouter",
    "orphans --since 24h --sort price",
    "orphans --json | jq -r '.orphans[] | select(.fate == \"late\") | [.provider, .job_id, .price_usd] | @tsv'",
  );
};
