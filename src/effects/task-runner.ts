// The task runner: the work that is under way for each attempt, so that no work runs twice and all of it can be cancelled.

import { ChunkedMap } from "../collections/chunked-map.ts";
import type { Clock } from "../domain/clock.ts";
import { DatabaseUnavailable } from "../store/errors.ts";

/** The kinds of task. At most one task of each kind runs per attempt. */
export type TaskKind =
  | "pin"
  | "submit"
  | "send"
  | "confirm"
  | "poll"
  | "wake"
  | "collect"
  | "storage"
  | "watch"
  | "cancel"
  | "blame"
  | "callback";

export type Task = {
  readonly seq: number;
  readonly n: number;
  readonly signal: AbortSignal;
  /** Waits on the service's clock. Rejects with the signal's reason when the task is cancelled. */
  pause(ms: number): Promise<void>;
};

/** These tasks wait for their next request to the provider; `hurry` ends the wait. */
const ASKS: ReadonlySet<TaskKind> = new Set(["poll", "confirm", "watch"]);
const HURRY_MS = 1_000;
const HURRIED_AT_MOST = 10_000;
/** These tasks never run twice: the request may have been sent, or nothing depends on the task. */
const ONCE: ReadonlySet<TaskKind> = new Set(["send", "cancel"]);
/** A task that failed by a fault of ours (a failed read, for example) runs again, so that no generation is stranded. */
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 60_000;
/** After an outage of the store, tasks retry within the time by which a restart extends due deadlines. */
const UNAVAILABLE_RETRY_MS = 10_000;
/** The pause before the next run, ms, after the `times`th failure in a row. */
export const retryMs = (times: number, fault: unknown): number =>
  Math.min(fault instanceof DatabaseUnavailable ? UNAVAILABLE_RETRY_MS : MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** (times - 1));

/**
 * One turn of a repeated task: it does what is due now. @returns the pause before the next turn, ms; null when the task is done.
 */
export type TaskStep<Memory> = (task: Task, memory: Memory) => Promise<number | null>;

/** Thrown inside a task that was cancelled; never thrown to a caller. */
class LetGo extends Error {}

export type TaskRunner = {
  /** Runs a task unless the same task runs already. */
  run(seq: number, n: number, kind: TaskKind, work: (task: Task) => Promise<void>): void;
  /** Runs a task that mostly waits. Between two turns it holds only its memory and a timer. */
  repeat<Memory>(seq: number, n: number, kind: TaskKind, memory: Memory, turn: TaskStep<Memory>): void;
  /** Ends the wait of an attempt's tasks, so that they poll the provider now; at most once a second. */
  hurry(seq: number, n: number): void;
  /** Whether a task of one of these kinds runs for the attempt. */
  isRunning(seq: number, n: number, kinds: readonly TaskKind[]): boolean;
  /** Cancels every task of an attempt except those of the given kinds. */
  letGo(seq: number, n: number, except?: readonly TaskKind[]): void;
  stopAll(): Promise<void>;
  /** The number of generations with a task. */
  size(): number;
};

/** A task that runs, or waits between two turns. */
interface Running {
  readonly n: number;
  readonly kind: TaskKind;
  stop(): void;
  /** Ends the current pause. */
  hurry(): void;
  /** Resolves when the task has stopped. */
  stopped(): Promise<void>;
}

/** @param paused receives the function that ends the pause */
const pauseIn =
  (clock: Clock, signal: AbortSignal, paused: (end: () => void) => void = () => undefined) =>
  (ms: number): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(new LetGo());
        return;
      }
      const stop = () => {
        cancelTimer();
        reject(new LetGo());
      };
      const waited = () => {
        signal.removeEventListener("abort", stop);
        resolve();
      };
      const cancelTimer = clock.after(ms, waited);
      signal.addEventListener("abort", stop, { once: true });
      paused(() => {
        cancelTimer();
        waited();
      });
    });

