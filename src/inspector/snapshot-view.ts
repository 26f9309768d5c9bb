// Presents a generation's statechart from its stored snapshot or, without one, from its events.
import type { GenerationSnapshot } from "../../actors/generation/snapshot.ts";
import { storedMemory, thaw } from "../../actors/generation/snapshot.ts";
import { beginning } from "../../actors/replay/dry-run.ts";
import { followed, type WrittenStep } from "../../actors/replay/replay.ts";
import type { JsonObject, PlannedRoute } from "../domain/types.ts";
import type { ActorView } from "./actor-registry.ts";
import { nestedOf } from "./definitions.ts";
import { shownContext } from "./field-allowlist.ts";

const statusOf = (state: string): ActorView["status"] => (state === "succeeded" || state === "failed" ? "done" : "active");

export const snapshotView = (state: string, frozen: string | null, plan: readonly PlannedRoute[]): ActorView => ({
  status: statusOf(state),
  value: () => nestedOf(state),
  context: () => shownContext((storedMemory(frozen) ?? {}) as JsonObject, plan),
});

/** Snapshot of a statechart, computed on first use and cached. */
export type SnapshotReader = () => GenerationSnapshot;
const once = (make: SnapshotReader): SnapshotReader => {
  let made: GenerationSnapshot | null = null;
  return () => {
    made ??= make();
    return made;
  };
};

export const initialSnapshot = (input: Parameters<typeof beginning>[0]): SnapshotReader => once(() => beginning(input).after);
export const storedSnapshot = (frozen: string, plan: readonly PlannedRoute[]): SnapshotReader => once(() => thaw(frozen, plan));
/** The snapshot after one stored event. */
export const snapshotAfterStep = (before: SnapshotReader, line: WrittenStep): SnapshotReader =>
  once(() => followed(before(), line));

/** View of a transition whose snapshot was replaced before it was read; the context is computed from the stored events. */
export const viewSnapshot = (state: string, stand: SnapshotReader, plan: readonly PlannedRoute[]): ActorView => ({
  status: statusOf(state),
  value: () => nestedOf(state),
  context: () => {
    const { plan: _, ...memory } = stand().context;
    return shownContext(memory as unknown as JsonObject, plan);
  },
});
