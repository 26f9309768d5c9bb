// A store that refuses so many captures: what a defect would ask of it, and what parks a generation.
import type { Mutation } from "../../src/store/mutations.ts";
import type { Store } from "../../src/store/store.ts";
import type { Shown } from "../harness.ts";

/** Around the store of a harness. */
export const refusing = (times: number): ((store: Store) => Store) => {
  let left = times;
  const tamper = (mutation: Mutation): Mutation => {
    if (left === 0 || mutation.mutation !== "step" || mutation.settlement?.kind !== "capture") return mutation;
    left -= 1;
    // Not the quote of the attempt.
    return { ...mutation, settlement: { ...mutation.settlement, credits: mutation.settlement.credits + 1 } };
  };
  return (store) => ({ ...store, commit: (mutations) => store.commit(mutations.map(tamper)) });
};

export const isParked = ({ message }: Shown): boolean => message?.includes("operator") ?? false;
