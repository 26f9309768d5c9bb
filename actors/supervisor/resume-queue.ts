// What restored generations ask for: held back until the service is open, then asked in slices, so that a start is not held up by it.
import type { Effect, WatchedAttempt } from "../generation/types.ts";

/** Asks per turn of the event loop. */
const SLICE = 50;

/** Where a restored generation stands when its turn comes. `hasLeft`: it has left the state it was restored in, if only for a moment. */
export type ResumeEntry = { hasEnded: boolean; hasLeft: boolean; watched: readonly WatchedAttempt[] };

/**
 * What of a restored generation's ask is still to be asked. A step repeats the ask of a state only on entering it, and never those of
 * the attempts it watches: each is judged by itself.
 */
export const remainingEffects = (ask: Effect, restored: readonly WatchedAttempt[], standing: ResumeEntry): Effect | null => {
  const isOfWatched = "n" in ask && restored.some(({ n }) => n === ask.n);
  if (!isOfWatched) return standing.hasLeft || standing.hasEnded ? null : ask;
  // Whether anybody still asks about an attempt of an ended generation is on its row, and read from there.
  if (standing.hasEnded) return { type: "ask.watch", n: ask.n };
  const now = standing.watched.find(({ n }) => n === ask.n);
  const wasArriving = ask.type === "ask.collectAgain";
  return now && now.arriving === wasArriving ? ask : null;
};

export type Resuming = {
  /** Asks once the service is open what `turn` then returns. */
  later(seq: number, turn: () => Effect | null): void;
  /** The service is open. */
  open(): void;
  stop(): void;
};

export const createResumeQueue = (deps: {
  perform: (seq: number, ask: Effect) => void;
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
        const ask = turn();
        if (ask) deps.perform(seq, ask);
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
