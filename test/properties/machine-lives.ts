// Lives of the machine's property: events in any order, repeated, late or about the wrong attempt, and crashes.
import fc from "fast-check";
import { transition } from "xstate";
import { generationMachine } from "../../actors/generation/machine.ts";
import type { GenerationSnapshot } from "../../actors/generation/snapshot.ts";
import type { GenerationEvent } from "../../actors/generation/types.ts";
import type { PlannedRoute } from "../../src/domain/types.ts";
import { eventFor, situationOf, PLANS as TWO_ROUTES, VARIANTS, type Variant, WAIT_MS } from "../machine/explore.ts";

/** The plans of the exhaustive exploration, and one with more routes than it can explore. */
const [first = [], second = []] = TWO_ROUTES;
export const PLANS: readonly (readonly PlannedRoute[])[] = [...TWO_ROUTES, [...first, ...second]];

/** The life sets the time, so the late variants of the exploration are not needed. */
const EVENTS: readonly Variant[] = VARIANTS.filter((variant) => !variant.late);

/** How a commit fails: unknown outcome with nothing written, unknown outcome but written, or a full disk. */
export type CommitEnd = "lost" | "written" | "full";

/**
 * `going` sends an event that has an effect and does not end the generation, `watched` one about an attempt that was given up,
 * `ending` one that ends the generation, `any` any event, `again` one that was sent before.
 * `exactly` sends the named event.
 * `crash` drops the host between two events, `lost` within one before its commit, `written` right after it; `passivate` is the
 * passivation of an idle host.
 */
export type MachineMove =
  | { move: "going" | "watched" | "ending" | "any" | "again"; pick: number; waitMs: number; end: CommitEnd | null }
  | { move: "exactly"; type: Variant["type"]; of: Variant["of"]; pick: number; waitMs: number; end: CommitEnd | null }
  | { move: "crash" | "passivate" };
export type MachineLife = { plan: number; moves: MachineMove[] };

const waitMs = fc.oneof(
  { weight: 6, arbitrary: fc.nat(5_000) },
  { weight: 2, arbitrary: fc.constantFrom(0, 0, 30_000, 60_000, 60_001, 600_000) },
  { weight: 1, arbitrary: fc.nat(WAIT_MS) },
);
const reports = (move: "going" | "watched" | "ending" | "any" | "again") =>
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
/** A late result of a route that was given up, while the next route runs: at random this occurs once in 1,000 lives. */
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
        { weight: 12, arbitrary: reports("going") },
        { weight: 3, arbitrary: reports("watched") },
        { weight: 1, arbitrary: reports("ending") },
        { weight: 4, arbitrary: reports("any") },
        { weight: 3, arbitrary: reports("again") },
        { weight: 2, arbitrary: fc.record({ move: fc.constantFrom("crash" as const, "passivate" as const) }) },
      ),
      { minLength: 1, maxLength: 60, size: "max" },
    ),
  })
  .map(({ plan, beginning, moves }) => ({ plan, moves: [...beginning, ...moves] }));

/** Only the supervisor sends begun, and only while a route is left. */
const mayBe = (variant: Variant, snapshot: GenerationSnapshot): boolean =>
  variant.type !== "begun" || snapshot.context.nextRoute < snapshot.context.plan.length;

const at = (variant: Variant, snapshot: GenerationSnapshot, nowMs: number): GenerationEvent | null => {
  const event = mayBe(variant, snapshot) ? eventFor(variant, snapshot, 0) : null;
  return event ? { ...event, atMs: nowMs } : null;
};

type Fitting = { going: readonly Variant[]; watched: readonly Variant[]; ending: readonly Variant[] };
const fittingIn = new Map<string, Fitting>();
/** The events that have an effect in a situation; computed from the chart once for each situation. */
const fitting = (plan: number, snapshot: GenerationSnapshot, nowMs: number): Fitting => {
  const isLate = nowMs >= snapshot.context.waitEndsAtMs;
  const key = `${plan} ${isLate} ${situationOf(snapshot)}`;
  const known = fittingIn.get(key);
  if (known) return known;
  const found = { going: [] as Variant[], watched: [] as Variant[], ending: [] as Variant[] };
  for (const variant of EVENTS) {
    // Parking ends a life, so only random picks contain it.
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

/** The event of a move; null if there is none. */
export const eventOfMove = (
  move: Extract<MachineMove, { pick: number }>,
  plan: number,
  snapshot: GenerationSnapshot,
  reported: readonly GenerationEvent[],
  nowMs: number,
): GenerationEvent | null => {
  if (move.move === "again") {
    const before = reported[move.pick % Math.max(1, reported.length)];
    // The supervisor begins each attempt once.
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
