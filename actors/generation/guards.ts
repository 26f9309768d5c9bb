// Guards of the generation statechart: pure predicates over its context and the current event.
import type { Failure, GenerationErrorCode, PlannedRoute } from "../../src/domain/types.ts";
import type { CurrentAttempt, GenerationContext, GenerationEvent } from "./types.ts";

type GuardArgs = { context: GenerationContext; event: GenerationEvent };

/** Maximum sendings of one attempt after rejections that prove that no job was created. */
const MAX_SENDS = 5;
/** Maximum connection failures of one attempt before the next route. */
const MAX_UNSENT = 2;

const failureOf = (event: GenerationEvent): Failure | null =>
  event.type === "rejected" || event.type === "jobFailed" || event.type === "resultLost" ? event.failure : null;

/** Whether the maximum number of mismatched deliveries is reached, including this one. */
const isEnoughOfMismatches = ({ context, event }: GuardArgs): boolean =>
  event.type === "mismatched" && event.atMost !== undefined && mismatchedWith(context, event.n).length >= event.atMost;

/** The mismatched attempts, including attempt `n`. */
export const mismatchedWith = ({ mismatched = [] }: GenerationContext, n: number): readonly number[] => [...mismatched, n];

/** The planned route of the current attempt. */
export const currentRoute = (context: GenerationContext): PlannedRoute | null =>
  context.current === null ? null : (context.plan[context.current.route] ?? null);

export const isCurrent = ({ context, event }: GuardArgs): boolean => "n" in event && context.current?.n === event.n;

export const isWatched = ({ context, event }: GuardArgs): boolean =>
  "n" in event && context.current?.n !== event.n && context.watched.some((attempt) => attempt.n === event.n);

/** Whether the event is about a watched attempt with an announced result. Only such an attempt can be collected. */
export const isBeingCollected = ({ context, event }: GuardArgs): boolean =>
  isWatched({ context, event }) && context.watched.some((attempt) => "n" in event && attempt.n === event.n && attempt.arriving);

/** Whether the client has requested the cancellation. */
export const isCancelRequested = ({ context }: Pick<GuardArgs, "context">): boolean => context.cancelRequestedAtMs !== undefined;
/** Whether this is the first cancel request. */
export const isFirstCancelRequest = (args: GuardArgs): boolean => !isCancelRequested(args);

/** Whether a fallback to the next route is allowed. §2.5: no further route is tried after max_wait_s, nor after a cancel request. */
export const mayTryNextRoute = ({ context, event }: GuardArgs): boolean =>
  !isCancelRequested({ context }) &&
  context.nextRoute < context.plan.length &&
  event.atMs < context.waitEndsAtMs &&
  !isEnoughOfMismatches({ context, event });

/** Whether the waiting time has not expired, so that a new attempt may begin. */
export const isInTime = ({ context, event }: GuardArgs): boolean => event.atMs < context.waitEndsAtMs;

/**
 * Whether the attempt may be sent. The first sending requires that the waiting time has not expired; a re-send belongs to the
 * same attempt.
 */
export const maySend = ({ context, event }: GuardArgs): boolean =>
  (context.current?.sends ?? 0) > 0 || event.atMs < context.waitEndsAtMs;

/** Whether the files of an earlier attempt are being downloaded. No attempt begins or ends until that download ends. */
export const isCollectingLateResult = ({ context }: GuardArgs): boolean => context.watched.some((attempt) => attempt.arriving);

/** Whether the provider rejected the input itself and the route does not allow another route to try it. */
export const inputRefusedForGood = ({ context, event }: GuardArgs): boolean =>
  failureOf(event)?.class === "refused_input" && currentRoute(context)?.onRefusal !== "next";

