// How long an event loop was held up by itself, from readings before and after a pause.

/** Taken at a moment, all counted from some beginning, ms. */
export type Reading = {
  /** The clock, which no pause stops. */
  wallMs: number;
  /** Processor time that the thread of the loop has used. */
  cpuMs: number;
  /** Time in which processors of this machine had nothing to do, added up over them; null where the system does not tell. */
  idleMs: number | null;
  /** Time for which a control loop, in a thread of its own that does nothing else, was held up. */
  heldUpMs: number;
};

/**
 * A loop that is late was stopped by what ran on it, by what it waited for, or by the machine. Processor time of its own thread is its own. The
 * machine's is what the control loop was held up for at the same moments (a process that was stopped, a machine that stood still), and what
 * passed while no processor was free: then the thread waited for its turn among others.
 */
export const pauseOf = (before: Reading, after: Reading, expectedMs: number): number => {
  const wallMs = after.wallMs - before.wallMs - expectedMs;
  const cpuMs = after.cpuMs - before.cpuMs;
  const idleMs = before.idleMs === null || after.idleMs === null ? Number.POSITIVE_INFINITY : after.idleMs - before.idleMs;
  const alone = Math.min(wallMs - (after.heldUpMs - before.heldUpMs), cpuMs + idleMs);
  return Math.max(0, alone, Math.min(wallMs, cpuMs));
};
