// Watches the resident memory of a process during a piece of work.
import { residentBytes } from "./machine.ts";

const EACH_MS = 20;

export const watchResident = (pid: number) => {
  const before = residentBytes(pid);
  let most = before;
  const look = () => {
    most = Math.max(most, residentBytes(pid));
  };
  const timer = setInterval(look, EACH_MS);
  return {
    stop: () => {
      look();
      clearInterval(timer);
    },
    /** The largest increase so far. */
    addedBytes: () => most - before,
  };
};
