// What the operator's pages ask of the running service beside its books: seats, expected times, readiness, its backups, and long reads.
import { join } from "node:path";
import packageJson from "../../../package.json" with { type: "json" };
import type { Core } from "../../app/core-types.ts";
import { newestVerifiedMs } from "../../backup/backup-directory.ts";
import type { Settings } from "../../config/schema.ts";
import type { Clock } from "../../domain/clock.ts";
import type { ResultStorage } from "../../files/create-storage.ts";
import { unnamedProxy } from "../../http/proxies.ts";
import { LINEAGE, lineageFrom } from "../../store/sqlite/database-id.ts";
import { DATABASE_FILE } from "../../store/sqlite/open.ts";
import { createParallelReads } from "../../store/sqlite/verify/parallel.ts";
import type { LongReads, Store } from "../../store/store.ts";
import type { Operating } from "./deps.ts";

export type ServiceReadsDeps = {
  settings: Settings;
  clock: Clock;
  rooms: Pick<Core, "supervisor" | "routes" | "readiness" | "health">;
  kept: Pick<ResultStorage, "waiting">;
  reads: Pick<Store, "secret" | "mode" | "node" | "verify" | "orphans">;
  /** The address of the service, without a slash at its end. */
  url: () => string;
  startedAtMs: number;
};

/** A file is read on threads of its own; a database has its own ways to read a lot while others write. */
const longReadsOf = ({ node, verify, orphans }: ServiceReadsDeps["reads"], { data }: Settings): LongReads =>
  node === null ? createParallelReads(join(data.dir, DATABASE_FILE)) : { verify, orphans, sums: node.sums };

/** One for each provider and fault: its key is refused, or its balance used up. */
const refusedRoutes = ({ routes, health }: ServiceReadsDeps["rooms"]): string[] => {
  const faults = [...health.setUpFaults()].map(([routeId, why]) => ({ ...why, provider: routes.specOf(routeId)?.provider }));
  const together = Map.groupBy(faults, ({ provider, class: fault, detail }) => `${provider}: ${fault}: ${detail}`);
  return [...together].map(([says, { length }]) => {
    const cure = says.includes(": balance: ") ? "add credit with the provider" : "set another key on the page Providers";
    return `${says}; ${length === 1 ? "1 route is" : `${length} routes are`} down: ${cure}`;
  });
};

/** Where nodes share a database this is a fault of their readiness, too. */
const bucketWarning = ({ waiting }: ServiceReadsDeps["kept"]): string[] => {
  const { reason = null, files = 0 } = waiting() ?? {};
  const waits = files > 0 ? `, ${files} wait on disk` : "";
  return reason === null ? [] : [`the bucket takes no files${waits}: ${reason}; genrouter doctor says what mends it`];
};

export const createServiceReads = async (deps: ServiceReadsDeps): Promise<Operating> => {
  const { settings, clock, rooms, reads, startedAtMs } = deps;
  const { supervisor, routes, readiness } = rooms;
  const mode = await reads.mode();
  return {
    long: longReadsOf(reads, settings),
    clock,
    limits: { burstPerS: settings.limits.burst_per_s, inProgress: settings.limits.in_progress },
    running: {
      seats: (routeId) => ({ taken: supervisor.seatsTaken(routeId), of: routes.seatsOf(routeId) }),
      expectedMs: routes.expectedMs,
      readiness,
      warnings: () => [
        ...[unnamedProxy(settings.server)].filter((says) => says !== null),
        ...bucketWarning(deps.kept),
        ...refusedRoutes(rooms),
      ],
      counts: () => supervisor.counts(),
      epoch: reads.node?.epoch ?? null,
      about: () => ({ version: packageJson.version, mode, url: deps.url(), startedAtMs }),
      isNightly: settings.backup.dir !== "",
      lastBackupMs: async () => {
        if (settings.backup.dir === "") return null;
        try {
          return newestVerifiedMs(settings.backup.dir, lineageFrom(await reads.secret(LINEAGE)));
        } catch {
          // A directory that cannot be read has no backup that anyone could restore.
          return null;
        }
      },
    },
  };
};
