// What the generation machine does on its way: it notes what goes to disk and asks for what comes after, nothing else.
import { setup } from "xstate";
import { describeMismatch } from "../../src/domain/delivery-check.ts";
import type { AttemptState, Failure, GenerationErrorCode } from "../../src/domain/types.ts";
import type { AttemptChange } from "../../src/store/mutations.ts";
import { backOffUntilMs, currentRoute, endCode, mayBeOut, mismatchedWith } from "./guards.ts";
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

/** The machine's types, before its actions and guards. */
export const machineSetup = setup({
  types: {
    context: {} as GenerationContext,
    events: {} as GenerationEvent,
    input: {} as GenerationInput,
    emitted: {} as MachineOutput,
  },
});

type Say = (saying: MachineOutput) => void;
const noteAttempt = (say: Say, change: AttemptChange) => say({ type: "note.attempt", change });

/** Entry of a resting state: asks for what that state waits for. The same function serves a restored generation. */
export const emitEffect = (ask: (context: GenerationContext) => Effect | null) =>
  machineSetup.enqueueActions(({ context, enqueue }) => {
    const wanted = ask(context);
    if (wanted) enqueue.emit(wanted);
  });

/** The answer to `beginAttempt`: the attempt exists, in state `intent`. */
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

/** The copies are there: what they are goes to disk before anything is done with them. */
export const keepPins = machineSetup.enqueueActions(({ event, enqueue }) => {
  if (event.type === "pinned") enqueue.emit({ type: "note.pinned", copies: event.copies });
});

export const passAll = machineSetup.assign({ nextRoute: ({ context }) => context.plan.length });

const updateCurrent = (context: GenerationContext, change: Partial<CurrentAttempt>): CurrentAttempt => {
  if (!context.current) throw new Error("no attempt is current");
  return { ...context.current, ...change };
};

/**
 * The slot is held and the exact request known: `sending`, durable before a socket opens. The cap counts from the first sending; what a
 * look-up may conclude counts from the last, for those before it were refused and made nothing.
 */
export const beginSending = machineSetup.enqueueActions(({ context, event, enqueue }) => {
  const route = currentRoute(context);
  if (event.type !== "slotTaken" || !context.current || !route) return;
  const sentAtMs = event.atMs;
  const endsAtMs = context.current.endsAtMs ?? event.atMs + route.timeoutMs;
  enqueue.assign({ current: updateCurrent(context, { sentAtMs, endsAtMs, sends: context.current.sends + 1, wakeAtMs: null }) });
  // A re-send is the same request, byte for byte: it is written once.
  const request = context.current.sends === 0 ? { request: event.request } : {};
  noteAttempt(enqueue.emit, { n: event.n, state: "sending", ...request, sentAtMs, endsAtMs });
});

export const keepJob = machineSetup.enqueueActions(({ event, enqueue }) => {
  if (event.type === "accepted") noteAttempt(enqueue.emit, { n: event.n, state: "accepted", job: event.job });
});

/** A result was announced: where it is goes to disk before it is fetched, and the time for fetching begins. */
export const beginCollecting = machineSetup.enqueueActions(({ context, event, enqueue }) => {
  if (event.type !== "announced") return;
  const expiries = event.results.flatMap((file) => (file.expiresAtMs === undefined ? [] : [file.expiresAtMs]));
  // A provider's clock may be wrong: an expiry in the past still leaves half a minute.
  const expiresAtMs = Math.max(event.atMs + 30_000, Math.min(Number.POSITIVE_INFINITY, ...expiries));
  enqueue.assign({ current: updateCurrent(context, { collectEndsAtMs: Math.min(event.atMs + context.collectMs, expiresAtMs) }) });
  noteAttempt(enqueue.emit, { n: event.n, state: "accepted", results: event.results, ...(event.job ? { job: event.job } : {}) });
});

