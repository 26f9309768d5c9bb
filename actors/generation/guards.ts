// The questions the generation machine asks before it moves: pure predicates over its memory and the event in hand.
import type { Failure, GenerationErrorCode, PlannedRoute } from "../../src/domain/types.ts";
import type { CurrentAttempt, GenerationContext, GenerationEvent } from "./types.ts";

type Asked = { context: GenerationContext; event: GenerationEvent };

/** Longest chain of re-sends on one route after refusals that prove nothing was accepted. */
const MAX_SENDS = 5;
/** A connection that was refused is tried this often before the next route has its turn. */
const MAX_UNSENT = 2;

const failureOf = (event: GenerationEvent): Failure | null =>
  event.type === "rejected" || event.type === "jobFailed" || event.type === "resultLost" ? event.failure : null;

/** As many attempts as the operator allows have delivered something else, this one among them. */
const isEnoughOfMismatches = ({ context, event }: Asked): boolean =>
  event.type === "mismatched" && event.atMost !== undefined && mismatchedWith(context, event.n).length >= event.atMost;

/** The attempts that delivered something else, with one more. */
export const mismatchedWith = ({ mismatched = [] }: GenerationContext, n: number): readonly number[] => [...mismatched, n];

/** The planned route of the current attempt. */
export const currentRoute = (context: GenerationContext): PlannedRoute | null =>
  context.current === null ? null : (context.plan[context.current.route] ?? null);

export const isCurrent = ({ context, event }: Asked): boolean => "n" in event && context.current?.n === event.n;

export const isWatched = ({ context, event }: Asked): boolean =>
  "n" in event && context.current?.n !== event.n && context.watched.some((attempt) => attempt.n === event.n);

/** A watched attempt whose result was announced: only such a one can be collected. */
export const isArriving = ({ context, event }: Asked): boolean =>
  isWatched({ context, event }) && context.watched.some((attempt) => "n" in event && attempt.n === event.n && attempt.arriving);

/** §2.5: once max_wait has passed no new route is tried. */
export const mayTryNextRoute = ({ context, event }: Asked): boolean =>
  context.nextRoute < context.plan.length && event.atMs < context.waitEndsAtMs && !isEnoughOfMismatches({ context, event });

/** The waiting time is not over: a new attempt may begin. */
export const isInTime = ({ context, event }: Asked): boolean => event.atMs < context.waitEndsAtMs;

/** Nothing has been sent for this attempt yet and the waiting time is over: then nothing is. A re-send is the same attempt. */
export const maySend = ({ context, event }: Asked): boolean =>
  (context.current?.sends ?? 0) > 0 || event.atMs < context.waitEndsAtMs;

/** An earlier attempt's files are on their way: nothing else is begun or ended until they are in or gone. */
export const lateResultArriving = ({ context }: Asked): boolean => context.watched.some((attempt) => attempt.arriving);

/** The input itself was refused, and the route does not say that another may see it differently. */
export const inputRefusedForGood = ({ context, event }: Asked): boolean =>
  failureOf(event)?.class === "refused_input" && currentRoute(context)?.onRefusal !== "next";

/** When a refusal proves that nothing was accepted: the time to send again, or null when waiting is no use. */
export const backOffUntilMs = ({ context, event }: Asked): number | null => {
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
export const mayBackOff = (asked: Asked): boolean => backOffUntilMs(asked) !== null;

/** What a route wants when an outcome was never learnt. */
export const holdsWhenLost = ({ context }: Asked): boolean => currentRoute(context)?.onLost === "hold";
export const failsWhenLost = ({ context }: Asked): boolean => currentRoute(context)?.onLost === "fail";
/** At the cap, `hold` and `fail` end alike. */
export const staysWhenLost = (asked: Asked): boolean => holdsWhenLost(asked) || failsWhenLost(asked);

/** Whether a parked generation has no attempt in hand. */
export const hasNoAttempt = ({ context }: Asked): boolean => context.current === null;
/** Nothing of the attempt in hand is with its provider: it was never sent, or what was sent was refused. */
export const isUnsent = ({ context }: Asked): boolean => context.current !== null && !mayBeOut(context.current);
/** The result of the attempt in hand was announced. */
export const isAnnounced = ({ context }: Asked): boolean => context.current !== null && context.current.collectEndsAtMs !== null;
/** The operator who asks for another try knows of a job. */
export const hasJob = ({ event }: Asked): boolean => event.type === "retriedByOperator" && event.hasJob;
/** The attempt that an operator settles is on a route of the plan, may be with its provider, and has not delivered something else. */
export const mayHaveDelivered = ({ context, event }: Asked): boolean => {
  if (event.type !== "settledByOperator" || context.plan[event.route] === undefined) return false;
  if (context.mismatched?.includes(event.n)) return false;
  return context.current?.n !== event.n || mayBeOut(context.current);
};

/** Whether a request of the attempt may be with its provider. Between a refusal and the next sending none is. */
export const mayBeOut = ({ sends, wakeAtMs }: CurrentAttempt): boolean => sends > 0 && wakeAtMs === null;

/** The code of a generation that ends because nothing is left to try. */
export const endCode = ({ context, event }: Asked): GenerationErrorCode => {
  if (context.tried === 0) return event.type === "skipped" ? "provider_unavailable" : "timed_out";
  const isOutOfTime = event.type !== "skipped" && !(event.type === "mismatched" && event.atMs < context.waitEndsAtMs);
  if (context.nextRoute < context.plan.length && isOutOfTime) return "timed_out";
  return context.inputRefusals === context.tried ? "input_refused" : "provider_failed";
};
