// Actions of the generation statechart: they emit attempt changes, settlements and effects.
import { setup } from "xstate";
import { describeMismatch } from "../../src/domain/delivery-check.ts";
import type { AttemptChange } from "../../src/domain/transition.ts";
import type { AttemptState, Failure, GenerationErrorCode } from "../../src/domain/types.ts";
import { backOffUntilMs, currentRoute, endCode, isCancelRequested, mayBeOut, mismatchedWith } from "./guards.ts";
import {
  type ClosedAs,
  type CurrentAttempt,
  type Effect,
  ENDED_BY_OPERATOR_MESSAGE,
  ERROR_MESSAGES,
  type GenerationContext,
  type GenerationEvent,
  type GenerationInput,
  type MachineOutput,
} from "./types.ts";

/** Setup of the statechart: types only; actions and guards follow. */
export const machineSetup = setup({
  types: {
    context: {} as GenerationContext,
    events: {} as GenerationEvent,
    input: {} as GenerationInput,
    emitted: {} as MachineOutput,
  },
});

type Emit = (output: MachineOutput) => void;
const noteAttempt = (emit: Emit, change: AttemptChange) => emit({ type: "note.attempt", change });

/** Entry action of a resting state. It emits the effect of the state, also after a restore. */
export const emitEffect = (effect: (context: GenerationContext) => Effect | null) =>
  machineSetup.enqueueActions(({ context, enqueue }) => {
    const wanted = effect(context);
    if (wanted) enqueue.emit(wanted);
  });

/** Creates the attempt in state `intent`, in response to `beginAttempt`. */
export const beginAttempt = machineSetup.enqueueActions(({ context, event, enqueue }) => {
  if (event.type !== "begun") return;
  const route = context.plan[event.route];
  if (!route) throw new Error(`the plan has no route ${event.route}`);
  const current: CurrentAttempt = {
    n: event.n,
    route: event.route,
    sends: 0,
    sentAtMs: null,
    endsAtMs: null,
    collectEndsAtMs: null,
    wakeAtMs: null,
    watchMs: event.watchMs,
  };
  enqueue.assign({ current, nextRoute: event.route + 1, tried: event.n });
  noteAttempt(enqueue.emit, { n: event.n, begin: { ref: event.ref, route: event.spec, priceCredits: route.priceCredits } });
});

/** Stores the pinned copies before any effect uses them. */
export const keepPins = machineSetup.enqueueActions(({ event, enqueue }) => {
  if (event.type === "pinned") enqueue.emit({ type: "note.pinned", copies: event.copies });
});

export const passAll = machineSetup.assign({ nextRoute: ({ context }) => context.plan.length });

const updateCurrent = (context: GenerationContext, change: Partial<CurrentAttempt>): CurrentAttempt => {
  if (!context.current) throw new Error("there is no current attempt");
  return { ...context.current, ...change };
};

/**
 * Moves the attempt to `sending`, which is durable before a socket opens. The route timeout counts from the first sending. A job
 * lookup counts from the last sending, because every earlier one was rejected and created no job.
 */
export const beginSending = machineSetup.enqueueActions(({ context, event, enqueue }) => {
  const route = currentRoute(context);
  if (event.type !== "slotTaken" || !context.current || !route) return;
  const sentAtMs = event.atMs;
  const endsAtMs = context.current.endsAtMs ?? event.atMs + route.timeoutMs;
  enqueue.assign({ current: updateCurrent(context, { sentAtMs, endsAtMs, sends: context.current.sends + 1, wakeAtMs: null }) });
  // A re-send uses the same request bytes, and the row keeps the first end, so both are stored once.
  const first = context.current.sends === 0 ? { request: event.request, endsAtMs } : {};
  noteAttempt(enqueue.emit, { n: event.n, state: "sending", sentAtMs, ...first });
});

export const keepJob = machineSetup.enqueueActions(({ event, enqueue }) => {
  if (event.type === "accepted") noteAttempt(enqueue.emit, { n: event.n, state: "accepted", job: event.job });
});

