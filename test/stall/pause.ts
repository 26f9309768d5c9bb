// Computes the part of an event loop pause that the loop caused itself, from two readings.

/** A sample of cumulative counters, in ms. */
export type Reading = {
  /** Wall time. */
  wallMs: number;
  /** CPU time of the thread of the loop. */
  cpuMs: number;
  /** Idle time summed over the processors of this machine; null if the system does not report it. */
  idleMs: number | null;
  /** Total delay of the control loop, which runs in an otherwise idle thread. */
  delayMs: number;
};

/**
 * A loop is late because of work on it, because of a blocking wait, or because of the machine. CPU time of its own thread is
 * its own. The delay of the control loop in the same period (a stopped process, a suspended machine) and the time without an
 * idle processor, in which the thread waited to be scheduled, belong to the machine.
 */
export const pauseOf = (before: Reading, after: Reading, expectedMs: number): number => {
  const wallMs = after.wallMs - before.wallMs - expectedMs;
  const cpuMs = after.cpuMs - before.cpuMs;
  const idleMs = before.idleMs === null || after.idleMs === null ? Number.POSITIVE_INFINITY : after.idleMs - before.idleMs;
  const alone = Math.min(wallMs - (after.delayMs - before.delayMs), cpuMs + idleMs);
  return Math.max(0, alone, Math.min(wallMs, cpuMs));
};
