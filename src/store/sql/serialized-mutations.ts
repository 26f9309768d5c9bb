// Deeds with every large part made into JSON once, as their rows keep it.

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
  (deed: Mutation): SerializedMutation => {
    if (deed.deed === "step") {
      const { event, ...rest } = deed;
      return { ...rest, eventJson: print(event) };
    }
    if (deed.deed !== "admit") return deed;
    const { added, plan, ordered, ...rest } = deed;
    return { ...rest, addedJson: printedAdded(added), planJson: printedPlan(plan), orderedJson: printedOrdered(ordered) };
  };
export const pack = packedBy((event) => JSON.stringify(event));

/** What polls will read of a generation that was just admitted. */
export const admittedRecord = (deed: AdmitGeneration | PackedAdmit): GenerationRecord => ({
  seq: deed.seq,
  id: deed.id,
  accountSeq: deed.accountSeq,
  requestId: deed.requestId,
  model: deed.model,
  status: "queued",
  message: null,
  quotedCredits: deed.quotedCredits,
  reservedCredits: deed.reservedCredits,
  costCredits: null,
  attempts: 0,
  error: null,
  output: null,
  createdAtMs: deed.createdAtMs,
  completedAtMs: null,
  filesExpiredAtMs: null,
});
