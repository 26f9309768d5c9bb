// Hook that returns the time now, for clocks that run while something is under way.
import { useEffect, useState } from "preact/hooks";

const TICK_MS = 500;

/** The time now by the clock of the browser, updated twice a second while `isRunning`. */
export const useNow = (isRunning: boolean): number => {
  const [nowMs, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [isRunning]);
  return nowMs;
};
