// Snapshot of a generation: conversion to and from JSON, pending effects and the deadline.
import type { SnapshotFrom } from "xstate";
import type { Deadline, PlannedRoute } from "../../src/domain/types.ts";
import { EFFECT_ON_ENTRY, generationMachine, type Leaf } from "./machine.ts";
import { CONFIRMING_MESSAGE, type Effect, type GenerationContext, type GenerationEvent, PARKED_MESSAGE } from "./types.ts";

export type GenerationSnapshot = SnapshotFrom<typeof generationMachine>;

/** Version of the JSON form. Tests restore a golden snapshot of every version. */
export const SNAPSHOT_VERSION = 1;

/** The statechart has no parallel states, so each level has one state. */
export const leafOfValue = (value: unknown): string => {
  let path = "";
  let below = value;
  while (typeof below === "object" && below !== null) {
    const [state = ""] = Object.keys(below);
    path += `${state}.`;
    below = (below as Record<string, unknown>)[state];
  }
  return path + String(below);
};

/** The path of the resting state, e.g. `running.confirming.acceptance`. */
export const leafOf = (snapshot: GenerationSnapshot): Leaf => leafOfValue(snapshot.value) as Leaf;

/** Converts a snapshot to JSON. The plan is stored in the generation row. */
export const freeze = (snapshot: GenerationSnapshot): string => {
  const { plan: _, ...memory } = snapshot.context;
  return JSON.stringify({ v: SNAPSHOT_VERSION, value: snapshot.value, memory });
};

/** A stored snapshot. `memory` is the context without the plan. */
type StoredSnapshot = { v: number; value: GenerationSnapshot["value"]; memory: Omit<GenerationContext, "plan"> };
/** The snapshot that was parsed last. A restore asks several questions about each of up to hundreds of thousands. */
let parsed: { frozen: string; stored: StoredSnapshot } | null = null;
/** @returns shared and never changed. @throws for JSON that is damaged or of another version */
const parse = (frozen: string): Readonly<StoredSnapshot> => {
  if (parsed?.frozen === frozen) return parsed.stored;
  const stored = JSON.parse(frozen) as StoredSnapshot;
  if (stored.v !== SNAPSHOT_VERSION) throw new Error(`a snapshot of version ${stored.v} cannot be continued`);
  parsed = { frozen, stored };
  return stored;
};

/** Parses a stored snapshot; null if it is damaged or of another version, so that one row does not stop a reader of many. */
const tryParse = (frozen: string): Readonly<StoredSnapshot> | null => {
  try {
    return parse(frozen);
  } catch {
    return null;
  }
};

/** The path of a stored state, e.g. `running.parked`; `queued` without a snapshot, null if the snapshot cannot be continued. */
export const storedLeaf = (frozen: string | null): Leaf | null => {
  if (frozen === null) return "queued";
  const stored = tryParse(frozen);
  return stored && (leafOfValue(stored.value) as Leaf);
};

/** The stored context without the plan; null without a snapshot that can be continued. */
export const storedMemory = (frozen: string | null): StoredSnapshot["memory"] | null =>
  frozen === null ? null : (tryParse(frozen)?.memory ?? null);

/** When the client of an open generation requested its cancellation; null if it did not. */
export const cancelRequestedAtMs = (frozen: string | null): number | null => storedMemory(frozen)?.cancelRequestedAtMs ?? null;

const isCollecting = (leaf: Leaf): boolean => leaf.startsWith("running.collecting") || leaf === "running.confirming.result";

/** Whether a restore downloads a result; false for a snapshot that cannot be continued. */
export const collectsOnRestore = (frozen: string | null): boolean => {
  const stored = frozen === null ? null : tryParse(frozen);
  if (stored === null) return false;
  return isCollecting(leafOfValue(stored.value) as Leaf) || (stored.memory.watched?.some(({ arriving }) => arriving) ?? false);
};

/**
 * Returns the JSON form of the generation in state parked without restoring its actor. Watched attempts are not downloaded
 * either.
 */
export const freezeParked = (frozen: string): string => {
  const { v, memory } = JSON.parse(frozen) as StoredSnapshot;
  return JSON.stringify({ v, value: { running: "parked" }, memory: { ...memory, watched: [] } });
};

/** Values that depend on the state only, by state path. */
const resolved = new Map<string, Omit<GenerationSnapshot, "context">>();
/**
 * Returns a snapshot for a state value. The resolved state is shared, because a restart restores up to hundreds of thousands of
 * generations.
 */
