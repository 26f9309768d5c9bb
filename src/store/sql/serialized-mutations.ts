// Mutations with every large part made into JSON once, as their rows keep it.

import { memoize } from "../../collections/memoize.ts";
import type { GenerationRecord } from "../../domain/types.ts";
import type { AdminMutation, AdmitGeneration, ApplyTransition, Mutation } from "../mutations.ts";
import type { PurchaseMutation } from "../purchase-mutations.ts";

/** An admission whose parts are JSON already: they go into their columns as they are and are never parsed. */
export type PackedAdmit = Omit<AdmitGeneration, "added" | "plan" | "ordered"> & {
  addedJson: string;
  planJson: string;
  orderedJson: string | null;
};
/** A step whose event is JSON already, as its journal keeps it. */
export type PackedStep = Omit<ApplyTransition, "event"> & { eventJson: string };
export type SerializedMutation = PackedAdmit | PackedStep | AdminMutation | PurchaseMutation;

/** Plans, defaults and orders are shared by the submissions that have them, and are printed once. */
export const printedPlan = memoize((plan: AdmitGeneration["plan"]): string => JSON.stringify(plan));
export const printedAdded = memoize((added: AdmitGeneration["added"]): string => JSON.stringify(added));
const printed = memoize((ordered: NonNullable<AdmitGeneration["ordered"]>): string => JSON.stringify(ordered));
export const printedOrdered = (ordered: AdmitGeneration["ordered"]): string | null =>
  ordered === undefined ? null : printed(ordered);

/** @param print makes a step's event into JSON, as the database can read it. */
export const packedBy =
  (print: (event: ApplyTransition["event"]) => string) =>
  (mutation: Mutation): SerializedMutation => {
    if (mutation.mutation === "step") {
      const { event, ...rest } = mutation;
      return { ...rest, eventJson: print(event) };
    }
    if (mutation.mutation !== "admit") return mutation;
    const { added, plan, ordered, ...rest } = mutation;
    return { ...rest, addedJson: printedAdded(added), planJson: printedPlan(plan), orderedJson: printedOrdered(ordered) };
  };
export const pack = packedBy((event) => JSON.stringify(event));

/** What polls will read of a generation that was just admitted. */
export const admittedRecord = (mutation: AdmitGeneration | PackedAdmit): GenerationRecord => ({
  seq: mutation.seq,
  id: mutation.id,
  accountSeq: mutation.accountSeq,
  requestId: mutation.requestId,
  model: mutation.model,
  status: "queued",
  message: null,
  quotedCredits: mutation.quotedCredits,
  reservedCredits: mutation.reservedCredits,
  costCredits: null,
  attempts: 0,
  error: null,
  output: null,
  createdAtMs: mutation.createdAtMs,
  completedAtMs: null,
  filesExpiredAtMs: null,
});