export const createTaskRunner = (
  clock: Clock,
  failed: (seq: number, n: number, kind: TaskKind, fault: unknown) => void,
): TaskRunner => {
  /** By generation: usually one task; tasks of earlier attempts can run beside it. */
  const running = new ChunkedMap<readonly Running[]>();
  const hurriedMs = new Map<number, number>();
  const of = (seq: number) => running.get(seq) ?? [];
  const remove = (seq: number, isGone: (one: Running) => boolean) => {
    const left = of(seq).filter((one) => !isGone(one));
    if (left.length > 0) running.set(seq, left);
    else running.delete(seq);
  };
  const over = (seq: number, one: Running) => remove(seq, (other) => other === one);
  const add = (seq: number, n: number, kind: TaskKind, make: () => Running) => {
    if (of(seq).some((one) => one.n === n && one.kind === kind)) return;
    const made = make();
    running.set(seq, [...of(seq), made]);
  };

  const begin = (seq: number, n: number, kind: TaskKind, work: (task: Task) => Promise<void>) => {
    const abort = new AbortController();
    const { signal } = abort;
    let endPause = () => {};
    const pause = pauseIn(clock, signal, (end) => {
      endPause = end;
    });
    const untilDone = async () => {
      for (let round = 0; ; round += 1) {
        try {
          await work({ seq, n, signal, pause });
          return;
        } catch (fault) {
          if (fault instanceof LetGo || signal.aborted) return;
          failed(seq, n, kind, fault);
          if (ONCE.has(kind)) return;
          await pause(retryMs(round + 1, fault));
        }
      }
    };
    const done = untilDone()
      // The task was cancelled while it waited for its next run.
      .catch(() => undefined)
      .finally(() => over(seq, one));
    const one: Running = { n, kind, stop: () => abort.abort(), hurry: () => endPause(), stopped: () => done };
    return one;
  };

  class Repeated<Memory> implements Running {
    private failures = 0;
    private isOver = false;
    private takeBack: (() => void) | null = null;
    private abort: AbortController | null = null;
    private underWay: Promise<void> | null = null;
    private readonly seq: number;
    readonly n: number;
    readonly kind: TaskKind;
    private readonly memory: Memory;
    private readonly turn: TaskStep<Memory>;

    constructor(seq: number, n: number, kind: TaskKind, memory: Memory, turn: TaskStep<Memory>) {
      this.seq = seq;
      this.n = n;
      this.kind = kind;
      this.memory = memory;
      this.turn = turn;
      this.underWay = this.take();
    }

    stop(): void {
      this.isOver = true;
      this.takeBack?.();
      this.abort?.abort();
    }
    hurry(): void {
      if (this.takeBack === null) return;
      this.takeBack();
      this.takeBack = null;
      this.underWay = this.take();
    }
    async stopped(): Promise<void> {
      await this.underWay;
    }

    private async take(): Promise<void> {
      const pauseMs = await this.pauseAfterTurn();
      this.underWay = null;
      if (this.isOver || pauseMs === null) over(this.seq, this);
      else
        this.takeBack = clock.after(pauseMs, () => {
          this.takeBack = null;
          this.underWay = this.take();
        });
    }

    private async pauseAfterTurn(): Promise<number | null> {
      const abort = new AbortController();
      this.abort = abort;
      const { signal } = abort;
      const { seq, n, kind } = this;
      try {
        const pauseMs = await this.turn({ seq, n, signal, pause: pauseIn(clock, signal) }, this.memory);
        this.failures = 0;
        return pauseMs;
      } catch (fault) {
        if (fault instanceof LetGo || signal.aborted) return null;
        failed(seq, n, kind, fault);
        this.failures += 1;
        return retryMs(this.failures, fault);
      } finally {
        this.abort = null;
      }
    }
  }

  return {
    run: (seq, n, kind, work) => add(seq, n, kind, () => begin(seq, n, kind, work)),
    repeat: (seq, n, kind, memory, turn) => add(seq, n, kind, () => new Repeated(seq, n, kind, memory, turn)),
    isRunning: (seq, n, kinds) => of(seq).some((one) => one.n === n && kinds.includes(one.kind)),
    hurry: (seq, n) => {
      const nowMs = clock.nowMs();
      const waiting = of(seq).filter((one) => one.n === n && ASKS.has(one.kind));
      if (waiting.length === 0 || nowMs - (hurriedMs.get(seq) ?? 0) < HURRY_MS) return;
      if (hurriedMs.size >= HURRIED_AT_MOST) hurriedMs.clear();
      hurriedMs.set(seq, nowMs);
      for (const one of waiting) one.hurry();
    },
    letGo: (seq, n, except = []) => {
      const isMeant = (one: Running) => one.n === n && !except.includes(one.kind);
      const current = of(seq).filter(isMeant);
      if (current.length === 0) return;
      // Removed at once, so that a task of the same kind can start; the old one ends by itself.
      remove(seq, isMeant);
      for (const one of current) one.stop();
    },
    stopAll: async () => {
      const all = [...running.values()].flat();
      for (const task of all) task.stop();
      await Promise.all(all.map((task) => task.stopped()));
    },
    size: () => running.size,
  };
};
