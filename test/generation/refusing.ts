// A store wrapper that corrupts a number of captures, so the store refuses them and their generations are parked.
import type { Mutation } from "../../src/domain/mutations.ts";
import type { Store } from "../../src/store/store.ts";
import type { GenerationResource } from "../harness.ts";

/** A wrapper for the store of a harness. */
export const refusing = (times: number): ((store: Store) => Store) => {
  let left = times;
  const tamper = (mutation: Mutation): Mutation => {
    if (left === 0 || mutation.mutation !== "step" || mutation.settlement?.kind !== "capture") return mutation;
    left -= 1;
    // The amount differs from the attempt's quote.
    return { ...mutation, settlement: { ...mutation.settlement, credits: mutation.settlement.credits + 1 } };
  };
  return (store) => ({ ...store, commit: (mutations) => store.commit(mutations.map(tamper)) });
};

export const isParked = ({ message }: GenerationResource): boolean => message?.includes("operator") ?? false;
