// The health of every route: one machine per route that was ever judged, woken from what was saved.
import { type Actor, createActor, type SnapshotFrom } from "xstate";
import type { Clock } from "../../src/domain/clock.ts";
import type { Failure } from "../../src/domain/types.ts";
import { circuitBreakerMachine, type RouteVerdict, verdictOf } from "./machine.ts";

export type CircuitBreakers = {
  isDown(routeId: string): boolean;
  /** @param why the failure, as the provider told it */
  judge(routeId: string, verdict: RouteVerdict, why?: Failure): void;
  /** The operator has seen to what was wrong: one that is down is on trial at once. */
  reset(routeId: string): void;
  /** Another node has judged a route: what it saved counts here too. @returns whether the route stands otherwise than before. */
  adopt(routeId: string, snapshot: string): boolean;
  /** State per route that was ever judged: `closed`, `open` or `halfOpen`. */
  states(): Map<string, string>;
  /** Routes that wait for the operator: what the provider said of their key or balance, until one delivers or another key is set. */
  setUpFaults(): ReadonlyMap<string, Failure>;
  /** Tells `seen` of every event from now on; null: nobody any more. What changes a state is told before it is written. */
  watch(seen: ((judged: Judged) => void) | null): void;
  /** The machines as they are. */
  snapshots(): Map<string, HealthSnapshot>;
  stop(): void;
};

type HealthSnapshot = SnapshotFrom<typeof circuitBreakerMachine>;
/** An event of a route's machine. */
export type Judged = { routeId: string; type: string; before: HealthSnapshot; after: HealthSnapshot; atMs: number };

type HealthActor = Actor<typeof circuitBreakerMachine>;

const stateIn = (snapshot: string) => {
  const { value, context } = JSON.parse(snapshot);
  return circuitBreakerMachine.resolveState({ value, context });
};

/** The fault of the operator's set-up that a saved machine is down for, or on trial without a proof that it is over; null where it is none. */
const setUpFaultIn = (snapshot: string): Failure | null => {
  const { why } = JSON.parse(snapshot) as { why?: Failure | null };
  return why && verdictOf(why.class) === "faulty" ? why : null;
};

/**
 * @param saved snapshots of a former process, per route. @param changed told when a route goes down or comes back, with
 * what is to be saved.
 */
export const createCircuitBreakers = (
  clock: Clock,
  saved: ReadonlyMap<string, string>,
  changed: (routeId: string, state: string, snapshot: string, why: Failure | null) => void,
): CircuitBreakers => {
  const actors = new Map<string, HealthActor>();
  const wakes = new Map<string, () => void>();
  const setUpFaults = new Map<string, Failure>();
  let watching: ((judged: Judged) => void) | null = null;

  const tell = (routeId: string, actor: HealthActor, type: RouteVerdict | "cooled" | "reset", failure?: Failure) => {
    const atMs = clock.nowMs();
    const before = actor.getSnapshot();
    actor.send({ type, atMs });
    const after = actor.getSnapshot();
    watching?.({ routeId, type, before, after, atMs });
    const { value, context } = after;
    if (type === "reset" || value === "closed") setUpFaults.delete(routeId);
    if (before.value === value) return;
    arm(routeId, actor);
    const why = value === "open" && failure !== undefined ? { class: failure.class, detail: failure.detail } : null;
    // A pause that is over proves nothing: the next attempt does.
    if (why && verdictOf(why.class) === "faulty") setUpFaults.set(routeId, why);
    else if (type !== "cooled") setUpFaults.delete(routeId);
    changed(routeId, value, JSON.stringify({ value, context, why: why ?? setUpFaults.get(routeId) ?? null }), why);
  };
  /** An open route is looked at again when its pause is over; the pause itself is in the machine, as a time. */
  const arm = (routeId: string, actor: HealthActor) => {
    wakes.get(routeId)?.();
    wakes.delete(routeId);
    const { value, context } = actor.getSnapshot();
    if (value === "open") wake(routeId, actor, Math.max(0, context.openUntilMs - clock.nowMs()), "cooled");
  };
  const wake = (routeId: string, actor: HealthActor, afterMs: number, type: "cooled" | "reset") => {
    wakes.get(routeId)?.();
    wakes.set(
      routeId,
      clock.after(afterMs, () => tell(routeId, actor, type)),
    );
  };
  const open = (routeId: string, snapshot: string | undefined): HealthActor => {
    const actor = createActor(circuitBreakerMachine, snapshot === undefined ? {} : { snapshot: stateIn(snapshot) }).start();
    actors.set(routeId, actor);
    arm(routeId, actor);
    return actor;
  };
  for (const [routeId, snapshot] of saved) {
    const actor = open(routeId, snapshot);
    // Settings change between two processes: what was down for its key or balance need not wait to be asked.
    if (setUpFaultIn(snapshot)) wake(routeId, actor, 0, "reset");
  }

  return {
    isDown: (routeId) => actors.get(routeId)?.getSnapshot().value === "open",
    judge: (routeId, verdict, why) => {
      const known = actors.get(routeId);
      // A route that only ever delivered needs no machine.
      if (!known && verdict === "delivered") return;
      tell(routeId, known ?? open(routeId, undefined), verdict, why);
    },
    reset: (routeId) => {
      const known = actors.get(routeId);
      if (known) tell(routeId, known, "reset");
    },
    adopt: (routeId, snapshot) => {
      const known = actors.get(routeId);
      const { value } = stateIn(snapshot);
      if ((known?.getSnapshot().value ?? "closed") === value) return false;
      known?.stop();
      wakes.get(routeId)?.();
      wakes.delete(routeId);
      open(routeId, snapshot);
      const fault = setUpFaultIn(snapshot);
      if (fault) setUpFaults.set(routeId, fault);
      else setUpFaults.delete(routeId);
      return true;
    },
    states: () => new Map([...actors].map(([routeId, actor]) => [routeId, actor.getSnapshot().value])),
    setUpFaults: () => setUpFaults,
    watch: (seen) => {
      watching = seen;
    },
    snapshots: () => new Map([...actors].map(([routeId, actor]) => [routeId, actor.getSnapshot()])),
    stop: () => {
      for (const takeBack of wakes.values()) takeBack();
      for (const actor of actors.values()) actor.stop();
    },
  };
};
