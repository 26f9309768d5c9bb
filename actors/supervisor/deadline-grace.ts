// Deadline grace: a deadline that passed during an outage leaves time for one more query.
import type { Clock } from "../../src/domain/clock.ts";
import type { Deadline } from "../../src/domain/types.ts";
import type { SupervisorDeps } from "./types.ts";

/**
 * Grace in milliseconds for a deadline that passed while the service was down, suspended or could not write. A job may have
 * delivered meanwhile. The stored deadline stays unchanged, and a deadline that passed during normal operation gets no grace.
 */
export const DEADLINE_GRACE_MS = 30_000;

/** A timer that fires later than this after its due time belongs to a process that was suspended. */
const STOOD_STILL_MS = DEADLINE_GRACE_MS;

/** Delay in milliseconds before a deadline is checked again while the response to its attempt is being stored. */
const IN_HAND_MS = 1_000;

/** Only attempts and downloads have a grace; a waiting time has none. */
export const hasGrace = ({ kind }: Deadline): boolean => kind === "attempt" || kind === "collect";

/**
 * `writesRejectedAtMs`: last time at which the store rejected writes; null if never. `leftOutcome`: the response to the submission of an
 * attempt that is held and not stored yet.
 */
export type DeadlineGraceDeps = Pick<SupervisorDeps, "writesRejectedAtMs" | "leftOutcome"> & { clock: Pick<Clock, "nowMs"> };

/** Returns the time until which a due deadline is postponed, or null if it counts now. `lateMs`: delay of the timer. */
export const createDeadlineGrace =
  ({ clock, writesRejectedAtMs, leftOutcome }: DeadlineGraceDeps) =>
  (seq: number, command: Deadline, lateMs: number): number | null => {
    if (!hasGrace(command)) return null;
    const nowMs = clock.nowMs();
    if (lateMs > STOOD_STILL_MS) return nowMs + DEADLINE_GRACE_MS;
    const rejectedAtMs = writesRejectedAtMs();
    if (rejectedAtMs !== null && nowMs < rejectedAtMs + DEADLINE_GRACE_MS) return rejectedAtMs + DEADLINE_GRACE_MS;
    const hasPendingOutcome = nowMs < command.dueAtMs + DEADLINE_GRACE_MS && leftOutcome?.(seq, command.n) !== undefined;
    return hasPendingOutcome ? nowMs + IN_HAND_MS : null;
  };
