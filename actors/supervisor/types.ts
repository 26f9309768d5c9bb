// What the supervisor needs from outside, and what it is told of a generation that waits.
import type { Clock } from "../../src/domain/clock.ts";
import type { GenerationRecord, PlannedRoute, RouteSpec } from "../../src/domain/types.ts";
import type { ApplyTransition, OpenGeneration, TransitionResult } from "../../src/store/mutations.ts";
import type { GenerationSnapshot } from "../generation/snapshot.ts";
import type { Effect, GenerationEvent, Passed } from "../generation/types.ts";

/** Whether a route may be used for a new attempt at this moment. `watchMs`: how long its jobs can be asked about. */
export type Gate = { kind: "open"; spec: RouteSpec; watchMs: number } | { kind: "closed"; reason: Passed["reason"] };

/** Takes a generation up by calling `goOn`, once: now, or later when recovery is over. */
export type TakingUp = (found: OpenGeneration, goOn: () => void) => void;

export type SupervisorDeps = {
  clock: Clock;
  /** When a process was last known to live before this one. */
  lastAliveMs: number;
  limits: {
    maxRunning: number;
    maxRunningOf: (routeId: string) => number;
    maxLiveActors: number;
    collectMs: number;
    keepFilesMs: number;
  };
  post: (mutation: ApplyTransition) => Promise<TransitionResult>;
  /** Resolves when there may be space on the disk again. */
  space: () => Promise<void>;
  /** When the store was last known to take nothing, its disk full or its database away; null: never. */
  heldUpAtMs: () => number | null;
  unfinished: (afterSeq: number, limit: number) => Promise<OpenGeneration[]>;
  /** A generation could not be read, for the `times`th time in a row. Resolves when it is worth another try. */
  unread: (of: { seq: number; id: string }, times: number, fault: unknown) => Promise<void>;
  gate: (routeId: string) => Gate;
  /** Put around the taking up of each generation at a start. */
  takingUp: TakingUp;
  /** Lets everything else have its turn; between pages of recovery, so that polls are answered meanwhile. */
  breathe: () => Promise<void>;
  /** Carries out an ask; its answer comes back through `report`. */
  perform: (seq: number, ask: Effect) => void;
  /** An answer about a generation that has ended. */
  lateReport: (seq: number, event: GenerationEvent) => void;
  /** The step of an event is on disk; absent: nobody wants to know. */
  dealtWith?: (seq: number, event: GenerationEvent) => void;
  /** A step is on disk. */
  stepped: (record: GenerationRecord, after: GenerationSnapshot) => void;
  /**
   * The answer to the submission of attempt `n` that is in hand, or that a former process had when it ended; absent: none ever is.
   * `mayBeAsked`: its provider may have been asked about it since.
   */
  leftOutcome?: (seq: number, n: number, mayBeAsked: boolean) => GenerationEvent | undefined;
  /** A generation was parked by a former process. */
  foundParked: (seq: number, id: string) => void;
  /** A generation cannot be continued by this process. */
  stopped: (seq: number, id: string, reason: string) => void;
};

/**
 * A generation that waits for a route: queued (as a rule without actor and snapshot), or running and about to try its next route.
 * `awaitsPins`: links of its input are pinned before it may have one.
 */
export type Queued = {
  seq: number;
  id: string;
  accountSeq: number;
  plan: readonly PlannedRoute[];
  waitEndsAtMs: number;
  awaitsPins: boolean;
};
