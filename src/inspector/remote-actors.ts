// Generations of other nodes on stage: what was read of them is told as if it were committed here, step by step, in the order of their versions.

import type { ChangeElsewhere, RemoteChanges } from "../cluster/remote-changes.ts";
import type { GenerationRecord, PlannedRoute } from "../domain/types.ts";
import type { ApplyTransition } from "../store/mutations.ts";
import type { ActorRegistry, Known } from "./actor-registry.ts";
import { type Stand, snapshotView, standAfter, standAtBeginning, standOf, viewSnapshot } from "./snapshot-view.ts";

export type RemoteActorsDeps = {
  neighbours: RemoteChanges;
  /** What collecting may take, by the settings: machines remember it, and the journal does not say it. */
  collectMs: number;
};
type Parts = RemoteActorsDeps & {
  cast: ActorRegistry;
  /** Puts one on stage. */
  enter: (
    of: ChangeElsewhere["record"],
    state: string,
    frozen: string | null,
    plan: readonly PlannedRoute[],
    version: number,
    node: string,
  ) => Known;
  /** One has ended. */
  left: (one: Known) => void;
  /** What is shown of a request; null: that there was one. */
  requestShown: ((request: string) => string) | null;
  stepped: (mutation: ApplyTransition, record: GenerationRecord) => void;
};

type Held = { mutation: ApplyTransition; record: GenerationRecord };
/** Steps of this node that wait for what was written before them, of one generation: a machine makes few while a look is under way. */
const MOST_HELD = 50;

export type Elsewhere = ReturnType<typeof createRemoteActors>;

export const createRemoteActors = ({ neighbours, collectMs, cast, enter, left, requestShown, stepped }: Parts) => {
  const { own } = neighbours;
  /** By generation: steps of this node that came before what the node before it has written was read. */
  const held = new Map<string, Held[]>();
  let stands = new WeakMap<Known, Stand>();
  let leave: () => void = () => undefined;

  /** Where the machine of one stood, before anything that is told now. */
  const standBefore = (one: Known, { plan, waitEndsAtMs }: ChangeElsewhere): Stand =>
    stands.get(one) ?? standAtBeginning({ plan, waitEndsAtMs, collectMs });

  const tellSteps = (one: Known, change: ChangeElsewhere): void => {
    const { steps, plan, record, snapshot } = change;
    let stand = standBefore(one, change);
    for (const line of steps) {
      if (line.version <= one.version) continue;
      const { event, stateAfter, atMs, version, node } = line;
      const isLast = line === steps.at(-1);
      const isEnd = stateAfter === "succeeded" || stateAfter === "failed";
      const isWritten = isLast && snapshot !== null && change.version === version;
      stand = isWritten ? standOf(snapshot, plan) : standAfter(stand, line);
      one.look = isWritten || isEnd ? snapshotView(stateAfter, snapshot, plan) : viewSnapshot(stateAfter, stand, plan);
      const from = one.row.state === "" ? null : one.row.state;
      one.version = version;
      one.row.actor = "live";
      if (event.type === "begun") one.row.route = (event.spec as { routeId: string }).routeId;
      else if (stateAfter === "running.awaitingSeat") delete one.row.route;
      if (isLast) one.row.attempts = record.attempts;
      // The step that takes a slot at the provider is the one that makes the request.
      const request = event.type === "slotTaken" ? { request: requestShown?.(line.request ?? "") ?? "" } : {};
      cast.step(one, { type: event.type, from, to: stateAfter, atMs, event, version, ...request, node });
      if (isEnd) left(one);
    }
    stands.set(one, stand);
  };

  const told = (change: ChangeElsewhere): void => {
    const { record, steps, plan, node } = change;
    const [line] = steps;
    const before = cast.find(record.id);
    // One that there was no place for, or that has left the stage.
    if (!before && !line && record.status !== "queued") return;
    const version = (line?.version ?? change.version + 1) - 1;
    const one = before ?? enter(record, version === 0 ? "queued" : "", null, plan, version, node);
    if (one.row.node !== node) {
      one.row.node = node;
      cast.touch(one);
    }
    tellSteps(one, change);
    const waiting = held.get(record.id) ?? [];
    held.delete(record.id);
    for (const each of waiting) if (each.mutation.version > one.version) stepped(each.mutation, each.record);
  };

  return {
    own,
    /** What stands in every step of this node. */
    here: { node: own },
    nodeOf: (seq: number): string => neighbours.nodeOf(seq) ?? own,
    /** Resolves when whatever is written from now on will be told. */
    begin: (): Promise<void> => {
      const following = neighbours.follow({ told, wantsSteps: requestShown ? "with requests" : true, wants: () => true });
      leave = following.leave;
      return following.ready;
    },
    end: (): void => {
      leave();
      held.clear();
      stands = new WeakMap();
    },
    /** Where the machine of one that was read stands. */
    read: (one: Known, snapshot: string | null, plan: readonly PlannedRoute[]): void => {
      if (snapshot !== null) stands.set(one, standOf(snapshot, plan));
    },
    /** Whether a step of this node has to wait: what the node before it has written was not read yet. */
    holdsBack: (one: Known | undefined, mutation: ApplyTransition, record: GenerationRecord): boolean => {
      if (one === undefined || mutation.version <= one.version + 1) return false;
      const waiting = held.get(record.id) ?? [];
      if (waiting.length >= MOST_HELD) return false;
      held.set(record.id, [...waiting, { mutation, record }]);
      neighbours.want(record.seq, one.version);
      return true;
    },
  };
};
