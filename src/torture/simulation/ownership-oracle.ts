// Ownership oracle: records which node accepted, claimed, wrote and sent what.
//
// It records events in their order and reads no database.

import { seqOfGenerationId } from "../../domain/ids.ts";
import type { Mutation, MutationResult } from "../../domain/mutations.ts";

export type OwnershipOracle = {
  joined(epoch: number, name: string): void;
  ended(epoch: number): void;
  /** A mutation is now in the database. */
  done(epoch: number, mutation: Mutation, outcome: MutationResult): void;
  claimed(epoch: number, seq: number): void;
  /** A node sends a submission. */
  sent(epoch: number, ref: string): void;
  figures(): { openings: number; claims: number; fenced: number };
};

/** Checks at each event that a fenced node writes and sends nothing, and that each generation has one owner. */
export const createOwnershipOracle = (fault: (text: string) => void): OwnershipOracle => {
  const names = new Map<number, string>();
  const ended = new Set<number>();
  const ownerOf = new Map<number, number>();
  let claims = 0;
  let fenced = 0;
  const called = (epoch: number | undefined) =>
    epoch === undefined ? "no node" : `${names.get(epoch) ?? "?"}${ended.has(epoch) ? ", which was ended" : ""}`;

  /** A node that writes or sends for a generation must own it and must not be fenced. */
  const check = (epoch: number, seq: number, what: string): void => {
    if (ended.has(epoch)) fault(`${seq}: ${what} by ${called(epoch)}`);
    else if (ownerOf.get(seq) !== epoch) fault(`${seq}: ${what} by ${called(epoch)}, and it is ${called(ownerOf.get(seq))}'s`);
  };

  return {
    joined: (epoch, name) => {
      if (names.has(epoch)) fault(`epoch ${epoch} was given to ${called(epoch)} and to ${name}`);
      names.set(epoch, name);
    },
    ended: (epoch) => {
      fenced += 1;
      ended.add(epoch);
    },
    done: (epoch, mutation, outcome) => {
      if (ended.has(epoch)) fault(`${mutation.mutation}: written by ${called(epoch)}`);
      if (mutation.mutation === "step" && outcome.kind === "stepped")
        check(epoch, mutation.seq, `step ${mutation.version} was written`);
      if (mutation.mutation !== "admit") return;
      if (outcome.kind === "refused") fault(`${mutation.id}: could not be accepted: ${outcome.reason}`);
      if (outcome.kind !== "admitted") return;
      if (ownerOf.has(mutation.seq)) fault(`${mutation.seq}: given to two generations`);
      ownerOf.set(mutation.seq, epoch);
    },
    claimed: (epoch, seq) => {
      claims += 1;
      const before = ownerOf.get(seq);
      if (before === undefined) fault(`${seq}: claimed by ${called(epoch)}, and no node accepted it`);
      else if (!ended.has(before)) fault(`${seq}: claimed by ${called(epoch)} while it was ${called(before)}'s`);
      ownerOf.set(seq, epoch);
    },
    sent: (epoch, ref) => check(epoch, seqOfGenerationId(`gen_${ref.slice(0, ref.lastIndexOf("-"))}`) ?? -1, `${ref} was sent`),
    figures: () => ({ openings: names.size, claims, fenced }),
  };
};
