// Dependencies of the operator pages: the admin service, store reads and the running service.

import type { AdminService } from "../../admin/admin-service.ts";
import type { Clock } from "../../domain/clock.ts";
import type { AdminMutation, AdminResult, Principal } from "../../domain/mutations.ts";
import type { PromptRetention } from "../../domain/types.ts";
import type { LongReads, StoreReads } from "../../store/store.ts";
import type { BackupView } from "../operator-dto.ts";
import { actorOf, type ConsoleRequest } from "../request-context.ts";

export type OperatorDeps = OperatorServiceDeps & {
  admin: Pick<
    AdminService,
    | "createAccount"
    | "setAccount"
    | "addCredits"
    | "takeCredits"
    | "decideReversal"
    | "listRoutes"
    | "listProviders"
    | "listModels"
    | "setProviderKey"
    | "dropProviderKey"
    | "checkRoute"
    | "tryRoute"
    | "findTrial"
    | "switchRoute"
    | "decideGeneration"
  >;
  reads: Pick<
    StoreReads,
    | "searchAccounts"
    | "account"
    | "undecidedReversals"
    | "keys"
    | "transfers"
    | "users"
    | "lastOutcomes"
    | "recentDeliveries"
    | "switchedOff"
    | "healthChangedAt"
    | "parked"
    | "outcomes"
    | "openGenerations"
    | "restored"
    | "unfinished"
    | "nodes"
  >;
};

/** State and operations that only the running service has. */
export type OperatorServiceDeps = {
  long: LongReads;
  clock: Clock;
  post: (mutation: Extract<AdminMutation, { mutation: "note-backup" }> & { by: Principal }) => Promise<AdminResult>;
  /** Resolves when usage includes all generations that have ended by now. */
  rollUpUsage: () => Promise<void>;
  /** Default limits of the service, for accounts without their own. */
  limits: { burstPerS: number; inProgress: number; promptRetention: PromptRetention };
  running: {
    running(routeId: string): { taken: number; of: number };
    /** Measured duration of a route; undefined while there are too few deliveries. */
    expectedMs(routeId: string): number | undefined;
    readiness(): { ready: boolean; faults: string[] };
    /** Conditions that need an operator although the service accepts work, as sentences. */
    warnings(): readonly string[];
    counts(): { queued: number; running: number };
    /** Epoch of this node; null for a single process. */
    epoch: number | null;
    about(): { version: string; mode: "test" | "live"; url: string; startedAtMs: number };
    /** Makes backups, if `isConfigured`. `begin` returns false if one runs already. */
    backups: {
      isConfigured: boolean;
      begin(by: string): boolean;
      state(): { running: BackupView["running"]; last: BackupView["ended"] };
    };
    /** Null without `backup.dir`. */
    backupDir: string | null;
    /** The store is PostgreSQL, of which the service makes no backups. */
    isShared: boolean;
    /** Time of the newest verified backup, ms. */
    lastBackupMs(): Promise<number | null>;
  };
};

/** Adds the principal to a request to the admin service. */
export const signed = <T extends object>(request: ConsoleRequest, body: T) => ({ ...body, by: actorOf(request) });

/** A path parameter by its name. */
export const named = ({ params }: Pick<ConsoleRequest, "params">, name: string): string => params[name] ?? "";
