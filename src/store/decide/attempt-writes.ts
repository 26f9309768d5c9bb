// The writes of a change of an attempt: the inserted row, the changed columns and the stored request.

import type { AttemptChange } from "../../domain/transition.ts";
import type { Attempt, AttemptState } from "../../domain/types.ts";
import { MutationRejected } from "../sql/mutation-rejected.ts";

/** Values that a change sets, by the names of `Attempt`: absent ones stay, and null ends a watch. */
export type AttemptColumns = Omit<AttemptChange, "n" | "begin" | "request">;
/** Up to three writes: `begin` inserts the row of the attempt, `columns` updates it, `request` is stored in its own table. */
export type AttemptWrites = {
  n: number;
  begin: AttemptChange["begin"] | undefined;
  columns: AttemptColumns | undefined;
  request: string | undefined;
};

/** States of an attempt that has not ended. */
const UNDER_WAY: ReadonlySet<AttemptState> = new Set(["intent", "sending", "accepted"]);

/**
 * The writes of a change. An end without a time has the time `atMs`.
 * @throws MutationRejected for a change without contents, which is a defect of the caller.
 */
export const attemptWrites = ({ n, begin, request, ...columns }: AttemptChange, atMs: number): AttemptWrites => {
  const isUnchanged = Object.keys(columns).length === 0;
  if (isUnchanged && !begin && request === undefined) throw new MutationRejected(`the change of attempt ${n} changes nothing`);
  if (columns.state !== undefined && !UNDER_WAY.has(columns.state)) columns.endedAtMs ??= atMs;
  return { n, begin, columns: isUnchanged ? undefined : columns, request };
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

/** The stored attempt after a change, as the UPDATE statements of both drivers make it: an absent member keeps the column. */
export const changedAttempt = (attempt: Attempt, change: AttemptChange, atMs: number): Attempt => {
  const { request, columns = {} } = attemptWrites(change, atMs);
  const { job, watchUntilMs } = columns;
  return {
    ...attempt,
    state: columns.state ?? attempt.state,
    request: request ?? attempt.request,
    sentAtMs: columns.sentAtMs ?? attempt.sentAtMs,
    endsAtMs: columns.endsAtMs ?? attempt.endsAtMs,
    job: job ? { ...attempt.job, ...job } : attempt.job,
    results: columns.results ?? attempt.results,
    failure: columns.failure ?? attempt.failure,
    watchUntilMs: watchUntilMs === undefined ? attempt.watchUntilMs : watchUntilMs,
    endedAtMs: columns.endedAtMs ?? attempt.endedAtMs,
  };
};
