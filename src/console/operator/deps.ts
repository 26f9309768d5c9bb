// What the operator's answers need: the admin service that changes things, what may be read, and what only the running service knows.

import type { AdminService } from "../../admin/admin-service.ts";
import type { Clock } from "../../domain/clock.ts";
import type { LongReads, StoreReads } from "../../store/store.ts";
import { actorOf, type ConsoleRequest } from "../request-context.ts";

export type OperatorDeps = Operating & {
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
    | "movements"
    | "people"
    | "lastOutcomes"
    | "recentDeliveries"
    | "switchedOff"
    | "healthChangedAt"
    | "parked"
    | "restored"
    | "unfinished"
    | "nodes"
  >;
};

/** What only the running service knows, or may do. */
export type Operating = {
  long: LongReads;
  clock: Clock;
  /** The service's limits, where an account has none of its own. */
  limits: { burstPerS: number; inProgress: number };
  running: {
    seats(routeId: string): { taken: number; of: number };
    /** Measured; undefined while too few deliveries are known. */
    expectedMs(routeId: string): number | undefined;
    readiness(): { ready: boolean; faults: string[] };
    /** What needs the operator although it takes work: sentences. */
    warnings(): readonly string[];
    counts(): { queued: number; running: number };
    /** The epoch of this node; null where one process alone writes. */
    epoch: number | null;
    about(): { version: string; mode: "test" | "live"; url: string; startedAtMs: number };
    isNightly: boolean;
    /** When the newest verified backup was taken, ms. */
    lastBackupMs(): Promise<number | null>;
  };
};

/** What is asked of the admin service, with who wants it. */
export const signed = <T extends object>(ask: ConsoleRequest, wish: T) => ({ ...wish, by: actorOf(ask) });

/** A part of the path, which the router found by its name. */
export const named = ({ params }: Pick<ConsoleRequest, "params">, name: string): string => params[name] ?? "";