/** Stores the result links before the download starts, and starts the download deadline. */
export const beginCollecting = machineSetup.enqueueActions(({ context, event, enqueue }) => {
  if (event.type !== "announced") return;
  const expiries = event.results.flatMap((file) => (file.expiresAtMs === undefined ? [] : [file.expiresAtMs]));
  // The provider's clock may be wrong, so an expiry in the past still allows 30 seconds.
  const expiresAtMs = Math.max(event.atMs + 30_000, Math.min(Number.POSITIVE_INFINITY, ...expiries));
  enqueue.assign({ current: updateCurrent(context, { collectEndsAtMs: Math.min(event.atMs + context.collectMs, expiresAtMs) }) });
  noteAttempt(enqueue.emit, { n: event.n, state: "accepted", results: event.results, ...(event.job ? { job: event.job } : {}) });
});

/** Extends the download deadline while our own storage rejects files. */
export const extendCollecting = machineSetup.enqueueActions(({ context, event, enqueue }) => {
  enqueue.assign({ current: updateCurrent(context, { collectEndsAtMs: event.atMs + context.collectMs }) });
});

/** Schedules a re-send of the same attempt after a rejection that proves that no job was created. */
export const beginBackingOff = machineSetup.enqueueActions(({ context, event, enqueue }) => {
  const wakeAtMs = backOffUntilMs({ context, event });
  if (event.type !== "rejected" || wakeAtMs === null) return;
  enqueue.assign({ current: updateCurrent(context, { wakeAtMs }) });
  noteAttempt(enqueue.emit, { n: event.n, state: "intent", failure: event.failure });
});

const UNFETCHED: Failure = { class: "result_unreadable", detail: "the files did not arrive before the collection deadline" };

const mismatchIn = (event: GenerationEvent): Failure | null =>
  event.type === "mismatched" ? { class: "mismatched", detail: describeMismatch(event.mismatch) } : null;

/** Ends the current attempt. A lost or capped attempt stays watched, because it may still deliver. */
export const closeAttempt = (as: ClosedAs) =>
  machineSetup.enqueueActions(({ context, event, enqueue }) => {
    const attempt = context.current;
    if (!attempt) return;
    const isUnfetched = event.type === "collectTimeEnded";
    const failure = "failure" in event ? event.failure : isUnfetched ? UNFETCHED : mismatchIn(event);
    const isWatched = as === "lost" || as === "capped";
    const refused = failure?.class === "refused_input" ? 1 : 0;
    enqueue.assign({
      current: null,
      inputRefusals: context.inputRefusals + refused,
      ...(as === "mismatched" ? { mismatched: mismatchedWith(context, attempt.n) } : {}),
      watched: isWatched ? [...context.watched, { n: attempt.n, route: attempt.route, arriving: false }] : context.watched,
    });
    noteAttempt(enqueue.emit, {
      n: attempt.n,
      state: as,
      endedAtMs: event.atMs,
      ...(failure ? { failure } : {}),
      ...(isWatched ? { watchUntilMs: (attempt.sentAtMs ?? event.atMs) + attempt.watchMs } : {}),
    });
    // A job that its provider was asked to cancel says nothing about the route.
    const isOutOfTime = (as === "capped" || isUnfetched) && !isCancelRequested({ context });
    const outOfTime = isOutOfTime ? ({ outOfTime: true } as const) : {};
    enqueue.emit({ type: isWatched ? "effect.watch" : "effect.letGo", n: attempt.n, ...outOfTime });
  });

/** Makes a watched attempt that delivered the current attempt. */
const adopted = (
  context: GenerationContext,
  { n, route }: { n: number; route: number },
  atMs: number,
): Partial<GenerationContext> => ({
  current: {
    ...{ n, route, sends: 1, sentAtMs: atMs, endsAtMs: atMs },
    ...{ collectEndsAtMs: atMs + context.collectMs, wakeAtMs: null, watchMs: 0 },
  },
  watched: context.watched.filter((attempt) => attempt.n !== n),
});

/** Makes the attempt with an arriving result the current attempt again when no route is left. */
export const adoptArriving = machineSetup.enqueueActions(({ context, event, enqueue }) => {
  const arriving = context.watched.find((attempt) => attempt.arriving);
  if (!arriving) return;
  enqueue.assign(adopted(context, arriving, event.atMs));
  noteAttempt(enqueue.emit, { n: arriving.n, state: "accepted", watchUntilMs: null });
});