/** The time of the next sending after a rejection that proves that no job was created, or null if a re-send is useless. */
export const backOffUntilMs = ({ context, event }: GuardArgs): number | null => {
  const failure = failureOf(event);
  const attempt = context.current;
  if (failure === null || attempt === null) return null;
  const isLimited = failure.class === "rate_limited" && attempt.sends < MAX_SENDS;
  const isUnsent = failure.class === "not_sent" && attempt.sends < MAX_UNSENT;
  if (!isLimited && !isUnsent) return null;
  const pauseMs = failure.retryAfterMs ?? (isLimited ? 1000 * 2 ** attempt.sends : 1000);
  const untilMs = event.atMs + pauseMs;
  return untilMs < context.waitEndsAtMs && untilMs < (attempt.endsAtMs ?? Number.POSITIVE_INFINITY) ? untilMs : null;
};
export const mayBackOff = (args: GuardArgs): boolean => !isCancelRequested(args) && backOffUntilMs(args) !== null;

/** What the route prescribes if the outcome of an attempt stays unknown. */
export const holdsOnUnknownOutcome = ({ context }: GuardArgs): boolean => currentRoute(context)?.onLost === "hold";
export const failsOnUnknownOutcome = ({ context }: GuardArgs): boolean => currentRoute(context)?.onLost === "fail";
/** At the route timeout, `hold` and `fail` end the generation in the same way. */
export const endsOnUnknownOutcome = (args: GuardArgs): boolean => holdsOnUnknownOutcome(args) || failsOnUnknownOutcome(args);

/** Whether a parked generation has no current attempt. */
export const hasNoAttempt = ({ context }: GuardArgs): boolean => context.current === null;
/** Whether the provider has no request of the current attempt: it was never sent, or every sending was rejected. */
export const isUnsent = ({ context }: GuardArgs): boolean => context.current !== null && !mayBeOut(context.current);
/** Whether the provider may have the request of the current attempt. */
export const isOut = ({ context }: GuardArgs): boolean => context.current !== null && mayBeOut(context.current);
const hasNoRequestOut = (args: GuardArgs): boolean => hasNoAttempt(args) || isUnsent(args);
/** Whether the provider has no request of a current attempt, and the files of an earlier attempt have arrived. */
export const hasLateResult = (args: GuardArgs): boolean => hasNoRequestOut(args) && isCollectingLateResult(args);
/** Whether the end of a parked generation is certain: no provider has a request of it, and no files arrive. */
export const hasNothingOut = (args: GuardArgs): boolean => hasNoRequestOut(args) && !isCollectingLateResult(args);
/** Whether the result of the current attempt was announced. */
export const isAnnounced = ({ context }: GuardArgs): boolean =>
  context.current !== null && context.current.collectEndsAtMs !== null;
/** Whether the operator's retry refers to a known job. */
export const hasJob = ({ event }: GuardArgs): boolean => event.type === "retriedByOperator" && event.hasJob;
/**
 * Whether an operator may settle the attempt: its route is in the plan, the provider may have it, and it did not deliver a
 * mismatch.
 */
export const mayHaveDelivered = ({ context, event }: GuardArgs): boolean => {
  if (event.type !== "settledByOperator" || context.plan[event.route] === undefined) return false;
  if (context.mismatched?.includes(event.n)) return false;
  return context.current?.n !== event.n || mayBeOut(context.current);
};

/** Whether the provider may have a request of the attempt. Between a rejection and the next sending it has none. */
export const mayBeOut = ({ sends, wakeAtMs }: CurrentAttempt): boolean => sends > 0 && wakeAtMs === null;

/** The error code of a generation that ends because no route is left. */
export const endCode = ({ context, event }: GuardArgs): GenerationErrorCode => {
  if (isCancelRequested({ context })) return "cancelled";
  if (context.tried === 0) return event.type === "skipped" ? "provider_unavailable" : "timed_out";
  const isOutOfTime = event.type !== "skipped" && !(event.type === "mismatched" && event.atMs < context.waitEndsAtMs);
  if (context.nextRoute < context.plan.length && isOutOfTime) return "timed_out";
  return context.inputRefusals === context.tried ? "input_refused" : "provider_failed";
};
