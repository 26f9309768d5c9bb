// What keeps the service from taking work, as sentences for the operator: shown by /readyz and told at the start.

/** The life of the service; submissions are taken while it is `open`. */
export type Life = "starting" | "open" | "draining" | "stopped";

/**
 * @param isAway whether the store that several nodes share does not answer
 * @returns what there is to say at the moment of asking
 */
export const openReadiness =
  (life: () => Life, isDiskFull: () => boolean, isAway: () => boolean) => (): { ready: boolean; faults: string[] } => {
    const faults: string[] = [];
    if (life() === "starting") faults.push("recovery is reading the store");
    if (life() === "draining" || life() === "stopped") faults.push("the service is draining");
    if (isDiskFull()) faults.push("the disk is full");
    if (isAway()) faults.push("the database does not answer");
    return { ready: faults.length === 0, faults };
  };
