// What keeps the service from taking work, as sentences for the operator: shown by /readyz and told at the start.

/** The life of the service; submissions are taken while it is `open`. */
export type Life = "starting" | "open" | "draining" | "stopped";

export type Outages = {
  isFull: () => boolean;
  /** Whether the store that several nodes share does not answer. */
  isAway: (() => boolean) | undefined;
  /** Whether the bucket takes nothing, where no result is finished without it. */
  isBucketDown: (() => boolean) | undefined;
};

/** @returns what there is to say at the moment of asking */
export const createReadiness =
  (life: () => Life, { isFull, isAway, isBucketDown }: Outages) =>
  (): { ready: boolean; faults: string[] } => {
    const faults: string[] = [];
    if (life() === "starting") faults.push("recovery is reading the store");
    if (life() === "draining" || life() === "stopped") faults.push("the service is draining");
    if (isFull()) faults.push("the disk is full");
    if (isAway?.()) faults.push("the database does not answer");
    if (isBucketDown?.()) faults.push("the bucket takes no files");
    return { ready: faults.length === 0, faults };
  };
