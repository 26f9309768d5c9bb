// The health of every route: one machine per route that was ever judged, woken from what was saved.
import { type Actor, createActor } from "xstate";
import type { Clock } from "../src/clock.ts";
import type { Failure } from "../src/terms.ts";
import { type RouteVerdict, routeHealthMachine } from "./route-health.ts";

export type HealthDesk = {
  isDown(routeId: string): boolean;
  /** @param why the failure, as the provider told it */
  judge(routeId: string, verdict: RouteVerdict, why?: Failure): void;
  /** State per route that was ever judged: `closed`, `open` or `halfOpen`. */
  states(): Map<string, string>;
  stop(): void;
};

type HealthActor = Actor<typeof routeHealthMachine>;

const stateIn = (snapshot: string) => {
  const { value, context } = JSON.parse(snapshot);
  return routeHealthMachine.resolveState({ value, context });
};

/**
 * @param saved snapshots of a former process, per route. @param changed told when a route goes down or comes back, with
 * what is to be saved.
 */
export const openHealthDesk = (
  clock: Clock,
  saved: ReadonlyMap<string, string>,
  changed: (routeId: string, state: string, snapshot: string, why: Failure | null) => void,
): HealthDesk => {
  const actors = new Map<string, HealthActor>();
  const wakes = new Map<string, () => void>();

  const tell = (routeId: string, actor: HealthActor, type: RouteVerdict | "cooled", failure?: Failure) => {
    const before = actor.getSnapshot().value;
    actor.send({ type, atMs: clock.nowMs() });
    const { value, context } = actor.getSnapshot();
    if (before === value) return;
    arm(routeId, actor);
    const why = value === "open" && failure !== undefined ? { class: failure.class, detail: failure.detail } : null;
    changed(routeId, value, JSON.stringify({ value, context, why }), why);
  };
  /** An open route is looked at again when its pause is over; the pause itself is in the machine, as a time. */
  const arm = (routeId: string, actor: HealthActor) => {
    wakes.get(routeId)?.();
    wakes.delete(routeId);
    const { value, context } = actor.getSnapshot();
    if (value !== "open") return;
    wakes.set(
      routeId,
      clock.after(Math.max(0, context.openUntilMs - clock.nowMs()), () => tell(routeId, actor, "cooled")),
    );
  };
  const open = (routeId: string, snapshot: string | undefined): HealthActor => {
    const actor = createActor(routeHealthMachine, snapshot === undefined ? {} : { snapshot: stateIn(snapshot) }).start();
    actors.set(routeId, actor);
    arm(routeId, actor);
    return actor;
  };
  for (const [routeId, snapshot] of saved) open(routeId, snapshot);

  return {
    isDown: (routeId) => actors.get(routeId)?.getSnapshot().value === "open",
    judge: (routeId, verdict, why) => {
      const known = actors.get(routeId);
      // A route that only ever delivered needs no machine.
      if (!known && verdict === "delivered") return;
      tell(routeId, known ?? open(routeId, undefined), verdict, why);
    },
    states: () => new Map([...actors].map(([routeId, actor]) => [routeId, actor.getSnapshot().value])),
    stop: () => {
      for (const wake of wakes.values()) wake();
      for (const actor of actors.values()) actor.stop();
    },
  };
};