/** Our own storage is the one that refuses: the time for collecting does not run out on it. */
export const extendCollecting = machineSetup.enqueueActions(({ context, event, enqueue }) => {
  enqueue.assign({ current: updateCurrent(context, { collectEndsAtMs: event.atMs + context.collectMs }) });
});

/** A refusal that proves nothing was accepted, with time left: the same attempt again, later. */
export const beginBackingOff = machineSetup.enqueueActions(({ context, event, enqueue }) => {
  const wakeAtMs = backOffUntilMs({ context, event });
  if (event.type !== "rejected" || wakeAtMs === null) return;
  enqueue.assign({ current: updateCurrent(context, { wakeAtMs }) });
  noteAttempt(enqueue.emit, { n: event.n, state: "intent", failure: event.failure });
});

const UNFETCHED: Failure = { class: "result_unreadable", detail: "its files did not come within the time for collecting" };

const mismatchIn = (event: GenerationEvent): Failure | null =>
  event.type === "mismatched" ? { class: "mismatched", detail: describeMismatch(event.mismatch) } : null;

/** Ends the current attempt; a lost or capped one stays watched, in case it delivers after all. */
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
    const outOfTime = as === "capped" || isUnfetched ? ({ outOfTime: true } as const) : {};
    enqueue.emit({ type: isWatched ? "ask.watch" : "ask.letGo", n: attempt.n, ...outOfTime });
  });

/** An attempt that was given up and has delivered all the same, as the one in hand. */
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

/** No route is left but an earlier attempt's files are arriving: that one becomes the current attempt again. */
export const adoptArriving = machineSetup.enqueueActions(({ context, event, enqueue }) => {
  const arriving = context.watched.find((attempt) => attempt.arriving);
  if (!arriving) return;
  enqueue.assign(adopted(context, arriving, event.atMs));
  noteAttempt(enqueue.emit, { n: arriving.n, state: "accepted", watchUntilMs: null });
});

/** An operator decided: the attempt in hand is wanted no more. What may be out is stopped where that is possible, and watched for the books. */
const giveUp = ({ current }: GenerationContext, atMs: number, say: Say): void => {
  if (!current) return;
  const { n } = current;
  if (!mayBeOut(current)) {
    noteAttempt(say, { n, state: "cancelled", endedAtMs: atMs });
    say({ type: "ask.letGo", n });
    return;
  }
  noteAttempt(say, { n, state: "lost", endedAtMs: atMs, watchUntilMs: (current.sentAtMs ?? atMs) + current.watchMs });
  say({ type: "ask.cancel", n });
  say({ type: "ask.watch", n });
};

/** An operator says which attempt has delivered: it is the one in hand from now on, and its files are fetched. */
export const adoptSettled = machineSetup.enqueueActions(({ context, event, enqueue }) => {
  if (event.type !== "settledByOperator") return;
  const other = context.current?.n === event.n ? null : context.current;
  if (other) giveUp(context, event.atMs, enqueue.emit);
  const watched = other && mayBeOut(other) ? [{ n: other.n, route: other.route, arriving: false }] : [];
  enqueue.assign(adopted({ ...context, watched: [...context.watched, ...watched] }, event, event.atMs));
  noteAttempt(enqueue.emit, { n: event.n, state: "accepted", watchUntilMs: null, ...(event.job ? { job: event.job } : {}) });
});

/** An operator has the attempt in hand asked about anew: its times begin again. Its row keeps the end that it was sent with. */
export const renewTimes = machineSetup.assign(({ context, event }) => {
  const route = currentRoute(context);
  if (!context.current || !route) return {};
  const collectEndsAtMs = context.current.collectEndsAtMs === null ? null : event.atMs + context.collectMs;
  return { current: updateCurrent(context, { endsAtMs: event.atMs + route.timeoutMs, collectEndsAtMs }) };
});

