// Dependencies of the supervisor, and the type of a generation in the run queue.
import type { Clock } from "../../src/domain/clock.ts";
import type { ApplyTransition, OpenGeneration, TransitionResult } from "../../src/domain/transition.ts";
import type { Credits, GenerationRecord, PlannedRoute, RouteSpec } from "../../src/domain/types.ts";
import type { GenerationSnapshot } from "../generation/snapshot.ts";
import type { Effect, GenerationEvent, Passed } from "../generation/types.ts";

/** Whether a route accepts a new attempt now. `watchMs`: how long its jobs can be polled. */
export type Gate = { kind: "open"; spec: RouteSpec; watchMs: number } | { kind: "closed"; reason: Passed["reason"] };

/** Restores a generation by calling `restore` once, immediately or after recovery. */
export type TakingUp = (found: OpenGeneration, restore: () => void) => void;

export type SupervisorDeps = {
  clock: Clock;
  /** Last known time at which a process was alive before this one. */
  lastAliveMs: number;
  limits: {
    maxRunning: number;
    maxRunningOf: (routeId: string) => number;
    maxLiveActors: number;
    collectMs: number;
    keepFilesMs: number;
  };
  post: (mutation: ApplyTransition) => Promise<TransitionResult>;
  /** Resolves when disk space may be available. */
  space: () => Promise<void>;
  /** Last time at which the store rejected writes because the disk was full or the database unavailable; null if never. */
  writesRejectedAtMs: () => number | null;
  unfinished: (afterSeq: number, limit: number) => Promise<OpenGeneration[]>;
  /** Called after the `times`th consecutive read error. Resolves when the read should be retried. */
  unread: (of: { seq: number; id: string }, times: number, fault: unknown) => Promise<void>;
  gate: (routeId: string) => Gate;
  /** Wraps the restore of each generation at a start. */
  takingUp: TakingUp;
  /** Yields to other work between pages of recovery, so that polls are answered. */
  breathe: () => Promise<void>;
  /**
   * Prepares the sending of an attempt that begins now. @returns the event that is committed together with its begin; null: the
   * effect of the attempt prepares it
   */
  prepare: (seq: number, begun: Extract<GenerationEvent, { type: "begun" }>, priceCredits: Credits) => GenerationEvent | null;
  /** Frees a slot that `prepare` took. */
  freeSlot: (seq: number, n: number) => void;
  /** Performs an effect. Its outcome arrives through `report`. */
  perform: (seq: number, effect: Effect) => void;
  /** Receives an outcome of a generation that has ended. */
  lateReport: (seq: number, event: GenerationEvent) => void;
  /** Called when the transition of an event is committed. */
  dealtWith?: (seq: number, event: GenerationEvent) => void;
  /** Called after the commit of a transition. */
  stepped: (record: GenerationRecord, after: GenerationSnapshot) => void;
  /**
   * The response to a send of attempt `n` that this process or a former one holds; without a send, to any of them. Absent: none is
   * ever held. `canBeLookedUp`: the provider may have been queried since.
   */
  leftOutcome?: (
    seq: number,
    n: number,
    send?: { sentAtMs: number | null; canBeLookedUp: boolean },
  ) => GenerationEvent | undefined;
  /** Called for a generation that a former process parked. */
  foundParked: (seq: number, id: string) => void;
  /** Called for a generation that this process cannot continue. */
  stopped: (seq: number, id: string, reason: string) => void;
};

/**
 * A generation in the run queue: queued (usually without actor and snapshot) or running and before its next route. `awaitsPins`:
 * its inputs must be pinned first.
 */
export type Queued = {
  seq: number;
  id: string;
  accountSeq: number;
  plan: readonly PlannedRoute[];
  waitEndsAtMs: number;
  awaitsPins: boolean;
};
