// Gauge readings: the port through which a scrape reads the service's current state.
import type { OrphanRow, StoreReads } from "../store/store.ts";

/** A route that has a credential and is not disabled. */
export type RouteReading = {
  routeId: string;
  model: string;
  provider: string;
  isUp: boolean;
  breaker: "closed" | "open" | "half_open";
  /** The fault that requires the operator: credential or balance; null if there is none. */
  setUpFault: string | null;
};

/** The readings of a scrape. Each is cheap unless its comment states otherwise. */
export type GaugeReadings = {
  nowMs: () => number;
  isReady: () => boolean;
  routes: () => readonly RouteReading[];
  reads: Pick<StoreReads, "openGenerations" | "ledgerTotals" | "keptFiles" | "undecidedReversals" | "restored">;
  /** Space on the disk of the data directory; undefined if the system does not report it. */
  disk: () => Promise<{ freeBytes: number; sizeBytes: number } | undefined>;
  isDiskFull: () => boolean;
  /** Whether the bucket accepts files, and the number of files on disk that wait for it; 0 without a bucket. */
  bucket: () => { isAvailable: boolean; waiting: number; setAside: number };
  /** Attempts that may have been billed although no customer was charged. A long read. */
  orphans: () => Promise<readonly Pick<OrphanRow, "fate" | "priceCredits">[]>;
  /** How long the oldest webhook delivery to a healthy endpoint has been due, s; 0 if none is. */
  webhookDelayS: () => number;
  /** How far the service clock is ahead of the machine's clock, s. */
  clockAheadS: () => number;
  /** Whether the database responds. */
  isStoreAvailable: () => boolean;
  /** Runs a read of the store; undefined if the database does not respond, so that a scrape does not wait for it. */
  whereReached: <T>(ask: () => Promise<T>) => Promise<T | undefined>;
  /** Generations that do not continue without intervention. */
  stuck: (why: "parked" | "stopped") => number;
  /** The number of live nodes; 1 with a data directory. */
  nodes: () => number;
  /** Bytes of the database and its log on disk; undefined for a database server. */
  databaseBytes: () => number | undefined;
  /**
   * The time of the newest backup, s since 1970; 0 if there is none. Undefined if the service makes none: without backup.dir, and
   * with PostgreSQL, which has its own backups.
   */
  lastBackupS: () => Promise<number | undefined>;
};
