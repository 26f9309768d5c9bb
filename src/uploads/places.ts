// Bounds the uploads that are received concurrently, for each account and in total.
import { refuse } from "../domain/api-errors.ts";
import { BUSY } from "./store-upload.ts";

/** @returns the function that takes a place and returns its release */
export const createPlaces = (perAccount: number, all: number) => {
  const taken = new Map<number, number>();
  let total = 0;
  return (accountSeq: number): (() => void) => {
    const own = taken.get(accountSeq) ?? 0;
    if (own >= perAccount)
      refuse("concurrency_limit", `The account is sending ${own} files already; send this one when one of them has arrived.`);
    if (total >= all) refuse("busy", BUSY);
    taken.set(accountSeq, own + 1);
    total += 1;
    return () => {
      const left = (taken.get(accountSeq) ?? 1) - 1;
      if (left > 0) taken.set(accountSeq, left);
      else taken.delete(accountSeq);
      total -= 1;
    };
  };
};
