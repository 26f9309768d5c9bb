// The last look: a deadline that passed while nothing could be done leaves room for one look at the provider before it counts.
import type { Clock } from "../src/clock.ts";
import type { Command } from "../src/terms.ts";

/**
 * What was bought may have been delivered while the service was down, stood still, or could not write: a deadline that passed in that
 * time counts this much later. The stored deadline stays as it is, and one that passed while everything went on is simply over.
 */
export const LAST_LOOK_MS = 30_000;

/** A timer that comes so much later than it was set for comes from a process that stood still for longer than a look takes. */
const STOOD_STILL_MS = LAST_LOOK_MS;

/** Only what was bought is worth a look; a waiting time that is over is over. */
export const mayLook = ({ kind }: Command): boolean => kind === "attempt" || kind === "collect";

/** `diskFullAtMs`: when the disk was last known to be full; null: never. */
export type LastLookParts = { clock: Pick<Clock, "nowMs">; diskFullAtMs: () => number | null };

/** Until when a deadline that is due now is put off; null: it counts. `lateMs`: how much later it comes than it was set for. */
export const lastLooks =
  ({ clock, diskFullAtMs }: LastLookParts) =>
  (command: Command, lateMs: number): number | null => {
    if (!mayLook(command)) return null;
    const nowMs = clock.nowMs();
    if (lateMs > STOOD_STILL_MS) return nowMs + LAST_LOOK_MS;
    const fullAtMs = diskFullAtMs();
    return fullAtMs !== null && nowMs < fullAtMs + LAST_LOOK_MS ? fullAtMs + LAST_LOOK_MS : null;
  };
