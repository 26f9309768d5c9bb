// Port of a store that several nodes share: leases, takeover and reads of other nodes.

import type { OpenGeneration } from "../domain/transition.ts";
import type { GenerationRecord, PlannedRoute } from "../domain/types.ts";
import type { LedgerSums, StoredEvent } from "./store.ts";

/** The lease of this node in a shared store. Leases run by the clock of the store. */
export type Node = {
  /** Number of this opening; it is part of every row that transfers credits or stores an event. */
  epoch: number;
  /** The range of row numbers of this node while it is open. */
  slot: number;
  leaseMs: number;
  /**
   * Since when the former process of this directory could not reach the store at its end, in milliseconds; null: it could, or
   * unknown.
   */
  formerUnavailableSinceMs: number | null;
  /** Stores that for the next process of this directory; null: the store has recovered. */
  recordUnavailable(sinceMs: number | null): void;
  /**
   * Renews the lease, announces a drain, ends dead nodes and reads the state of the cluster. @returns null if this node was
   * ended. @throws if the store does not answer.
   */
  renewLease(isLeaving: boolean): Promise<ClusterState | null>;
  /** Reclaims at most `limit` generations of ended nodes. @returns their row numbers. */
  takeOver(limit: number): Promise<number[]>;
  /** Takes over at most `limit` pending webhook deliveries of ended nodes. @returns their number. */
  takeOverWebhooks(limit: number): Promise<number>;
  /**
   * Takes one of at most `most` requests that all nodes accept for an account in a second since 1970. A crash may lose the count,
   * which is useless afterwards. @returns whether one was left.
   */
  takeFromRateLimit(accountSeq: number, second: number, most: number): Promise<boolean>;
  /** Stores a provider callback for the node that polls the attempt. */
  leaveHint(hint: Hint): Promise<void>;
  /** Inbox entries for this node, the oldest first, at most some hundred. */
  hints(): Promise<Hint[]>;
  /** Inbox entries that are events of open generations of this node, or of these of them, the oldest first. */
  events(seqs?: readonly number[]): Promise<Hint[]>;
  dropHint(hint: Hint): Promise<void>;
  /** Totals over all accounts. */
  sums(): Promise<LedgerSums>;
  /** Removes the row versions that erasures have left; takes minutes in a large database. */
  vacuumErased(): Promise<void>;
  others: Others;
};
/** `body`: JSON of the callback, if it had one. */
export type Hint = { seq: number; n: number; body: string | null };
/**
 * `alive`: live nodes, including this one and draining ones; `others`: other nodes that stay; `isFirst`: this is the oldest.
 * `news` changes with every admin mutation of any node.
 */
export type ClusterState = {
  /** How far the store's clock is ahead of this machine's, in milliseconds. */
  apartMs: number;
  alive: number;
  others: number;
  isFirst: boolean;
  news: string;
  /** The inbox has entries for some node. */
  hasHints: boolean;
  isAnythingLeft: boolean;
  /** Epochs of the nodes that this call ended. */
  ended: number[];
};

/** An open generation of another node. `version`: of its last transition; `epoch`: of its owner. */
export type RemoteGenerationState = {
  seq: number;
  accountSeq: number;
  version: number;
  epoch: number;
  status: "queued" | "running";
};
/** A stored event with the epoch of its writer, and with the provider request if one was made and requested. */
export type WrittenLine = StoredEvent & { seq: number; epoch: number; request?: string };
/** A generation with its snapshot (null: queued or ended). */
export type RemoteGeneration = {
  record: GenerationRecord;
  epoch: number;
  version: number;
  plan: readonly PlannedRoute[];
  waitEndsAtMs: number;
  snapshot: string | null;
};

/** Generations of other nodes, for viewers; nothing is read without one. */
export type Others = {
  /** Number of transactions of each other live node; an unchanged number means no writes. */
  written(): Promise<{ epoch: number; batch: number }[]>;
  /** By row number after `afterSeq`; at most `limit`. */
  open(afterSeq: number, limit: number): Promise<RemoteGenerationState[]>;
  /** Ended generations with a row number from `fromSeq`, newest first; at most `limit`. */
  ended(fromSeq: number, limit: number): Promise<{ seq: number; accountSeq: number }[]>;
  /** Events of each generation after a version, in order. */
  steps(after: readonly { seq: number; version: number }[], withRequests: boolean): Promise<WrittenLine[]>;
  standing(seqs: readonly number[]): Promise<RemoteGeneration[]>;
  /** Open generations of all nodes; `unfinished` of the store returns those of this node. */
  unfinished(afterSeq: number, limit: number): Promise<OpenGeneration[]>;
};

/** A live or recently ended node. Lease and end times are by the clock of the store. */
export type NodeRow = {
  epoch: number;
  slot: number;
  host: string;
  pid: number;
  /** A command that opened the store briefly. */
  isVisit: boolean;
  openedAtMs: number;
  /** Null: it has ended. Negative: its lease has expired and no node has ended it yet. */
  leaseEndsInMs: number | null;
  endedAtMs: number | null;
  /** The node that ended it after its lease expired; null: it closed normally or is alive. */
  endedBy: number | null;
  /** Open generations that it owns. */
  queued: number;
  running: number;
  /** Generations of the last week that it reclaimed from others and that others reclaimed from it. */
  tookOver: number;
  takenOver: number;
};
/** Reads about the nodes that share a store. */
export type NodeReads = {
  /** Live nodes, oldest first, then at most `ended` recently ended ones, newest first. `visits`: include commands. */
  list(ended: number, which?: { visits?: boolean }): Promise<NodeRow[]>;
  /** Names of nodes by epoch. */
  names(epochs: readonly number[]): Promise<Map<number, string>>;
  /** Epoch of the writer of each version of a generation. */
  writers(seq: number): Promise<Map<number, number>>;
  /** Takeovers of a generation, oldest first, each with the version after which it applies. */
  claims(seq: number): Promise<{ epoch: number; afterVersion: number; atMs: number }[]>;
};

/** `host/slot/epoch` of a node. */
export const nodeName = ({ host, slot, epoch }: Pick<NodeRow, "host" | "slot" | "epoch">): string => `${host}/${slot}/${epoch}`;
