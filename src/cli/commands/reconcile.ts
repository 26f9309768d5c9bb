// `genrouter reconcile`: compares a provider's job list with the attempts and prices the differences.
import type { Command } from "commander";
import type { Settings } from "../../config/schema.ts";
import type { Credits } from "../../domain/types.ts";
import { EDGE_MS, type Reconciled, reconcile, type UnknownJob, unpricedOf } from "../../providers/reconcile.ts";
import type { SentRow } from "../../store/store.ts";
import { withAdminService } from "../admin-connection.ts";
import { CommandError, EXITS } from "../exit-codes.ts";
import { sinceMs } from "../parse-time.ts";
import { storeLocationOf, withReads } from "../read-only-store.ts";
import { type DirFlag, type JsonFlag, type Session, settingsOf, withDir, withExamples, withJson } from "../session.ts";
import { table } from "../terminal.ts";
import { showUsd, usdNumber } from "../usd.ts";

type Flags = DirFlag & JsonFlag & { since: string };

const iso = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());
const sumOf = (rows: readonly SentRow[]): Credits => rows.reduce((sum, { priceCredits }) => sum + priceCredits, 0);
/** Upper bound of lost money: jobs without an attempt that carry an attempt's reference, and submissions without a known job. */
const atMostLost = ({ strangers, untold }: Reconciled): Credits => sumOf([...strangers.flatMap(({ of }) => of ?? []), ...untold]);

const sentJson = (row: SentRow) => ({
  ...{ generation_id: row.generationId, attempt: row.n, account_id: row.accountId, route_id: row.routeId, ref: row.ref },
  ...{ job_id: row.jobId, state: row.state, sent_at: iso(row.sentAtMs), price_usd: usdNumber(row.priceCredits) },
});
const strangerJson = ({ jobId, madeAtMs, of }: UnknownJob) => ({
  ...{ job_id: jobId, made_at: iso(madeAtMs) },
  attempt: of === null ? null : sentJson(of),
});

/** A job of unknown price is not free. If there is one, the sum is a lower bound. */
const lossOf = (found: Reconciled): string => {
  const unpriced = unpricedOf(found).length;
  const sum = `${showUsd(atMostLost(found))} lost at route prices`;
  return unpriced === 0
    ? `at most ${sum}`
    : `at least ${sum}; the price of ${unpriced === 1 ? "1 job" : `${unpriced} jobs`} is not known`;
};

/** @param isRestored true if the store is a restored backup, which does not contain later submissions */
const linesOf = ({ strangers, missing, untold }: Reconciled, provider: string, isRestored: boolean): string[] => {
  const noAttempt = `no attempt: submitted ${isRestored ? "after the restored backup, or " : ""}with the same key by something else`;
  const time = (ms: number | null) => iso(ms)?.slice(0, 19).replace("T", " ") ?? "";
  const sent = (row: SentRow) => [
    row.generationId,
    String(row.n),
    showUsd(row.priceCredits),
    time(row.sentAtMs),
    row.jobId ?? row.ref,
    row.state,
  ];
  const HEAD = ["GENERATION", "N", "USD", "SENT", "JOB OR REFERENCE", "STATE"];
  const lines: string[] = [];
  if (strangers.length > 0)
    lines.push(
      `jobs at ${provider} without an attempt:`,
      ...table(
        ["JOB", "MADE", "USD", "OF"],
        strangers.map(({ jobId, madeAtMs, of }) => [
          ...[jobId, time(madeAtMs), of === null ? "?" : showUsd(of.priceCredits)],
          of === null ? noAttempt : `${of.generationId} ${of.n} (${of.state})`,
        ]),
        [2],
      ),
      "",
    );
  if (missing.length > 0)
    lines.push(`jobs of attempts that ${provider} does not list:`, ...table(HEAD, missing.map(sent), [1, 2]), "");
  if (untold.length > 0) lines.push(`submissions without a known job:`, ...table(HEAD, untold.map(sent), [1, 2]), "");
  return lines;
};

/** @throws CommandError (not found) if no dialect of the configuration is of this provider. */
const requireKnownProvider = async (settings: Settings, id: string): Promise<void> => {
  const [{ dialectsOf }, { knownProviders }] = await Promise.all([
    import("../../routing/load-catalogue.ts"),
    import("../../providers/providers.ts"),
  ]);
  if (knownProviders(dialectsOf(settings)).has(id)) return;
  throw new CommandError(EXITS.notFound, `there is no provider ${id}`, {
    fix: "genrouter providers list shows the available providers",
    code: "not_found",
  });
};

export const addReconcile = (program: Command, session: Session): void => {
  const { terminal } = session;
  const command = program
    .command("reconcile <provider>")
    .description("compare a provider's job list with the attempts and print the differences with amounts (operator)")
    .option("--since <time>", "start time: 90m, 24h, 7d, or a date like 2026-10-19", "24h")
    .action(async (provider: string, flags: Flags) => {
      const untilMs = Date.now();
      const fromMs = sinceMs(flags.since, untilMs);
      const settings = settingsOf(session, flags);
      await requireKnownProvider(settings, provider);
      terminal.note(`reading the list of ${provider} …`);
      const [sent, restored] = await withReads(storeLocationOf(session, flags), (reads) =>
        Promise.all([reads.sentTo(provider, fromMs - EDGE_MS), reads.restored()]),
      );
      const routes = [
        ...new Map(sent.map(({ endpoint, options }) => [JSON.stringify([endpoint, options]), { endpoint, options }])).values(),
      ];
      const list = await withAdminService(settings, (admin) => admin.listJobs({ provider, routes, sinceMs: fromMs }));
      const reachesMs = list.reachesMs === 0 ? fromMs : Math.max(fromMs, untilMs - list.reachesMs);
      const found = reconcile(list.jobs, sent, { sinceMs: reachesMs, untilMs });
      const isClean = found.strangers.length + found.missing.length + found.untold.length === 0;
      session.exit = isClean ? EXITS.ok : EXITS.failure;
      const unpriced = unpricedOf(found);
      if (flags.json)
        return terminal.print(
          JSON.stringify({
            ...{ provider, since: iso(reachesMs), until: iso(untilMs), listed: list.jobs.length, matched: found.matched },
            at_provider_only: found.strangers.map(strangerJson),
            here_only: found.missing.map(sentJson),
            unknown: found.untold.map(sentJson),
            unpriced_jobs: unpriced.length,
            at_most_lost_usd: unpriced.length === 0 ? usdNumber(atMostLost(found)) : null,
          }),
        );
      if (reachesMs > fromMs) terminal.note(`the list of ${provider} reaches back to ${iso(reachesMs)} only`);
      for (const line of linesOf(found, provider, restored !== null)) terminal.print(line);
      terminal.print(`${list.jobs.length} jobs listed, ${found.matched} of them ours; ${lossOf(found)}`);
    });
  withExamples(withJson(withDir(command)), "reconcile fal", "reconcile modelark --since 7d --json | jq '.at_provider_only'");
};
