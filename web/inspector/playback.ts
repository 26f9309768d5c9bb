// Playback of a replay: one step after the other at a chosen speed, until the last.
import { useEffect, useState } from "preact/hooks";

/** Steps per second. */
export const SPEEDS = [0.5, 1, 2, 4] as const;
const SECOND_MS = 1000;

export type Playback = {
  isPlaying: boolean;
  speed: number;
  toggle: () => void;
  stop: () => void;
  setSpeed: (speed: number) => void;
};

/** @param move shows another step. Playing at the last step begins again at the first. */
export const usePlayback = (at: number, last: number, move: (to: (now: number) => number) => void): Playback => {
  const [isPlaying, setPlaying] = useState(false);
  const [speed, setSpeed] = useState<number>(1);
  useEffect(() => {
    if (!isPlaying) return;
    if (at >= last) {
      setPlaying(false);
      return;
    }
    const timer = setTimeout(() => move((now) => now + 1), SECOND_MS / speed);
    return () => clearTimeout(timer);
  }, [isPlaying, speed, at, last, move]);
  return {
    ...{ isPlaying, speed, setSpeed },
    stop: () => setPlaying(false),
    toggle: () => {
      if (!isPlaying && at >= last) move(() => 0);
      setPlaying(!isPlaying);
    },
  };
};
