// The port of a store that several nodes share: each has a lease, and goes on with what those leave whose lease has run out.
import type { LedgerSums } from "./store.ts";

/** This node's part in a store that several share. Leases run by the clock of the store alone. */
export type Node = {
  /** Of this opening: it stands in every row that moves credits or tells of a step. */
  epoch: number;
  /** Its share of the numbers of rows, as long as it is open. */
  slot: number;
  /** The greatest number of a generation when it was opened. */
  newestGeneration: number;
  leaseMs: number;
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
};
/** `body`: JSON, where something came besides the news that there is some. */
export type Hint = { seq: number; n: number; body: string | null };
/** `alive`: nodes, this one and those that are about to go among them; `others`: those beside this one that stay; `isFirst`: it is the oldest. `news` changes with whatever the office has done anywhere. */
export type Surroundings = {
  alive: number;
  others: number;
  isFirst: boolean;
  news: string;
  /** Something was left for some node. */
  hasHints: boolean;
  isAnythingLeft: boolean /** Epochs that were ended at this look. */;
  ended: number[];
};
