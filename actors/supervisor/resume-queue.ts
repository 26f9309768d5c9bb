// Queue of effects of restored generations, performed in slices after the service is open.
import type { Effect, WatchedAttempt } from "../generation/types.ts";

/** Effects per turn of the event loop. */
const SLICE = 50;

/**
 * State of a restored generation when its effect is next. `hasLeft`: it has left the restored state, or entered it again, at least
 * once. `hasNewDeadline`: its deadline was set since.
 */
export type ResumeEntry = { hasEnded: boolean; hasLeft: boolean; hasNewDeadline: boolean; watched: readonly WatchedAttempt[] };

/**
 * The effect that is still to be performed. A transition repeats the effect of a state only on entry, and never those of watched
 * attempts, so each is checked on its own.
 */
export const remainingEffects = (effect: Effect, restored: readonly WatchedAttempt[], standing: ResumeEntry): Effect | null => {
  const isOfWatched = "n" in effect && restored.some(({ n }) => n === effect.n);
  if (!isOfWatched) return standing.hasLeft || standing.hasEnded ? null : effect;
  // The row of an ended generation says whether an attempt is still watched.
  if (standing.hasEnded) return { type: "effect.watch", n: effect.n };
  const now = standing.watched.find(({ n }) => n === effect.n);
  const wasArriving = effect.type === "effect.collectAgain";
  return now && now.arriving === wasArriving ? effect : null;
};

export type Resuming = {
  /** Queues `turn`, whose returned effect is performed after the service is open. */
  later(seq: number, turn: () => Effect | null): void;
  /** Opens the queue when the service is open. */
  open(): void;
  stop(): void;
};

export const createResumeQueue = (deps: {
  perform: (seq: number, effect: Effect) => void;
  breathe: () => Promise<void>;
}): Resuming => {
  const waiting: { seq: number; turn: () => Effect | null }[] = [];
  let isOpen = false;
  let isRunning = false;

  const run = async (): Promise<void> => {
    if (isRunning) return;
    isRunning = true;
    while (waiting.length > 0) {
      for (const { seq, turn } of waiting.splice(0, SLICE)) {
        const effect = turn();
        if (effect) deps.perform(seq, effect);
      }
      await deps.breathe();
    }
    isRunning = false;
  };
  return {
    later: (seq, turn) => {
      waiting.push({ seq, turn });
      if (isOpen) void run();
    },
    open: () => {
      isOpen = true;
      void run();
    },
    stop: () => {
      isOpen = false;
      waiting.length = 0;
    },
  };
};
