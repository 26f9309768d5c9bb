// Registry of circuit breakers: one for each route with a verdict, restored from stored snapshots.
import { type Actor, createActor } from "xstate";
import type { Clock } from "../../src/domain/clock.ts";
import type { Failure } from "../../src/domain/types.ts";
import { circuitBreakerMachine, type RouteVerdict, verdictOf } from "./machine.ts";
import { freezeHealth, type HealthSnapshot, parseHealth, setUpFaultIn } from "./snapshot.ts";

export type CircuitBreakers = {
  isDown(routeId: string): boolean;
  /** @param why the failure as the provider reported it */
  judge(routeId: string, verdict: RouteVerdict, why?: Failure): void;
  /** Half-opens an open circuit breaker after an operator's change. */
  reset(routeId: string): void;
  /** Takes the stored state of another node. @returns whether the state of the route changed. */
  adopt(routeId: string, snapshot: string): boolean;
  /** State of each route with a verdict: `closed`, `open` or `halfOpen`. */
  states(): Map<string, string>;
  /** Routes with a credential or balance error, until one delivers or the credential changes. */
  setUpFaults(): ReadonlyMap<string, Failure>;
  /** Calls `seen` for every event from now on; null stops it. A state change is reported before it is stored. */
  watch(seen: ((judged: Judged) => void) | null): void;
  /** Snapshots of all circuit breakers. */
  snapshots(): Map<string, HealthSnapshot>;
  stop(): void;
};

/** One event of a circuit breaker. */
export type Judged = { routeId: string; type: string; before: HealthSnapshot; after: HealthSnapshot; atMs: number };

/** Receives the snapshot to store when a route opens or closes. */
export type RouteStateChanged = (routeId: string, state: string, snapshot: string, why: Failure | null) => void;

type HealthActor = Actor<typeof circuitBreakerMachine>;

const stateIn = (snapshot: string) => {
  const { value, context } = parseHealth(snapshot);
  return circuitBreakerMachine.resolveState({ value, context });
};

/** @param saved snapshots of a former process by route */
export const createCircuitBreakers = (
  clock: Clock,
  saved: ReadonlyMap<string, string>,
  changed: RouteStateChanged,
): CircuitBreakers => {
  const actors = new Map<string, HealthActor>();
  const wakes = new Map<string, () => void>();
  const setUpFaults = new Map<string, Failure>();
  let watching: ((judged: Judged) => void) | null = null;

  const send = (routeId: string, actor: HealthActor, type: RouteVerdict | "pauseEnded" | "reset", failure?: Failure) => {
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
    // The end of a pause proves nothing; the next attempt does.
    if (why && verdictOf(why.class) === "faulty") setUpFaults.set(routeId, why);
    else if (type !== "pauseEnded") setUpFaults.delete(routeId);
    changed(routeId, value, freezeHealth({ value, context, why: why ?? setUpFaults.get(routeId) ?? null }), why);
  };
  /** An open circuit breaker is checked again after its pause, whose end is stored in its snapshot. */
  const arm = (routeId: string, actor: HealthActor) => {
    wakes.get(routeId)?.();
    wakes.delete(routeId);
    const { value, context } = actor.getSnapshot();
    if (value === "open") wake(routeId, actor, Math.max(0, context.openUntilMs - clock.nowMs()), "pauseEnded");
  };
  const wake = (routeId: string, actor: HealthActor, afterMs: number, type: "pauseEnded" | "reset") => {
    wakes.get(routeId)?.();
    wakes.set(
      routeId,
      clock.after(afterMs, () => send(routeId, actor, type)),
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
    // Settings may change between two processes, so a credential or balance error does not wait for its pause.
    if (setUpFaultIn(snapshot)) wake(routeId, actor, 0, "reset");
  }

  return {
    isDown: (routeId) => actors.get(routeId)?.getSnapshot().value === "open",
    judge: (routeId, verdict, why) => {
      const known = actors.get(routeId);
      // A route that always delivered needs no circuit breaker.
      if (!known && verdict === "delivered") return;
      send(routeId, known ?? open(routeId, undefined), verdict, why);
    },
    reset: (routeId) => {
      const known = actors.get(routeId);
      if (known) send(routeId, known, "reset");
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
