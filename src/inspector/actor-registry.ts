// Registry of observed actors: rows, counts per state, and a ring of changes for viewers.
import type { Json, JsonObject } from "../domain/types.ts";
import type { ActorKind, ActorRow, StateCounts } from "./dto.ts";

/** Snapshot of a statechart, computed when a viewer needs it, because most are never viewed. `value` has XState's format. */
export type ActorView = { status: "active" | "done" | "error" | "stopped"; value: () => Json; context: () => JsonObject };

export type Known = {
  row: ActorRow;
  /** Row number and last known version of a generation; 0 for other actors. */
  seq: number;
  version: number;
  view: ActorView;
  /** Definition of the statechart as JSON in the format of the open protocol. */
  definition: () => string;
};

/** A change of an actor: an event of its statechart, or (null) a change of its row without an event. */
export type Change = {
  no: number;
  known: Known;
  happened: Happened | null;
  view: ActorView;
  /** Serialized forms by kind of viewer, shared by all viewers of that kind. */
  shown: Map<string, string> | null;
};
/** `event` is complete and must be filtered before it is sent. `request` is the exact request that the event created. */
export type Happened = {
  type: string;
  from: string | null;
  to: string;
  atMs: number;
  event: JsonObject;
  version?: number;
  node?: string;
  request?: string;
};

/** Maximum number of rows while a viewer is connected, and of changes that a viewer may be behind. */
const MAX_ROWS = 10_000;
const RING = 2_048;

export type ActorRegistry = ReturnType<typeof createActorRegistry>;

/** @param changed called when there is a new change for the viewers. */
export const createActorRegistry = (changed: () => void) => {
  const known = new Map<string, Known>();
  const counts = new Map<ActorKind, Map<string, number>>();
  /** Number of actors per kind. */
  const sizes: Partial<Record<ActorKind, number>> = {};
  let ring: Change[] = [];
  let nextNo = 0;

  const count = ({ kind, state }: ActorRow, by: 1 | -1) => {
    let ofKind = counts.get(kind);
    if (ofKind === undefined) {
      ofKind = new Map();
      counts.set(kind, ofKind);
    }
    // A state without actors keeps its entry with 0, because it is likely to be entered again.
    ofKind.set(state, (ofKind.get(state) ?? 0) + by);
  };
  const size = (kind: ActorKind, by: number) => {
    sizes[kind] = (sizes[kind] ?? 0) + by;
  };
  const add = (of: Known, happened: Happened | null) => {
    ring[nextNo % RING] = { no: nextNo, known: of, happened, view: of.view, shown: null };
    nextNo += 1;
    changed();
  };
  const drop = (id: string) => {
    const found = known.get(id);
    if (!found) return;
    known.delete(id);
    count(found.row, -1);
    size(found.row.kind, -1);
  };

  return {
    find: (id: string): Known | undefined => known.get(id),
    all: (): IterableIterator<Known> => known.values(),
    /** Number of actors in each state. */
    counts: (): StateCounts =>
      Object.fromEntries([...counts].map(([kind, states]) => [kind, Object.fromEntries([...states].filter(([, n]) => n > 0))])),
    sizeOf: (kind: ActorKind): number => sizes[kind] ?? 0,
    isFull: (): boolean => known.size >= MAX_ROWS,
    /** Adds an actor; returns false if the registry is full, in which case the actor has no row. */
    enter: (one: Known): boolean => {
      if (known.size >= MAX_ROWS) return false;
      known.set(one.row.id, one);
      count(one.row, 1);
      size(one.row.kind, 1);
      add(one, null);
      return true;
    },
    /** Records a change of a row without an event. */
    touch: (one: Known): void => {
      if (known.get(one.row.id) === one) add(one, null);
    },
    /** Records an event and the resulting state. Events of actors without a row are recorded too. */
    step: (one: Known, happened: Happened): void => {
      const isOnStage = known.get(one.row.id) === one;
      if (isOnStage) count(one.row, -1);
      if (one.row.state !== happened.to) one.row.sinceMs = happened.atMs;
      one.row.state = happened.to;
      if (isOnStage) count(one.row, 1);
      add(one, happened);
    },
    /** Records the end of an actor and removes its row. */
    leave: (one: Known): void => {
      one.row.actor = "ended";
      drop(one.row.id);
      add(one, null);
    },
    /** The change with a number; undefined if it is no longer or not yet in the ring. */
    change: (no: number): Change | undefined => {
      const found = ring[no % RING];
      return found?.no === no ? found : undefined;
    },
    /** Numbers of the oldest change in the ring and of the next one. */
    span: (): { first: number; next: number } => ({ first: Math.max(0, nextNo - RING), next: nextNo }),
    /** Removes all actors of the given kinds and all changes, after the last viewer has left. */
    forget: (kinds: readonly ActorKind[]): void => {
      for (const [id, { row }] of known) if (kinds.includes(row.kind)) drop(id);
      ring = [];
    },
  };
};
