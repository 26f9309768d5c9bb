// The lives of the machine's property: events in any order, told twice, late or about the wrong attempt, and crashes between them.
import fc from "fast-check";
import { transition } from "xstate";
import { generationMachine } from "../../actors/generation/machine.ts";
import type { GenerationSnapshot } from "../../actors/generation/snapshot.ts";
import type { GenerationEvent } from "../../actors/generation/types.ts";
import type { PlannedRoute } from "../../src/domain/types.ts";
import { eventFor, situationOf, PLANS as TWO_ROUTES, VARIANTS, type Variant, WAIT_MS } from "../machine/explore.ts";

/** The plans of the exhaustive walk, and one with more routes than it could afford. */
const [first = [], second = []] = TWO_ROUTES;
export const PLANS: readonly (readonly PlannedRoute[])[] = [...TWO_ROUTES, [...first, ...second]];

/** Time is told by the life, so that the walk's own late events are not needed. */
const EVENTS: readonly Variant[] = VARIANTS.filter((variant) => !variant.late);

/** How a commit ends that does not simply succeed: in doubt with nothing written, in doubt but written, or for want of space. */
export type CommitEnd = "lost" | "written" | "full";

/**
 * `going` tells one of the events that mean something in the situation and do not end it, `watched` one of those that are about an attempt
 * that was given up, `ending` one of those that end it, `any` one of all, `again` one that was told before.
 * `exactly` tells the event that it names.
 * `crash` drops the host between two events, `lost` inside one before its commit, `written` right after it; `putAway` is what
 * the supervisor does with an idle one.
 */
export type MachineMove =
  | { move: "going" | "watched" | "ending" | "any" | "again"; pick: number; waitMs: number; end: CommitEnd | null }
  | { move: "exactly"; type: Variant["type"]; of: Variant["of"]; pick: number; waitMs: number; end: CommitEnd | null }
  | { move: "crash" | "putAway" };
export type MachineLife = { plan: number; moves: MachineMove[] };

const waitMs = fc.oneof(
  { weight: 6, arbitrary: fc.nat(5_000) },
  { weight: 2, arbitrary: fc.constantFrom(0, 0, 30_000, 60_000, 60_001, 600_000) },
  { weight: 1, arbitrary: fc.nat(WAIT_MS) },
);
const tells = (move: "going" | "watched" | "ending" | "any" | "again") =>
  fc.record({
    move: fc.constant(move),
    pick: fc.nat(10_000),
    waitMs,
    end: fc.oneof(
      { weight: 14, arbitrary: fc.constant(null) },
      { weight: 1, arbitrary: fc.constantFrom<CommitEnd[]>("lost", "written", "full") },
    ),
  });

const exactly = (type: Variant["type"], of: Variant["of"]): MachineMove => ({
  ...{ move: "exactly", type, of },
  ...{ pick: 0, waitMs: 0, end: null },
});
/** A route was given up, the next has its turn, and the files of the first arrive: chance alone comes here once in a thousand lives. */
const LATE_RESULT: readonly MachineMove[] = [
  ...[exactly("begun", "none"), exactly("slotTaken", "current"), exactly("attemptTimeEnded", "current")],
  ...[exactly("begun", "none"), exactly("slotTaken", "current"), exactly("announced", "watched")],
];
const BEGINNINGS: readonly (readonly MachineMove[])[] = [[], [], [], [], [], [], [], LATE_RESULT];

export const machineLives: fc.Arbitrary<MachineLife> = fc
  .record({
    plan: fc.nat(PLANS.length - 1),
    beginning: fc.constantFrom(...BEGINNINGS),
    moves: fc.array(
      fc.oneof(
        { weight: 12, arbitrary: tells("going") },
        { weight: 3, arbitrary: tells("watched") },
        { weight: 1, arbitrary: tells("ending") },
        { weight: 4, arbitrary: tells("any") },
        { weight: 3, arbitrary: tells("again") },
        { weight: 2, arbitrary: fc.record({ move: fc.constantFrom("crash" as const, "putAway" as const) }) },
      ),
      { minLength: 1, maxLength: 60, size: "max" },
    ),
  })
  .map(({ plan, beginning, moves }) => ({ plan, moves: [...beginning, ...moves] }));

/** Only the supervisor begins, and only while a route is left. */
const mayBe = (variant: Variant, snapshot: GenerationSnapshot): boolean =>
  variant.type !== "begun" || snapshot.context.nextRoute < snapshot.context.plan.length;

const at = (variant: Variant, snapshot: GenerationSnapshot, nowMs: number): GenerationEvent | null => {
  const event = mayBe(variant, snapshot) ? eventFor(variant, snapshot, 0) : null;
  return event ? { ...event, atMs: nowMs } : null;
};

type Fitting = { going: readonly Variant[]; watched: readonly Variant[]; ending: readonly Variant[] };
const fittingIn = new Map<string, Fitting>();
/** The events that change something in a situation; found by asking the chart, once for each situation. */
const fitting = (plan: number, snapshot: GenerationSnapshot, nowMs: number): Fitting => {
  const isLate = nowMs >= snapshot.context.waitEndsAtMs;
  const key = `${plan} ${isLate} ${situationOf(snapshot)}`;
  const known = fittingIn.get(key);
  if (known) return known;
  const found = { going: [] as Variant[], watched: [] as Variant[], ending: [] as Variant[] };
  for (const variant of EVENTS) {
    // Parking ends the story, so it is left to chance.
    const event = variant.type === "parked" ? null : at(variant, snapshot, nowMs);
    if (!event) continue;
    const [next, actions] = transition(generationMachine, snapshot, event);
    if (next === snapshot && actions.length === 0) continue;
    found[next.status === "active" ? "going" : "ending"].push(variant);
    if (next.status === "active" && variant.of === "watched") found.watched.push(variant);
  }
  fittingIn.set(key, found);
  return found;
};

/** The event that a move tells; null where there is nothing to speak of. */
export const eventOfMove = (
  move: Extract<MachineMove, { pick: number }>,
  plan: number,
  snapshot: GenerationSnapshot,
  told: readonly GenerationEvent[],
  nowMs: number,
): GenerationEvent | null => {
  if (move.move === "again") {
    const before = told[move.pick % Math.max(1, told.length)];
    // The supervisor begins an attempt once.
    return before && before.type !== "begun" ? { ...before, atMs: nowMs } : null;
  }
  if (move.move === "exactly") {
    const named = EVENTS.find(({ type, of }) => type === move.type && of === move.of);
    return named ? at(named, snapshot, nowMs) : null;
  }
  const wanted = move.move === "any" || snapshot.status !== "active" ? EVENTS : fitting(plan, snapshot, nowMs)[move.move];
  const instead = move.move === "watched" ? fitting(plan, snapshot, nowMs).going : EVENTS;
  const among = wanted.length > 0 ? wanted : instead.length > 0 ? instead : EVENTS;
  const variant = among[move.pick % among.length];
  return variant ? at(variant, snapshot, nowMs) : null;
};
