// The port of a store that several nodes share: each has a lease, and goes on with what those leave whose lease has run out.

import type { GenerationRecord, PlannedRoute } from "../domain/types.ts";
import type { OpenGeneration } from "./mutations.ts";
import type { JournalLine, LedgerSums } from "./store.ts";

/** This node's part in a store that several share. Leases run by the clock of the store alone. */
export type Node = {
  /** Of this opening: it stands in every row that moves credits or tells of a step. */
  epoch: number;
  /** Its share of the numbers of rows, as long as it is open. */
  slot: number;
  /** The greatest number of a generation when it was opened. */
  newestGeneration: number;
  leaseMs: number;
  /** Since when the former process of this directory could not reach the store when it ended, ms; null: it could, or nothing is known. */
  formerAwaySinceMs: number | null;
  /** Notes that for the next process of this directory; null: the store is back. */
  noteAway(sinceMs: number | null): void;
  /** Makes the lease run anew, says whether this node is about to go, ends nodes that are dead, and looks round. @returns null: it was ended. @throws when the store does not answer. */
  attend(isLeaving: boolean): Promise<Surroundings | null>;
  /** Takes over generations of nodes that have ended, at most `limit`. @returns their row numbers. */
  takeOver(limit: number): Promise<number[]>;
  /**
   * Takes one of at most `most` requests that all nodes may let in together for an account in a second (of the time since 1970). What is counted
   * is worth nothing after it, and may be lost in a crash. @returns whether there was one left.
   */
  takeBurst(accountSeq: number, second: number, most: number): Promise<boolean>;
  /** Keeps what a provider told of an attempt for the node that asks about it. */
  leaveHint(hint: Hint): Promise<void>;
  /** What was left for this node. */
  hints(): Promise<Hint[]>;
  dropHint(hint: Hint): Promise<void>;
  /** Sums over every account. */
  sums(): Promise<LedgerSums>;
  others: Others;
};
/** `body`: JSON, where something came besides the news that there is some. */
export type Hint = { seq: number; n: number; body: string | null };
/** `alive`: nodes, this one and those that are about to go among them; `others`: those beside this one that stay; `isFirst`: it is the oldest. `news` changes with whatever the admin service has done anywhere. */
export type Surroundings = {
  /** How far the store's clock is ahead of this machine's, ms. */
  apartMs: number;
  alive: number;
  others: number;
  isFirst: boolean;
  news: string;
  /** Something was left for some node. */
  hasHints: boolean;
  isAnythingLeft: boolean /** Epochs that were ended at this look. */;
  ended: number[];
};

/** A generation of another node that has not ended. `version`: of its last step; `epoch`: of its owner. */
export type Elsewhere = { seq: number; accountSeq: number; version: number; epoch: number; status: "queued" | "running" };
/** A line of the journal, with the epoch of the node that wrote it and the exact request that it made, where it made one and that was asked for. */
export type WrittenLine = JournalLine & { seq: number; epoch: number; request?: string };
/** A generation as it stands, with what its machine remembers (null: it is queued, or has ended). */
export type RemoteGeneration = {
  record: GenerationRecord;
  epoch: number;
  version: number;
  plan: readonly PlannedRoute[];
  waitEndsAtMs: number;
  snapshot: string | null;
};

/** What other nodes write of generations, for whoever looks on. Nothing of it is read while nobody does. */
export type Others = {
  /** How many transactions each other node that is alive has written: as long as nothing of it changes, they have written nothing. */
  written(): Promise<{ epoch: number; batch: number }[]>;
  /** By seq, starting after `afterSeq`; at most `limit`. */
  open(afterSeq: number, limit: number): Promise<Elsewhere[]>;
  /** Those with a number from one on that have ended already, newest first; at most `limit`. */
  ended(fromSeq: number, limit: number): Promise<{ seq: number; accountSeq: number }[]>;
  /** What was written of each after a version, each in the order of its versions. */
  steps(after: readonly { seq: number; version: number }[], withRequests: boolean): Promise<WrittenLine[]>;
  standing(seqs: readonly number[]): Promise<RemoteGeneration[]>;
  /** Generations not ended of all nodes, as `unfinished` is of this one. */
  unfinished(afterSeq: number, limit: number): Promise<OpenGeneration[]>;
};

/** A node that is alive, or has ended lately. Times of leases and ends are by the clock of the store. */
export type NodeRow = {
  epoch: number;
  slot: number;
  host: string;
  pid: number;
  /** A command that was here for a moment. */
  isVisit: boolean;
  openedAtMs: number;
  /** Null: it has ended. Below zero: it is dead, and nobody has ended it yet. */
  leaseEndsInMs: number | null;
  endedAtMs: number | null;
  /** The node that ended it, since its lease had run out; null: it closed by itself, or is alive. */
  endedBy: number | null;
  /** Generations that are its own and have not ended. */
  queued: number;
  running: number;
  /** Generations of the last week that it took over from others, and that others took over from it. */
  tookOver: number;
  takenOver: number;
};
/** Who did what among the nodes that share a store. */
export type NodeReads = {
  /** Those that are alive, oldest first, then those that have ended lately, the last one first; at most `ended` of these. `visits`: commands, too. */
  list(ended: number, which?: { visits?: boolean }): Promise<NodeRow[]>;
  /** How nodes are called, by their epochs. */
  names(epochs: readonly number[]): Promise<Map<number, string>>;
  /** Of each step of a generation: the epoch of the node that wrote it. */
  writers(seq: number): Promise<Map<number, number>>;
  /** Who took a generation over, oldest first: from after which version on. */
  claims(seq: number): Promise<{ epoch: number; afterVersion: number; atMs: number }[]>;
};

/** `host/slot/epoch`: where it runs, its share of the numbers, and which opening of all it is. */
export const nodeName = ({ host, slot, epoch }: Pick<NodeRow, "host" | "slot" | "epoch">): string => `${host}/${slot}/${epoch}`;
