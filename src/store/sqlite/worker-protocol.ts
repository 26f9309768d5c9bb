// Text protocol between the main thread and the writer thread for mutations and results.

import type { LowBalance } from "../../domain/low-balance.ts";
import type { AdminMutation, AdmitGeneration, Mutation, MutationResult } from "../../domain/mutations.ts";
import type { PurchaseMutation } from "../../domain/purchase-mutations.ts";
import type { AppliedEvent } from "../../domain/transition.ts";
import type { Labels, PinRequest } from "../../domain/types.ts";
import type { UploadMutation } from "../../domain/upload-mutations.ts";
import {
  admittedRecord,
  type PackedAdmit,
  type PackedStep,
  printedAdded,
  printedOrdered,
  printedPlan,
  type SerializedMutation,
} from "../sql/serialized-mutations.ts";

/** The short members of an admission, in this order. */
type AdmitHead = [
  seq: number,
  id: string,
  accountSeq: number,
  keySeq: number,
  model: string,
  idempotencyKey: string | null,
  quotedCredits: number,
  reservedCredits: number,
  maxCostCredits: number,
  inProgressLimit: number,
  createdAtMs: number,
  waitEndsAtMs: number,
  requestId: string,
  pins: readonly PinRequest[] | 0,
  labels: Labels | 0,
  files: NonNullable<AdmitGeneration["files"]> | 0,
  webhookUrl: string | 0,
];
type StepHead = Omit<PackedStep, "eventJson" | "snapshot">;

/** Few transitions have earlier events, so they are not worth lines of their own. */
const packedEvent = ({ event, stateAfter }: AppliedEvent) => ({ stateAfter, eventJson: JSON.stringify(event) });

const admitHead = (mutation: AdmitGeneration): AdmitHead => [
  mutation.seq,
  mutation.id,
  mutation.accountSeq,
  mutation.keySeq,
  mutation.model,
  mutation.idempotencyKey,
  mutation.quotedCredits,
  mutation.reservedCredits,
  mutation.maxCostCredits,
  mutation.inProgressLimit,
  mutation.createdAtMs,
  mutation.waitEndsAtMs,
  mutation.requestId,
  mutation.pins ?? 0,
  mutation.labels ?? 0,
  mutation.files ?? 0,
  mutation.webhookUrl ?? 0,
];

/**
 * The first line has the short members of all mutations. Then follow the large members, four lines for an admission and two for a
 * transition. JSON contains no raw line feed, so nothing is escaped. An empty line means the previous plan or a missing order.
 */
export const toLines = (mutations: readonly Mutation[]): string => {
  const heads: (AdmitHead | StepHead | AdminMutation | PurchaseMutation | UploadMutation)[] = [];
  let parts = "";
  let planBefore = "";
  for (const mutation of mutations) {
    if (mutation.mutation === "admit") {
      const planJson = printedPlan(mutation.plan);
      heads.push(admitHead(mutation));
      parts += `\n${planJson === planBefore ? "" : planJson}\n${mutation.body}\n${printedAdded(mutation.added)}\n${printedOrdered(mutation.ordered) ?? ""}`;
      planBefore = planJson;
    } else if (mutation.mutation === "step") {
      const { event, snapshot, earlier, ...head } = mutation;
      heads.push(earlier ? { ...head, earlier: earlier.map(packedEvent) } : head);
      parts += `\n${JSON.stringify(event)}\n${snapshot ?? ""}`;
    } else heads.push(mutation);
  }
  return JSON.stringify(heads) + parts;
};

const toAdmit = (
  head: AdmitHead,
  planJson: string,
  body: string,
  addedJson: string,
  orderedJson: string | null,
): PackedAdmit => ({
  mutation: "admit",
  seq: head[0],
  id: head[1],
  accountSeq: head[2],
  keySeq: head[3],
  model: head[4],
  idempotencyKey: head[5],
  quotedCredits: head[6],
  reservedCredits: head[7],
  maxCostCredits: head[8],
  inProgressLimit: head[9],
  createdAtMs: head[10],
  waitEndsAtMs: head[11],
  requestId: head[12],
  ...(head[13] === 0 ? {} : { pins: head[13] }),
  ...(head[14] === 0 ? {} : { labels: head[14] }),
  ...(head[15] === 0 ? {} : { files: head[15] }),
  ...(head[16] === 0 ? {} : { webhookUrl: head[16] }),
  planJson,
  body,
  addedJson,
  orderedJson,
});

export const fromLines = (text: string): SerializedMutation[] => {
  const lines = text.split("\n");
  let at = 0;
  const next = (): string => lines[at++] ?? "";
  const heads = JSON.parse(next()) as (AdmitHead | StepHead | AdminMutation | PurchaseMutation | UploadMutation)[];
  let planJson = "";
  return heads.map((head): SerializedMutation => {
    if (Array.isArray(head)) {
      planJson = next() || planJson;
      return toAdmit(head, planJson, next(), next(), next() || null);
    }
    return head.mutation === "step" ? { ...head, eventJson: next(), snapshot: next() || null } : head;
  });
};

/** An admission without its record, which the sender creates from the mutation; 0 if nothing else is left. */
type AdmittedText = 0 | { lowBalance: LowBalance };

/** Results: of an admission only what the sender cannot create. */
export const outcomesToText = (outcomes: readonly MutationResult[]): string =>
  JSON.stringify(
    outcomes.map((outcome): AdmittedText | MutationResult => {
      if (outcome.kind !== "admitted") return outcome;
      return outcome.lowBalance === undefined ? 0 : { lowBalance: outcome.lowBalance };
    }),
  );

export const outcomesFromText = (text: string, mutations: readonly Mutation[]): MutationResult[] =>
  (JSON.parse(text) as (AdmittedText | MutationResult)[]).map((outcome, i) => {
    if (outcome !== 0 && "kind" in outcome) return outcome;
    const mutation = mutations[i];
    if (mutation?.mutation !== "admit") throw new Error("an outcome does not belong to its mutation");
    return { kind: "admitted", record: admittedRecord(mutation), ...(outcome === 0 ? {} : outcome) };
  });
