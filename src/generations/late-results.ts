// Records outcomes of ended generations for the operator; the customer sees no change.
import type { GenerationEvent } from "../../actors/generation/types.ts";
import type { AdminResult, MarkAttempt } from "../domain/mutations.ts";
import type { AttemptChange } from "../domain/transition.ts";
import type { GenerationRecord } from "../domain/types.ts";
import type { Effects } from "../effects/dispatcher.ts";
import type { Log } from "../logging/events.ts";
import type { StoreReads } from "../store/store.ts";

export type LateResultsDeps = {
  post: (mutation: MarkAttempt) => Promise<AdminResult>;
  /** Cancels the job if the provider allows it, and keeps polling it until its end. */
  abandon: (seq: number, n: number) => void;
  recordOf: (seq: number) => Promise<GenerationRecord | undefined>;
  log: Log;
};

/** The change of an attempt row after the end of its generation; null if the event has no meaning any more. */
const changeOf = (event: GenerationEvent): AttemptChange | null => {
  switch (event.type) {
    case "accepted":
      return { n: event.n, job: event.job };
    case "announced":
      // Done without a file, so nothing was delivered.
      if (event.results.length === 0) return { n: event.n, watchUntilMs: null };
      return { n: event.n, state: "late", results: event.results, watchUntilMs: null, ...(event.job ? { job: event.job } : {}) };
    case "jobFailed":
    case "rejected":
      return { n: event.n, failure: event.failure, watchUntilMs: null };
    case "provedAbsent":
    case "meansExhausted":
      return { n: event.n, watchUntilMs: null };
    default:
      return null;
  }
};

/**
 * Takes events of ended generations. @returns whether the event is recorded. It is false if the store rejects it because another
 * node continues the generation.
 */
export const createLateResults =
  (deps: LateResultsDeps) =>
  async (seq: number, event: GenerationEvent): Promise<boolean> => {
    const change = changeOf(event);
    if (!change) return true;
    const outcome = await deps.post({ mutation: "mark-attempt", seq, atMs: event.atMs, change });
    if (outcome.kind !== "done") return false;
    if (event.type === "accepted") deps.abandon(seq, event.n);
    if (change.state !== "late") return true;
    const record = await deps.recordOf(seq);
    deps.log("late result received", { generation_id: record?.id ?? "", request_id: record?.requestId ?? "", attempt: change.n });
    return true;
  };

type LateResults = ReturnType<typeof createLateResults>;

/**
 * Returns a function that takes such an event in the background, and a repeated one only once.
 * @param dealtWith called when the event is recorded
 */
export const createLateReports = (
  late: LateResults,
  dealtWith?: (seq: number, event: GenerationEvent) => void,
): ((seq: number, event: GenerationEvent) => void) => {
  /** Responses that are being recorded, by generation, attempt and kind; one may also wait in the mailbox of its actor. */
  const noting = new Set<string>();
  return (seq, event) => {
    const key = `${seq} ${"n" in event ? event.n : ""} ${event.type}`;
    if (noting.has(key)) return;
    noting.add(key);
    void late(seq, event)
      .then((isNoted) => isNoted && dealtWith?.(seq, event))
      .catch(() => undefined)
      .finally(() => noting.delete(key));
  };
};

/** Attempts of ended generations that are read together at a start. */
const WATCH_PAGE = 500;

export type WatchingDeps = {
  reads: Pick<StoreReads, "watchedAttempts">;
  perform: Effects["perform"];
  /** Calls back at the end of this turn of the event loop. */
  soon: (then: () => void) => void;
  isOver: () => boolean;
};

/** Resumes polling attempts of ended generations in the background. */
export const watchEnded = async ({ reads, perform, soon, isOver }: WatchingDeps): Promise<void> => {
  for (let afterSeq = 0; !isOver(); ) {
    const page = await reads.watchedAttempts(afterSeq, WATCH_PAGE);
    for (const attempt of page) perform(attempt.seq, { type: "effect.watch", n: attempt.n });
    const last = page.at(-1);
    if (!last || page.length < WATCH_PAGE) return;
    afterSeq = last.seq;
    await new Promise<void>((turn) => soon(turn));
  }
};
