// Gauges: reads the state of the service at each scrape.

import { SET_UP_FAULTS } from "../domain/types.ts";
import type { GaugeReadings, RouteReading } from "./gauge-readings.ts";
import { createLedgerGauges, type LedgerGauges } from "./ledger-gauges.ts";
import type { Registered } from "./registry.ts";

/** The build of the running process. */
export type About = { version: string; revision: string; bunVersion: string; interfaceVersion: string };

const BREAKER_STATES = ["closed", "open", "half_open"] as const;

const setRoutes = ({ set }: Registered, routes: readonly RouteReading[]): void => {
  const upOf = new Map<string, boolean>();
  for (const { model, isUp } of routes) upOf.set(model, isUp || upOf.get(model) === true);
  set(
    "genrouter_route_available",
    routes.map(({ routeId, isUp }) => [{ route: routeId }, Number(isUp)]),
  );
  set(
    "genrouter_route_breaker_state",
    routes.flatMap(({ routeId, breaker }) =>
      BREAKER_STATES.map((state) => [{ route: routeId, state }, Number(state === breaker)] as const),
    ),
  );
  const byProvider = Map.groupBy(routes, ({ provider }) => provider);
  set(
    "genrouter_routes_needing_operator",
    [...byProvider].flatMap(([provider, own]) =>
      SET_UP_FAULTS.map((fault) => {
        const count = own.filter(({ setUpFault }) => setUpFault === fault).length;
        return [{ provider, error_code: fault }, count] as const;
      }),
    ),
  );
  set(
    "genrouter_model_available",
    [...upOf].map(([model, isUp]) => [{ model }, Number(isUp)]),
  );
};

const setOpen = ({ set }: Registered, nowMs: number, open: Awaited<ReturnType<LedgerGauges["open"]>>): void => {
  const { queued, running } = open?.status ?? {};
  set(
    "genrouter_generations_in_progress",
    open
      ? [
          [{ status: "queued" }, queued ?? 0],
          [{ status: "running" }, running ?? 0],
        ]
      : [],
  );
  set(
    "genrouter_credits_held",
    [...(open?.reservedOf ?? [])].map(([model, credits]) => [{ model }, credits]),
  );
  const oldestMs = open?.oldestQueuedMs ?? null;
  const ageS = oldestMs === null ? 0 : Math.max(0, nowMs - oldestMs) / 1000;
  set("genrouter_queue_oldest_age_seconds", open ? [[{}, ageS]] : []);
};

/** @returns a function that fills the gauges. A value that is not available in time is omitted, never reported wrong. */
export const createGauges = (registered: Registered, about: About, standing: GaugeReadings): (() => Promise<void>) => {
  const ledgerGauges = createLedgerGauges(standing);
  const { set } = registered;
  const one = (value: number | undefined) => (value === undefined ? [] : [[{}, value] as const]);
  const { version, revision, bunVersion, interfaceVersion } = about;
  const labels = { version, revision, bun_version: bunVersion, interface_version: interfaceVersion };
  set("genrouter_build_info", [[labels, 1]]);
  return async () => {
    const [open, imbalance, files, orphans, undecided, restored, backupS, disk] = await Promise.all([
      standing.whereReached(ledgerGauges.open),
      standing.whereReached(ledgerGauges.imbalanceCredits),
      standing.whereReached(ledgerGauges.filesBytes),
      standing.whereReached(ledgerGauges.orphans),
      standing.whereReached(ledgerGauges.undecided),
      standing.whereReached(standing.reads.restored),
      standing.lastBackupS(),
      standing.disk(),
    ]);
    const bucket = standing.bucket();

    setOpen(registered, standing.nowMs(), open);
    setRoutes(registered, standing.routes());
    set("genrouter_ledger_imbalance_credits", one(imbalance));
    set("genrouter_reversals_undecided", one(undecided));
    set("genrouter_restored_backup_unsettled", one(restored === undefined ? undefined : Number(restored?.isSettled === false)));
    set("genrouter_files_bytes", one(files));
    set(
      "genrouter_orphans_credits",
      [...(orphans ?? [])].map(([kind, credits]) => [{ kind }, credits]),
    );
    set("genrouter_disk_free_bytes", one(disk?.freeBytes));
    set("genrouter_disk_size_bytes", one(disk?.sizeBytes));
    set("genrouter_disk_full", one(Number(standing.isDiskFull())));
    set("genrouter_object_storage_available", one(Number(bucket.isAvailable)));
    set("genrouter_object_storage_files_pending", one(bucket.waiting));
    set("genrouter_object_storage_files_rejected", one(bucket.setAside));
    set("genrouter_webhook_delay_seconds", one(standing.webhookDelayS()));
    set("genrouter_clock_offset_seconds", one(standing.clockAheadS()));
    set("genrouter_database_available", one(Number(standing.isStoreAvailable())));
    set("genrouter_database_size_bytes", one(standing.databaseBytes()));
    set("genrouter_last_backup_timestamp_seconds", one(backupS));
    set("genrouter_generations_parked", one(standing.stuck("parked")));
    set("genrouter_generations_stopped", one(standing.stuck("stopped")));
    set("genrouter_nodes_alive", one(standing.nodes()));
    set("genrouter_ready", one(Number(standing.isReady())));
  };
};
