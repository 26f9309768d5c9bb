// Settlement: the record after a transition and the transfers of an end.

import type { GenerationRecord } from "../../domain/types.ts";
import type { ApplyTransition, Settlement } from "../mutations.ts";
import type { Transfer } from "./ledger.ts";

/** The record after the transition is written. */
export const recordAfter = (
  before: GenerationRecord,
  { settlement, status, message, attempts, atMs }: Omit<ApplyTransition, "event">,
): GenerationRecord => {
  const record = { ...before, attempts: attempts ?? before.attempts };
  if (!settlement)
    return { ...record, status: status ?? before.status, message: message === undefined ? before.message : message };
  // The clock never runs backwards, but a mutation can carry a time before the admission that it follows.
  const ended = { ...record, message: null, completedAtMs: Math.max(atMs, before.createdAtMs) };
  return settlement.kind === "capture"
    ? { ...ended, status: "succeeded", costCredits: settlement.credits, output: settlement.output }
    : { ...ended, status: "failed", costCredits: 0, error: settlement.error };
};

/** The transfers of an end in chain order: capture, then release. */
export const settlementTransfers = (
  { seq, reservedCredits }: Pick<GenerationRecord, "seq" | "reservedCredits">,
  settlement: Settlement,
  atMs: number,
): Transfer[] => {
  const shared = { generationSeq: seq, atMs, note: null };
  const captured = settlement.kind === "capture" ? settlement.credits : 0;
  const moves: Transfer[] = [];
  if (settlement.kind === "capture")
    moves.push({
      ...shared,
      kind: "capture",
      credits: captured,
      from: "held",
      to: "charged",
      attemptN: settlement.n,
      progress: -1,
    });
  const restCredits = reservedCredits - captured;
  if (restCredits !== 0)
    moves.push({
      ...shared,
      kind: "release",
      credits: restCredits,
      from: "held",
      to: "available",
      attemptN: null,
      progress: settlement.kind === "release" ? -1 : 0,
    });
  return moves;
};

/** A transition that ends has no snapshot, and any other requires one. @returns the violation. */
export const snapshotFault = ({ settlement, snapshot }: Pick<ApplyTransition, "settlement" | "snapshot">): string | undefined => {
  if (settlement) return snapshot === null ? undefined : "an ended generation keeps no snapshot";
  return snapshot === null ? "an open generation requires a snapshot" : undefined;
};
