// Registers generations of other nodes and records their transitions in order of version.

import type { RemoteChange, RemoteChanges } from "../cluster/remote-changes.ts";
import { type ApplyTransition, firstVersionOf } from "../domain/transition.ts";
import type { GenerationRecord, PlannedRoute } from "../domain/types.ts";
import type { ActorRegistry, Known } from "./actor-registry.ts";
import {
  initialSnapshot,
  type SnapshotReader,
  snapshotAfterStep,
  snapshotView,
  storedSnapshot,
  viewSnapshot,
} from "./snapshot-view.ts";

export type RemoteActorsDeps = {
  remoteChanges: RemoteChanges;
  /** Configured timeout of collecting. It is part of the statecharts' context and is not stored in the events. */
  collectMs: number;
};
type Parts = RemoteActorsDeps & {
  registry: ActorRegistry;
  /** Registers a generation. */
  enter: (
    of: RemoteChange["record"],
    state: string,
    frozen: string | null,
    plan: readonly PlannedRoute[],
    version: number,
    node: string,
  ) => Known;
  /** Called when a generation has ended. */
  left: (one: Known) => void;
  /** The part of a request that is shown; null shows only that there was one. */
  requestShown: ((request: string) => string) | null;
  stepped: (mutation: ApplyTransition, record: GenerationRecord) => void;
};

type Held = { mutation: ApplyTransition; record: GenerationRecord };
/** Maximum number of held transitions per generation; few occur during one read. */
const MAX_HELD = 50;

export type RemoteActors = ReturnType<typeof createRemoteActors>;

export const createRemoteActors = ({ remoteChanges, collectMs, registry, enter, left, requestShown, stepped }: Parts) => {
  const { own } = remoteChanges;
  /** Transitions of this node, by generation, that wait until the earlier ones of the previous node have been read. */
  const held = new Map<string, Held[]>();
  let snapshots = new WeakMap<Known, SnapshotReader>();
  let leave: () => void = () => undefined;

  /** Snapshot of a generation before the transitions of a change. */
  const snapshotBefore = (one: Known, { plan, waitEndsAtMs }: RemoteChange): SnapshotReader =>
    snapshots.get(one) ?? initialSnapshot({ plan, waitEndsAtMs, collectMs });

  const publishSteps = (one: Known, change: RemoteChange): void => {
    const { steps, plan, record, snapshot } = change;
    let currentSnapshot = snapshotBefore(one, change);
    for (const line of steps) {
      if (line.version <= one.version) continue;
      const { event, stateAfter, atMs, version, node } = line;
      const isLast = line === steps.at(-1);
      const isEnd = stateAfter === "succeeded" || stateAfter === "failed";
      const isWritten = isLast && snapshot !== null && change.version === version;
      currentSnapshot = isWritten ? storedSnapshot(snapshot, plan) : snapshotAfterStep(currentSnapshot, line);
      one.view = isWritten || isEnd ? snapshotView(stateAfter, snapshot, plan) : viewSnapshot(stateAfter, currentSnapshot, plan);
      const from = one.row.state === "" ? null : one.row.state;
      one.version = version;
      one.row.actor = "live";
      if (event.type === "begun") one.row.route = (event.spec as { routeId: string }).routeId;
      else if (stateAfter === "running.awaitingSlot") delete one.row.route;
      if (isLast) one.row.attempts = record.attempts;
      // The transition that takes a slot at the provider creates the request.
      const request = event.type === "slotTaken" ? { request: requestShown?.(line.request ?? "") ?? "" } : {};
      registry.step(one, { type: event.type, from, to: stateAfter, atMs, event, version, ...request, node });
      if (isEnd) left(one);
    }
    snapshots.set(one, currentSnapshot);
  };

  const onReport = (change: RemoteChange): void => {
    const { record, steps, plan, node } = change;
    const [line] = steps;
    const before = registry.find(record.id);
    // A generation that was never registered or has already left the registry.
    if (!before && !line && record.status !== "queued") return;
    const version = (line?.version ?? change.version + 1) - 1;
    const one = before ?? enter(record, version === 0 ? "queued" : "", null, plan, version, node);
    if (one.row.node !== node) {
      one.row.node = node;
      registry.touch(one);
    }
    publishSteps(one, change);
    const waiting = held.get(record.id) ?? [];
    held.delete(record.id);
    for (const each of waiting) if (each.mutation.version > one.version) stepped(each.mutation, each.record);
  };

  return {
    own,
    /** Members of every transition of this node. */
    here: { node: own },
    nodeOf: (seq: number): string => remoteChanges.nodeOf(seq) ?? own,
    /** Resolves when all later commits will be recorded. */
    begin: (): Promise<void> => {
      const following = remoteChanges.follow({ onReport, wantsSteps: requestShown ? "with requests" : true, wants: () => true });
      leave = following.leave;
      return following.ready;
    },
    end: (): void => {
      leave();
      held.clear();
      snapshots = new WeakMap();
    },
    /** Stores the snapshot of a generation that was read. */
    read: (one: Known, snapshot: string | null, plan: readonly PlannedRoute[]): void => {
      if (snapshot !== null) snapshots.set(one, storedSnapshot(snapshot, plan));
    },
    /** True if a transition of this node must wait because earlier ones of the previous node have not been read. */
    holdsBack: (one: Known | undefined, mutation: ApplyTransition, record: GenerationRecord): boolean => {
      if (one === undefined || firstVersionOf(mutation) <= one.version + 1) return false;
      const waiting = held.get(record.id) ?? [];
      if (waiting.length >= MAX_HELD) return false;
      held.set(record.id, [...waiting, { mutation, record }]);
      remoteChanges.want(record.seq, one.version);
      return true;
    },
  };
};
