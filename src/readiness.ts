// What keeps the service from taking work, as sentences for the operator: shown by /readyz and told at the start.

/** The life of the service; submissions are taken while it is `open`. */
export type Life = "starting" | "open" | "draining" | "stopped";

export type ReadinessDesk = {
  /** A generation that cannot go on and waits for a person. */
  parked(seq: number, name: string): void;
  answer(): { ready: boolean; faults: string[] };
};

/** @param isAway whether the store that several nodes share does not answer. */
export const openReadiness = (life: () => Life, isDiskFull: () => boolean, isAway: () => boolean): ReadinessDesk => {
  const parked = new Map<number, string>();
  return {
    parked: (seq, name) => void parked.set(seq, name),
    answer: () => {
      const faults: string[] = [];
      if (life() === "starting") faults.push("recovery is reading the store");
      if (life() === "draining" || life() === "stopped") faults.push("the service is draining");
      if (isDiskFull()) faults.push("the disk is full");
      if (isAway()) faults.push("the database does not answer");
      for (const name of parked.values()) faults.push(`${name} cannot go on and waits for a person; genrouter trace ${name}`);
      return { ready: faults.length === 0, faults };
    },
  };
};
