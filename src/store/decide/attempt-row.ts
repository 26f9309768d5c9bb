// The row of an attempt after a change: the inserted row, the changed columns and the stored request.

import type { AttemptChange } from "../../domain/transition.ts";
import type { Attempt, AttemptState } from "../../domain/types.ts";
import { MutationRejected } from "../sql/mutation-rejected.ts";

/** Columns that a change sets; absent ones stay. */
export type AttemptColumns = Omit<AttemptChange, "n" | "begin" | "request">;
/** A change as rows: `begin` inserts the attempt, `columns` changes it, `request` is stored beside it. */
export type AttemptRow = Pick<AttemptChange, "n" | "begin" | "request"> & {
  columns: AttemptColumns | undefined;
};

/** States of an attempt that has not ended. */
const UNDER_WAY: ReadonlySet<AttemptState> = new Set(["intent", "sending", "accepted"]);

/**
 * The rows of a change. An end without a time has the time `atMs`.
 * @throws MutationRejected for a change without contents, which is a defect of the caller.
 */
export const attemptRow = ({ n, begin, request, ...columns }: AttemptChange, atMs: number): AttemptRow => {
  const isUnchanged = Object.keys(columns).length === 0;
  if (isUnchanged && !begin && request === undefined) throw new MutationRejected(`the change of attempt ${n} changes nothing`);
  if (columns.state !== undefined && !UNDER_WAY.has(columns.state)) columns.endedAtMs ??= atMs;
  return { n, ...(begin && { begin }), ...(request !== undefined && { request }), columns: isUnchanged ? undefined : columns };
};

/** The stored attempt after its insertion. */
export const begunAttempt = (
  seq: number,
  n: number,
  requestId: string,
  { ref, route, priceCredits }: NonNullable<AttemptChange["begin"]>,
): Attempt => ({
  seq,
  n,
  ref,
  requestId,
  route,
  priceCredits,
  state: "intent",
  request: null,
  sentAtMs: null,
  endsAtMs: null,
  job: null,
  results: null,
  failure: null,
  watchUntilMs: null,
  endedAtMs: null,
});

/** The stored attempt after a change. */
export const changedAttempt = (attempt: Attempt, change: AttemptChange, atMs: number): Attempt => {
  const { request, columns = {} } = attemptRow(change, atMs);
  const { job, watchUntilMs, ...rest } = columns;
  return {
    ...attempt,
    ...rest,
    request: request ?? attempt.request,
    job: job ? { ...attempt.job, ...job } : attempt.job,
    watchUntilMs: watchUntilMs === undefined ? attempt.watchUntilMs : watchUntilMs,
  };
};
