// A store that refuses so many captures: what a defect would ask of it, and what parks a generation.
import type { Mutation } from "../../src/store/mutations.ts";
import type { Store } from "../../src/store/store.ts";
import type { Shown } from "../harness.ts";

/** Around the store of a house. */
export const refusing = (times: number): ((store: Store) => Store) => {
  let left = times;
  const tamper = (deed: Mutation): Mutation => {
    if (left === 0 || deed.deed !== "step" || deed.settlement?.kind !== "capture") return deed;
    left -= 1;
    // Not the quote of the attempt.
    return { ...deed, settlement: { ...deed.settlement, credits: deed.settlement.credits + 1 } };
  };
  return (store) => ({ ...store, commit: (deeds) => store.commit(deeds.map(tamper)) });
};

export const isParked = ({ message }: Shown): boolean => message?.includes("operator") ?? false;
