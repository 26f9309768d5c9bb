// Reads the state of the running service for the operator pages.
//
// It covers the run queue, expected times, readiness, backups and long reads of the store.
import { join } from "node:path";
import type { CircuitBreakers } from "../../../actors/circuit-breaker/registry.ts";
import type { Supervisor } from "../../../actors/supervisor/supervisor.ts";
import packageJson from "../../../package.json" with { type: "json" };
import { newestVerifiedMs } from "../../backup/backup-directory.ts";
import type { Settings } from "../../config/schema.ts";
import type { Clock } from "../../domain/clock.ts";
import type { ResultStorage } from "../../files/create-storage.ts";
import { unnamedProxy } from "../../http/proxies.ts";
import type { Routes } from "../../routing/route-table.ts";
import { LINEAGE, lineageFrom } from "../../store/sqlite/database-id.ts";
import { DATABASE_FILE } from "../../store/sqlite/open.ts";
import { createParallelReads } from "../../store/sqlite/verify/parallel.ts";
import type { LongReads, Store } from "../../store/store.ts";
import type { OperatorServiceDeps } from "./deps.ts";

export type ServiceReadsDeps = {
  settings: Settings;
  clock: Clock;
  engine: {
    supervisor: Supervisor;
    routes: Routes;
    readiness: () => { ready: boolean; faults: string[] };
    health: CircuitBreakers;
  };
  kept: Pick<ResultStorage, "waiting">;
  post: OperatorServiceDeps["post"];
  rollUpUsage: () => Promise<void>;
  /** Absent: no backups are configured. */
  backups?: OperatorServiceDeps["running"]["backups"] | undefined;
  reads: Pick<Store, "secret" | "mode" | "node" | "verify" | "orphans">;
  /** Base URL of the service, without a trailing slash. */
  url: () => string;
  startedAtMs: number;
};

/** SQLite is read in separate threads; PostgreSQL supports long reads beside writes. */
const longReadsOf = ({ node, verify, orphans }: ServiceReadsDeps["reads"], { data }: Settings): LongReads =>
  node === null ? createParallelReads(join(data.dir, DATABASE_FILE)) : { verify, orphans, sums: node.sums };

/** One warning per provider and fault: its credential is rejected, or its balance is used up. */
const refusedRoutes = ({ routes, health }: ServiceReadsDeps["engine"]): string[] => {
  const faults = [...health.setUpFaults()].map(([routeId, why]) => ({ ...why, provider: routes.specOf(routeId)?.provider }));
  const together = Map.groupBy(faults, ({ provider, class: fault, detail }) => `${provider}: ${fault}: ${detail}`);
  return [...together].map(([says, { length }]) => {
    const cure = says.includes(": balance: ") ? "add credit with the provider" : "set another key on the page Providers";
    return `${says}; ${length === 1 ? "1 route is" : `${length} routes are`} down: ${cure}`;
  });
};

/** In a cluster this is also a fault of readiness. */
const bucketWarning = ({ waiting }: ServiceReadsDeps["kept"]): string[] => {
  const { reason = null, files = 0 } = waiting() ?? {};
  const waits = files > 0 ? `, ${files} wait on disk` : "";
  return reason === null ? [] : [`the bucket does not accept files${waits}: ${reason}; genrouter doctor prints the remedy`];
};

const NO_BACKUPS: OperatorServiceDeps["running"]["backups"] = {
  isConfigured: false,
  begin: () => false,
  state: () => ({ running: null, last: null }),
};

export const createServiceReads = async (deps: ServiceReadsDeps): Promise<OperatorServiceDeps> => {
  const { settings, clock, engine, reads, startedAtMs } = deps;
  const { supervisor, routes, readiness } = engine;
  const mode = await reads.mode();
  return {
    long: longReadsOf(reads, settings),
    clock,
    post: deps.post,
    rollUpUsage: deps.rollUpUsage,
    limits: {
      burstPerS: settings.limits.burst_per_s,
      inProgress: settings.limits.in_progress,
      promptRetention: settings.limits.prompt_retention_s ?? "forever",
    },
    running: {
      running: (routeId) => ({ taken: supervisor.runningOnRoute(routeId), of: routes.maxRunningOf(routeId) }),
      expectedMs: routes.expectedMs,
      readiness,
      warnings: () => [
        ...[unnamedProxy(settings.server)].filter((says) => says !== null),
        ...bucketWarning(deps.kept),
        ...refusedRoutes(engine),
      ],
      counts: () => supervisor.counts(),
      epoch: reads.node?.epoch ?? null,
      about: () => ({ version: packageJson.version, mode, url: deps.url(), startedAtMs }),
      backups: deps.backups ?? NO_BACKUPS,
      backupDir: settings.backup.dir || null,
      isShared: reads.node !== null,
      lastBackupMs: async () => {
        if (settings.backup.dir === "") return null;
        try {
          return newestVerifiedMs(settings.backup.dir, lineageFrom(await reads.secret(LINEAGE)));
        } catch {
          // A directory that cannot be read contains no restorable backup.
          return null;
        }
      },
    },
  };
};
