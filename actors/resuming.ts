// What restored generations ask for: held back until the service is open, then asked in slices, so that a start is not held up by it.
import type { Ask } from "./generation-words.ts";

/** Asks per turn of the event loop. */
const SLICE = 50;

export type Resuming = {
  /** Asks once the service is open. `isStill`: the generation is where it was when it was restored. */
  later(seq: number, ask: Ask, isStill: () => boolean): void;
  /** The service is open. */
  open(): void;
  stop(): void;
};

export const openResuming = (parts: { perform: (seq: number, ask: Ask) => void; breathe: () => Promise<void> }): Resuming => {
  const waiting: { seq: number; ask: Ask; isStill: () => boolean }[] = [];
  let isOpen = false;
  let isRunning = false;

  const run = async (): Promise<void> => {
    isRunning = true;
    for (let at = 0; at < waiting.length; at += SLICE) {
      for (const { seq, ask, isStill } of waiting.slice(at, at + SLICE)) if (isOpen && isStill()) parts.perform(seq, ask);
      await parts.breathe();
    }
    waiting.length = 0;
    isRunning = false;
  };
  return {
    later: (seq, ask, isStill) => {
      waiting.push({ seq, ask, isStill });
      if (isOpen && !isRunning) void run();
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
