// Observes the service's own statecharts: circuit breakers of routes and the ledger.
import type { CircuitBreakers, Judged } from "../../actors/circuit-breaker/registry.ts";
import type { Ledger } from "../../actors/ledger.ts";
import type { JsonObject } from "../domain/types.ts";
import type { CommitListener } from "../generations/post-commit.ts";
import type { ActorRegistry, ActorView, Known } from "./actor-registry.ts";
import { definitionOf } from "./definitions.ts";

export type SystemActorsDeps = {
  health: CircuitBreakers;
  ledger: Pick<Ledger, "actor">;
  watch: CommitListener;
  nowMs: () => number;
};

type Snapshot = { status: ActorView["status"]; value: string; context: unknown };
const viewOf = ({ status, value, context }: Snapshot): ActorView => ({
  status,
  value: () => value,
  context: () => (context ?? {}) as JsonObject,
});

const LEDGER = "ledger";

export const createSystemActors = ({ health, ledger, watch, nowMs }: SystemActorsDeps, registry: ActorRegistry) => {
  /** Changes of a route's state that are not committed yet. */
  const unwritten = new Map<string, Judged[]>();
  let unsubscribeLedger: () => void = () => undefined;

  const enter = (id: string, kind: "route" | "ledger", name: string, snapshot: Snapshot): Known => {
    const one: Known = {
      row: {
        ...{ id, kind, name, state: snapshot.value, actor: "live", bornAtMs: null, sinceMs: null },
        ...(kind === "route" ? { route: name } : {}),
      },
      seq: 0,
      version: 0,
      view: viewOf(snapshot),
      definition: () => definitionOf(kind),
    };
    registry.enter(one);
    return one;
  };

  const report = ({ routeId, type, before, after, atMs }: Judged): void => {
    const id = `route ${routeId}`;
    const one = registry.find(id) ?? enter(id, "route", routeId, before);
    one.view = viewOf(after);
    registry.step(one, { type, from: before.value, to: after.value, atMs, event: { type } });
  };
  const judged = (seen: Judged): void => {
    const waiting = unwritten.get(seen.routeId);
    if (waiting) waiting.push(seen);
    else if (seen.before.value === seen.after.value) report(seen);
    else unwritten.set(seen.routeId, [seen]);
  };
  /** Records the changes up to the committed state of a route, and the later ones that did not change the state. */
  const written = (routeId: string): void => {
    const waiting = unwritten.get(routeId) ?? [];
    unwritten.delete(routeId);
    const next = waiting.findIndex(({ before, after }, at) => at > 0 && before.value !== after.value);
    for (const seen of next < 0 ? waiting : waiting.slice(0, next)) report(seen);
    if (next >= 0) unwritten.set(routeId, waiting.slice(next));
  };

  return {
    begin: (): void => {
      for (const [routeId, snapshot] of health.snapshots()) enter(`route ${routeId}`, "route", routeId, snapshot);
      health.watch(judged);
      const follow = watch.committed;
      watch.committed = (mutation, outcome) => {
        follow?.(mutation, outcome);
        if (mutation.mutation === "save-route-health") written(mutation.routeId);
      };
      const { actor } = ledger;
      let { value } = actor.getSnapshot();
      const one = enter(LEDGER, "ledger", "ledger", actor.getSnapshot());
      const { unsubscribe } = actor.system.inspect((reported) => {
        if (reported.type !== "@xstate.snapshot") return;
        const after = actor.getSnapshot();
        one.view = viewOf(after);
        const { type } = reported.event;
        registry.step(one, { type, from: value, to: after.value, atMs: nowMs(), event: { type } });
        value = after.value;
      });
      unsubscribeLedger = unsubscribe;
    },
    end: (): void => {
      health.watch(null);
      unsubscribeLedger();
      unwritten.clear();
      registry.forget(["route", "ledger"]);
    },
  };
};