const resolve = (value: GenerationSnapshot["value"], context: GenerationContext): GenerationSnapshot => {
  const leaf = leafOfValue(value);
  let shape = resolved.get(leaf);
  if (!shape) {
    const { context: _, ...rest } = generationMachine.resolveState({ value, context });
    shape = rest;
    resolved.set(leaf, shape);
  }
  return { ...shape, context, children: {}, historyValue: {} } as GenerationSnapshot;
};

/** Converts JSON to a snapshot without an actor. @throws for an unknown version or an unknown state. */
export const thaw = (frozen: string, plan: readonly PlannedRoute[]): GenerationSnapshot => {
  const { value, memory } = parse(frozen);
  return resolve(value, { ...memory, plan });
};

/** The effect that the current state waits for; null: none. */
export const entryEffectOf = (snapshot: GenerationSnapshot): Effect | null => {
  const leaf = leafOf(snapshot);
  return leaf in EFFECT_ON_ENTRY ? EFFECT_ON_ENTRY[leaf as keyof typeof EFFECT_ON_ENTRY](snapshot.context) : null;
};

/** The effects to perform after a restore, which are the entry effects of the current state. */
export const effectsOnRestore = (snapshot: GenerationSnapshot): Effect[] => {
  const effect = entryEffectOf(snapshot);
  const later = snapshot.context.watched.map(
    (attempt): Effect => ({ type: attempt.arriving ? "effect.collectAgain" : "effect.watch", n: attempt.n }),
  );
  return effect ? [effect, ...later] : later;
};

/** The deadline of a state, stored as a row. It guarantees progress if everything else is lost. */
export const deadlineOf = (snapshot: GenerationSnapshot): Deadline | null => {
  const { waitEndsAtMs, current } = snapshot.context;
  const leaf = leafOf(snapshot);
  if (leaf === "queued") return { kind: "start", n: 0, dueAtMs: waitEndsAtMs };
  if (leaf === "running.awaitingSlot") return { kind: "slot", n: 0, dueAtMs: waitEndsAtMs };
  if (current === null || leaf === "running.parked" || leaf === "succeeded" || leaf === "failed") return null;
  if (isCollecting(leaf)) return { kind: "collect", n: current.n, dueAtMs: current.collectEndsAtMs ?? waitEndsAtMs };
  if (current.endsAtMs === null) return { kind: "submit", n: current.n, dueAtMs: waitEndsAtMs };
  return { kind: "attempt", n: current.n, dueAtMs: current.endsAtMs };
};

export const isSameCommand = (a: Deadline | null, b: Deadline | null): boolean =>
  a?.kind === b?.kind && a?.n === b?.n && a?.dueAtMs === b?.dueAtMs;

/** The event that a deadline triggers when it is due. */
export const eventOf = (command: Deadline, atMs: number) => {
  switch (command.kind) {
    case "start":
    case "slot":
    case "submit":
      return { type: "waitEnded", atMs } as const;
    case "attempt":
      return { type: "attemptTimeEnded", n: command.n, atMs } as const;
    case "collect":
      return { type: "collectTimeEnded", n: command.n, atMs } as const;
  }
};

const DEADLINE_EVENTS: ReadonlySet<GenerationEvent["type"]> = new Set(["waitEnded", "attemptTimeEnded", "collectTimeEnded"]);

/** Whether the event belongs to a deadline that an earlier event has moved. */
export const isStaleDeadline = (snapshot: GenerationSnapshot, event: GenerationEvent): boolean => {
  if (!DEADLINE_EVENTS.has(event.type)) return false;
  const deadline = deadlineOf(snapshot);
  if (deadline === null || deadline.dueAtMs > event.atMs) return true;
  const standing = eventOf(deadline, event.atMs);
  return standing.type !== event.type || ("n" in standing && "n" in event && standing.n !== event.n);
};

/** The customer message of a state (§2.1), set only while a result is confirmed. */
export const messageOf = (leaf: Leaf | string): string | null => {
  if (leaf.startsWith("running.confirming")) return CONFIRMING_MESSAGE;
  return leaf === "running.parked" ? PARKED_MESSAGE : null;
};

/** The route on which a generation counts as running, or null. It counts from the start of an attempt to its end. */
export const queueRouteOf = (snapshot: GenerationSnapshot): string | null => {
  const { current, plan } = snapshot.context;
  if (current === null || snapshot.value === "succeeded" || leafOf(snapshot) === "running.parked") return null;
  return plan[current.route]?.routeId ?? null;
};