/** The generation ends: what was given up is stopped where that is possible, and watched on for the operator's books. */
const cancelWatched = (context: GenerationContext, say: Say, except: number | null) => {
  for (const attempt of context.watched) {
    if (attempt.n === except) continue;
    say({ type: "ask.cancel", n: attempt.n });
    // Also lets go of a collecting under way: these files are not wanted any more.
    if (attempt.arriving) say({ type: "ask.watch", n: attempt.n });
  }
};

/** Ends the generation failed: the whole hold goes back. */
export const release = (code?: GenerationErrorCode) =>
  machineSetup.enqueueActions(({ context, event, enqueue }) => {
    cancelWatched(context, enqueue.emit, null);
    const ended = code ?? endCode({ context, event });
    const message = "why" in event ? `${event.why} Nothing was charged.` : ERROR_MESSAGES[ended];
    enqueue.emit({ type: "note.release", error: { code: ended, message } });
  });

/** An operator ends it: the whole hold goes back. */
export const endByOperator = machineSetup.enqueueActions(({ context, event, enqueue }) => {
  giveUp(context, event.atMs, enqueue.emit);
  cancelWatched(context, enqueue.emit, null);
  enqueue.emit({ type: "note.release", error: { code: "provider_failed", message: ENDED_BY_OPERATOR_MESSAGE } });
});

/** The files are safe: charges the attempt that delivered, whichever it is, and ends the generation. */
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
    if (!wasSent) enqueue.emit({ type: "ask.letGo", n: current.n });
    else {
      enqueue.emit({ type: "ask.cancel", n: current.n });
      enqueue.emit({ type: "ask.watch", n: current.n });
    }
  }
  // It may still be watched: it was given up before it delivered.
  enqueue.emit({ type: "ask.letGo", n: event.n });
  cancelWatched(context, enqueue.emit, event.n);
  enqueue.emit({ type: "note.capture", n: event.n, credits: route.priceCredits, output: event.output });
});

const setArriving = (context: GenerationContext, n: number, arriving: boolean) =>
  context.watched.map((attempt) => (attempt.n === n ? { ...attempt, arriving } : attempt));

/** A lost attempt turned out to have a job: it stays lost, but now it can be asked about by name. */
export const keepWatchedJob = machineSetup.enqueueActions(({ event, enqueue }) => {
  if (event.type !== "accepted") return;
  noteAttempt(enqueue.emit, { n: event.n, job: event.job });
  enqueue.emit({ type: "ask.watch", n: event.n });
});

export const collectWatched = machineSetup.enqueueActions(({ context, event, enqueue }) => {
  if (event.type !== "announced" && event.type !== "storageReturned") return;
  enqueue.assign({ watched: setArriving(context, event.n, true) });
  if (event.type === "announced")
    noteAttempt(enqueue.emit, { n: event.n, results: event.results, ...(event.job ? { job: event.job } : {}) });
  // Tried several times, with fresh links, before it is given up.
  enqueue.emit({ type: "ask.collectAgain", n: event.n });
});

export const awaitStorageForWatched = machineSetup.enqueueActions(({ event, enqueue }) => {
  if (event.type === "storageRefused") enqueue.emit({ type: "ask.awaitStorage", n: event.n });
});

/** A watched attempt has failed, or its result cannot be had: nobody asks about it any more. */
export const dropWatched = machineSetup.enqueueActions(({ context, event, enqueue }) => {
  if (!("n" in event)) return;
  enqueue.assign({ watched: context.watched.filter((attempt) => attempt.n !== event.n) });
  noteAttempt(enqueue.emit, { n: event.n, watchUntilMs: null, ...("failure" in event ? { failure: event.failure } : {}) });
  enqueue.emit({ type: "ask.letGo", n: event.n });
});

/** A watched attempt has delivered something else: it counts as the current one would have. */
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
  enqueue.emit({ type: "ask.letGo", n: event.n });
});

/** A person has to look: nothing more is done for the attempt in hand. */
export const letGoCurrent = machineSetup.enqueueActions(({ context, enqueue }) => {
  if (context.current) enqueue.emit({ type: "ask.letGo", n: context.current.n });
});
