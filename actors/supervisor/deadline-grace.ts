// The last look: a deadline that passed while nothing could be done leaves room for one look at the provider before it counts.
import type { Clock } from "../../src/domain/clock.ts";
import type { Deadline } from "../../src/domain/types.ts";
import type { SupervisorDeps } from "./types.ts";

/**
 * What was bought may have been delivered while the service was down, stood still, or could not write: a deadline that passed in that
 * time counts this much later. The stored deadline stays as it is, and one that passed while everything went on is simply over.
 */
export const DEADLINE_GRACE_MS = 30_000;

/** A timer that comes so much later than it was set for comes from a process that stood still for longer than a look takes. */
const STOOD_STILL_MS = DEADLINE_GRACE_MS;

/** An answer that is in hand is on its way into the store: its deadline is looked at again after so long, for as long as a last look takes. */
const IN_HAND_MS = 1_000;

/** Only what was bought is worth a look; a waiting time that is over is over. */
export const hasGrace = ({ kind }: Deadline): boolean => kind === "attempt" || kind === "collect";

/**
 * `heldUpAtMs`: when the store was last known to take nothing; null: never. `leftOutcome`: the answer to the submission of an attempt that is
 * in hand and not in the store yet.
 */
export type DeadlineGraceDeps = Pick<SupervisorDeps, "heldUpAtMs" | "leftOutcome"> & { clock: Pick<Clock, "nowMs"> };

/** Until when a deadline that is due now is put off; null: it counts. `lateMs`: how much later it comes than it was set for. */
export const createDeadlineGrace =
  ({ clock, heldUpAtMs, leftOutcome }: DeadlineGraceDeps) =>
  (seq: number, command: Deadline, lateMs: number): number | null => {
    if (!hasGrace(command)) return null;
    const nowMs = clock.nowMs();
    if (lateMs > STOOD_STILL_MS) return nowMs + DEADLINE_GRACE_MS;
    const heldUpMs = heldUpAtMs();
    if (heldUpMs !== null && nowMs < heldUpMs + DEADLINE_GRACE_MS) return heldUpMs + DEADLINE_GRACE_MS;
    const isInHand = nowMs < command.dueAtMs + DEADLINE_GRACE_MS && leftOutcome?.(seq, command.n, false) !== undefined;
    return isInHand ? nowMs + IN_HAND_MS : null;
  };
