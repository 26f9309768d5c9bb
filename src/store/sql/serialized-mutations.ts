// Mutations whose large members are serialized to JSON once.

import { memoize } from "../../collections/memoize.ts";
import type { AdminMutation, AdmitGeneration, Mutation } from "../../domain/mutations.ts";
import type { PurchaseMutation } from "../../domain/purchase-mutations.ts";
import type { AppliedEvent, ApplyTransition } from "../../domain/transition.ts";
import type { GenerationRecord } from "../../domain/types.ts";
import type { UploadMutation } from "../../domain/upload-mutations.ts";

/** An admission with JSON members, which are written to their columns without parsing. */
export type PackedAdmit = Omit<AdmitGeneration, "added" | "plan" | "ordered"> & {
  addedJson: string;
  planJson: string;
  orderedJson: string | null;
};
type PackedEvent = Omit<AppliedEvent, "event"> & { eventJson: string };
/** A transition whose events are JSON as stored. */
export type PackedStep = Omit<ApplyTransition, "event" | "earlier"> & PackedEvent & { earlier?: readonly PackedEvent[] };
export type SerializedMutation = PackedAdmit | PackedStep | AdminMutation | PurchaseMutation | UploadMutation;

/** Plans, defaults and orders are shared by submissions, so each is serialized once. */
export const printedPlan = memoize((plan: AdmitGeneration["plan"]): string => JSON.stringify(plan));
export const printedAdded = memoize((added: AdmitGeneration["added"]): string => JSON.stringify(added));
const printed = memoize((ordered: NonNullable<AdmitGeneration["ordered"]>): string => JSON.stringify(ordered));
export const printedOrdered = (ordered: AdmitGeneration["ordered"]): string | null =>
  ordered === undefined ? null : printed(ordered);

/** @param print converts an event to JSON that the database can read. */
export const packedBy =
  (print: (event: ApplyTransition["event"]) => string) =>
  (mutation: Mutation): SerializedMutation => {
    if (mutation.mutation === "step") {
      const { event, earlier, ...rest } = mutation;
      const packed = earlier?.map(({ event: one, stateAfter }) => ({ stateAfter, eventJson: print(one) }));
      return { ...rest, eventJson: print(event), ...(packed ? { earlier: packed } : {}) };
    }
    if (mutation.mutation !== "admit") return mutation;
    const { added, plan, ordered, ...rest } = mutation;
    return { ...rest, addedJson: printedAdded(added), planJson: printedPlan(plan), orderedJson: printedOrdered(ordered) };
  };
export const pack = packedBy((event) => JSON.stringify(event));

/** The record of a generation that was just admitted. */
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
  erasedAtMs: null,
  labels: mutation.labels ?? null,
});
