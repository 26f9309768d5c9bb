// What is so rather than what happened: asked of the service and its books when somebody looks at the metrics.
import type { OrphanRow, StoreReads } from "../store/store.ts";

/** A route that could be used as far as its operator is concerned: it has a key and is not switched off. */
export type RouteStanding = {
  routeId: string;
  model: string;
  provider: string;
  isUp: boolean;
  breaker: "closed" | "open" | "half_open";
  /** Why it waits for the operator: its key or balance; null where it does not. */
  setUpFault: string | null;
};

/** Cheap questions, asked at every scrape. */
export type GaugeReadings = {
  nowMs: () => number;
  isReady: () => boolean;
  routes: () => readonly RouteStanding[];
  reads: Pick<StoreReads, "openGenerations" | "bookSums" | "keptFiles" | "undecidedReversals" | "restored">;
  /** Room on the disk of the data directory; undefined where the system does not tell. */
  disk: () => Promise<{ freeBytes: number; sizeBytes: number } | undefined>;
  isDiskFull: () => boolean;
  /** Whether the bucket takes files, and how many wait on disk for it; without a bucket none does. */
  bucket: () => { isAvailable: boolean; waiting: number; setAside: number };
  /** Attempts that may have been paid and were charged to nobody. A long read. */
  orphans: () => Promise<readonly Pick<OrphanRow, "fate" | "priceCredits">[]>;
  /** How far the service's clock is ahead of the machine's, s. */
  clockAheadS: () => number;
  /** Whether the database answers. */
  isStoreAvailable: () => boolean;
  /** Asks something of the books; nothing where the database does not answer: whoever looks is told that, and does not wait for it. */
  whereReached: <T>(ask: () => Promise<T>) => Promise<T | undefined>;
  /** Generations that do not go on by themselves. */
  stuck: (why: "parked" | "stopped") => number;
  /** How many nodes are alive; 1 where one process alone writes. */
  nodes: () => number;
  /** Bytes of the database and its log on disk; undefined where it is a server's. */
  databaseBytes: () => number | undefined;
  /** When the newest backup was made, s since 1970; 0 when there is none, undefined where the service makes none: without backup.dir, and over a server, which has its own. */
  lastBackupS: () => Promise<number | undefined>;
};