/**
 * Gives up the current attempt after an operator's decision. A job that may exist is canceled if the provider allows it, and
 * stays watched.
 */
const giveUp = ({ current }: GenerationContext, atMs: number, emit: Emit): void => {
  if (!current) return;
  const { n } = current;
  if (!mayBeOut(current)) {
    noteAttempt(emit, { n, state: "cancelled", endedAtMs: atMs });
    emit({ type: "effect.letGo", n });
    return;
  }
  noteAttempt(emit, { n, state: "lost", endedAtMs: atMs, watchUntilMs: (current.sentAtMs ?? atMs) + current.watchMs });
  emit({ type: "effect.cancel", n });
  emit({ type: "effect.watch", n });
};

/** Makes the attempt that an operator settles the current attempt, and starts the download of its files. */
export const adoptSettled = machineSetup.enqueueActions(({ context, event, enqueue }) => {
  if (event.type !== "settledByOperator") return;
  const other = context.current?.n === event.n ? null : context.current;
  if (other) giveUp(context, event.atMs, enqueue.emit);
  const watched = other && mayBeOut(other) ? [{ n: other.n, route: other.route, arriving: false }] : [];
  enqueue.assign(adopted({ ...context, watched: [...context.watched, ...watched] }, event, event.atMs));
  noteAttempt(enqueue.emit, { n: event.n, state: "accepted", watchUntilMs: null, ...(event.job ? { job: event.job } : {}) });
});

/**
 * Restarts the timeouts of the current attempt after an operator's retry. The stored row keeps the first sending time. An attempt
 * that was never sent has no timeout yet.
 */
export const renewTimes = machineSetup.assign(({ context, event }) => {
  const route = currentRoute(context);
  if (!context.current || !route || context.current.endsAtMs === null) return {};
  const collectEndsAtMs = context.current.collectEndsAtMs === null ? null : event.atMs + context.collectMs;
  return { current: updateCurrent(context, { endsAtMs: event.atMs + route.timeoutMs, collectEndsAtMs }) };
});

/** Cancels and keeps watching every given-up attempt when the generation ends. */
const cancelWatched = (context: GenerationContext, emit: Emit, except: number | null) => {
  for (const attempt of context.watched) {
    if (attempt.n === except) continue;
    emit({ type: "effect.cancel", n: attempt.n });
    // Also stops a download of this attempt, because its files are no longer used.
    if (attempt.arriving) emit({ type: "effect.watch", n: attempt.n });
  }
};

/** Stores the client's cancel request, and asks the providers of the given-up attempts to cancel their jobs. */
export const keepCancelRequest = machineSetup.enqueueActions(({ context, event, enqueue }) => {
  if (event.type !== "cancelRequested") return;
  enqueue.assign({ cancelRequestedAtMs: event.decidedAtMs });
  for (const { n, arriving } of context.watched) if (!arriving) enqueue.emit({ type: "effect.cancel", n });
});

/** Ends the generation as failed and releases the whole hold. */
export const release = (code?: GenerationErrorCode) =>
  machineSetup.enqueueActions(({ context, event, enqueue }) => {
    cancelWatched(context, enqueue.emit, null);
    const isRefused = code === "input_refused";
    const ended = isRefused || !isCancelRequested({ context }) ? (code ?? endCode({ context, event })) : "cancelled";
    const message = "why" in event ? `${event.why} Nothing was charged.` : ERROR_MESSAGES[ended];
    enqueue.emit({ type: "note.release", error: { code: ended, message } });
  });

/** Ends the generation by an operator's decision and releases the whole hold. */
export const endByOperator = machineSetup.enqueueActions(({ context, event, enqueue }) => {
  giveUp(context, event.atMs, enqueue.emit);
  cancelWatched(context, enqueue.emit, null);
  enqueue.emit({ type: "note.release", error: { code: "provider_failed", message: ENDED_BY_OPERATOR_MESSAGE } });
});

