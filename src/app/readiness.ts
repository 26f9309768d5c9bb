// Reasons why the service is not ready, as sentences for /readyz and the log.
import type { ServicePhase } from "./admission-gate.ts";

export type Outages = {
  isFull: () => boolean;
  /** Whether the shared database is unavailable. */
  isUnavailable: (() => boolean) | undefined;
  /** Whether the bucket is unavailable, if results require it. */
  isBucketDown: (() => boolean) | undefined;
};

/** @returns the current reasons */
export const createReadiness =
  (phase: () => ServicePhase, { isFull, isUnavailable, isBucketDown }: Outages) =>
  (): { ready: boolean; faults: string[] } => {
    const faults: string[] = [];
    if (phase() === "starting") faults.push("recovery is reading the store");
    if (phase() === "draining" || phase() === "stopped") faults.push("the service is draining");
    if (isFull()) faults.push("the disk is full");
    if (isUnavailable?.()) faults.push("the database does not respond");
    if (isBucketDown?.()) faults.push("the bucket does not accept files");
    return { ready: faults.length === 0, faults };
  };
