// The actors on stage: a row for each, how many are in which state, and the last of what happened to them, in one ring that all viewers read.
import type { Json, JsonObject } from "../domain/types.ts";
import type { ActorKind, ActorRow, StateCounts } from "./dto.ts";

/** A machine's snapshot, made when somebody is shown it: most are never. `value` as XState has it. */
export type ActorView = { status: "active" | "done" | "error" | "stopped"; value: () => Json; context: () => JsonObject };

export type Known = {
  row: ActorRow;
  /** Of a generation: its row number, and the version of what is known of it; 0 of all others. */
  seq: number;
  version: number;
  look: ActorView;
  /** The machine's definition as JSON, as the open protocol sends it. */
  definition: () => string;
};

/** What happened to an actor: an event of its machine, or (null) its row says something else now. */
export type Change = {
  no: number;
  known: Known;
  happened: Happened | null;
  look: ActorView;
  /** How it is told, once made: per kind of viewer, for all of that kind. */
  told: Map<string, string> | null;
};
/** `event`: as it was, with everything in it; nobody is sent it like that. `request`: the exact one that the event made. */
export type Happened = {
  type: string;
  from: string | null;
  to: string;
  atMs: number;
  event: JsonObject;
  version?: number;
  node?: string;
  request?: string;
  source?: string;
};

/** Rows in memory while somebody looks on, and changes that a viewer may be behind. */
const MOST_ROWS = 10_000;
const RING = 2_048;

export type ActorRegistry = ReturnType<typeof createActorRegistry>;

/** @param changed told when there is something new for the viewers. */
export const createActorRegistry = (changed: () => void) => {
  const known = new Map<string, Known>();
  const counts = new Map<ActorKind, Map<string, number>>();
  /** How many of a kind there are. */
  const sizes: Partial<Record<ActorKind, number>> = {};
  let ring: Change[] = [];
  let nextNo = 0;

  const count = ({ kind, state }: ActorRow, by: 1 | -1) => {
    let ofKind = counts.get(kind);
    if (ofKind === undefined) {
      ofKind = new Map();
      counts.set(kind, ofKind);
    }
    // A state that nobody is in stays, with a nought: the next one comes soon.
    ofKind.set(state, (ofKind.get(state) ?? 0) + by);
  };
  const size = (kind: ActorKind, by: number) => {
    sizes[kind] = (sizes[kind] ?? 0) + by;
  };
  const add = (of: Known, happened: Happened | null) => {
    ring[nextNo % RING] = { no: nextNo, known: of, happened, look: of.look, told: null };
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
    /** How many are in each state. */
    counts: (): StateCounts =>
      Object.fromEntries([...counts].map(([kind, states]) => [kind, Object.fromEntries([...states].filter(([, n]) => n > 0))])),
    sizeOf: (kind: ActorKind): number => sizes[kind] ?? 0,
    isFull: (): boolean => known.size >= MOST_ROWS,
    /** Puts an actor on stage; false when there is no room: it goes on all the same, but has no row. */
    enter: (one: Known): boolean => {
      if (known.size >= MOST_ROWS) return false;
      known.set(one.row.id, one);
      count(one.row, 1);
      size(one.row.kind, 1);
      add(one, null);
      return true;
    },
    /** Its row says something else, without an event. */
    touch: (one: Known): void => {
      if (known.get(one.row.id) === one) add(one, null);
    },
    /** An event moved it on, or left it where it was. What is not on stage is told all the same. */
    step: (one: Known, happened: Happened): void => {
      const isOnStage = known.get(one.row.id) === one;
      if (isOnStage) count(one.row, -1);
      if (one.row.state !== happened.to) one.row.sinceMs = happened.atMs;
      one.row.state = happened.to;
      if (isOnStage) count(one.row, 1);
      add(one, happened);
    },
    /** It has ended: those who look on are told, and it has no row from now on. */
    leave: (one: Known): void => {
      one.row.actor = "ended";
      drop(one.row.id);
      add(one, null);
    },
    /** The change of a number; undefined when it is not known any more, or not yet. */
    change: (no: number): Change | undefined => {
      const found = ring[no % RING];
      return found?.no === no ? found : undefined;
    },
    /** The numbers of the oldest change there is and of the next one. */
    span: (): { first: number; next: number } => ({ first: Math.max(0, nextNo - RING), next: nextNo }),
    /** Nobody looks on: everything of one kind after the other is forgotten, and all that happened. */
    forget: (kinds: readonly ActorKind[]): void => {
      for (const [id, { row }] of known) if (kinds.includes(row.kind)) drop(id);
      ring = [];
    },
  };
};