/** Captures the price of the attempt that delivered, after its files are stored, and ends the generation. */
export const capture = machineSetup.enqueueActions(({ context, event, enqueue }) => {
  if (event.type !== "collected") return;
  const { current } = context;
  const delivering = current?.n === event.n ? current : context.watched.find((attempt) => attempt.n === event.n);
  const route = delivering ? context.plan[delivering.route] : undefined;
  if (!route) throw new Error(`attempt ${event.n} has no route`);
  noteAttempt(enqueue.emit, { n: event.n, state: "delivered", watchUntilMs: null, endedAtMs: event.atMs });
  if (current && current.n !== event.n) {
    const wasSent = mayBeOut(current);
    const state: AttemptState = wasSent ? "superseded" : "cancelled";
    const watchUntilMs = wasSent ? (current.sentAtMs ?? event.atMs) + current.watchMs : null;
    noteAttempt(enqueue.emit, { n: current.n, state, watchUntilMs, endedAtMs: event.atMs });
    if (!wasSent) enqueue.emit({ type: "effect.letGo", n: current.n });
    else {
      enqueue.emit({ type: "effect.cancel", n: current.n });
      enqueue.emit({ type: "effect.watch", n: current.n });
    }
  }
  // The attempt may still be watched because it was given up before it delivered.
  enqueue.emit({ type: "effect.letGo", n: event.n });
  cancelWatched(context, enqueue.emit, event.n);
  enqueue.emit({ type: "note.capture", n: event.n, credits: route.priceCredits, output: event.output });
});

const setArriving = (context: GenerationContext, n: number, arriving: boolean) =>
  context.watched.map((attempt) => (attempt.n === n ? { ...attempt, arriving } : attempt));

/** Stores the job of a lost attempt. The attempt stays lost, but can now be polled by job id. */
export const keepWatchedJob = machineSetup.enqueueActions(({ event, enqueue }) => {
  if (event.type !== "accepted") return;
  noteAttempt(enqueue.emit, { n: event.n, job: event.job });
  enqueue.emit({ type: "effect.watch", n: event.n });
});

export const collectWatched = machineSetup.enqueueActions(({ context, event, enqueue }) => {
  if (event.type !== "announced" && event.type !== "storageReturned") return;
  enqueue.assign({ watched: setArriving(context, event.n, true) });
  if (event.type === "announced")
    noteAttempt(enqueue.emit, { n: event.n, results: event.results, ...(event.job ? { job: event.job } : {}) });
  // The download is retried several times with fresh links before it fails.
  enqueue.emit({ type: "effect.collectAgain", n: event.n });
});

export const awaitStorageForWatched = machineSetup.enqueueActions(({ event, enqueue }) => {
  if (event.type === "storageRefused") enqueue.emit({ type: "effect.awaitStorage", n: event.n });
});

/** Stops watching an attempt that failed or whose result is unavailable. */
export const dropWatched = machineSetup.enqueueActions(({ context, event, enqueue }) => {
  if (!("n" in event)) return;
  enqueue.assign({ watched: context.watched.filter((attempt) => attempt.n !== event.n) });
  noteAttempt(enqueue.emit, { n: event.n, watchUntilMs: null, ...("failure" in event ? { failure: event.failure } : {}) });
  enqueue.emit({ type: "effect.letGo", n: event.n });
});

/** Counts a mismatched delivery of a watched attempt like one of the current attempt. */
export const closeWatchedMismatched = machineSetup.enqueueActions(({ context, event, enqueue }) => {
  if (event.type !== "mismatched") return;
  enqueue.assign({
    watched: context.watched.filter((attempt) => attempt.n !== event.n),
    mismatched: mismatchedWith(context, event.n),
  });
  const failure = mismatchIn(event);
  noteAttempt(enqueue.emit, {
    ...{ n: event.n, state: "mismatched", watchUntilMs: null, endedAtMs: event.atMs },
    ...(failure ? { failure } : {}),
  });
  enqueue.emit({ type: "effect.letGo", n: event.n });
});

/** Stops all work for the current attempt, because the generation waits for an operator. */
export const letGoCurrent = machineSetup.enqueueActions(({ context, enqueue }) => {
  if (context.current) enqueue.emit({ type: "effect.letGo", n: context.current.n });
});
