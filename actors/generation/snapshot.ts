// How a generation continues: its state and memory as JSON and back, what it waits for, and when that must be over.
import type { SnapshotFrom } from "xstate";
import type { Deadline, PlannedRoute } from "../../src/domain/types.ts";
import { EFFECT_ON_ENTRY, generationMachine, type Leaf } from "./machine.ts";
import { CONFIRMING_MESSAGE, type Effect, type GenerationContext, type GenerationEvent, PARKED_MESSAGE } from "./types.ts";

export type GenerationSnapshot = SnapshotFrom<typeof generationMachine>;

/** Version of the frozen form; a golden snapshot of each version is restored by the tests for ever. */
export const SNAPSHOT_VERSION = 1;

/** The machine has no parallel states: of each level there is one. */
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

/** The resting state by its path, e.g. `running.confirming.acceptance`. */
export const leafOf = (snapshot: GenerationSnapshot): Leaf => leafOfValue(snapshot.value) as Leaf;

/** Snapshot → JSON. The plan stays with the generation's row. */
export const freeze = (snapshot: GenerationSnapshot): string => {
  const { plan: _, ...memory } = snapshot.context;
  return JSON.stringify({ v: SNAPSHOT_VERSION, value: snapshot.value, memory });
};

/** The frozen form of the same generation parked, made without waking it; what was watched is not fetched again either. */
export const freezeParked = (frozen: string): string => {
  const { v, memory } = JSON.parse(frozen) as { v: number; memory: object };
  return JSON.stringify({ v, value: { running: "parked" }, memory: { ...memory, watched: [] } });
};

/** What follows from a state alone, by its path. */
const resolved = new Map<string, Omit<GenerationSnapshot, "context">>();
/** A snapshot of a state, which is resolved once for all generations that are in it: a restart asks by the hundred thousand. */
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

/** What a frozen snapshot says, without waking its actor. @throws when it is of an unknown version or not a state of the machine. */
export const thaw = (frozen: string, plan: readonly PlannedRoute[]): GenerationSnapshot => {
  const { v, value, memory } = JSON.parse(frozen) as {
    v: number;
    value: GenerationSnapshot["value"];
    memory: Omit<GenerationContext, "plan">;
  };
  if (v !== SNAPSHOT_VERSION) throw new Error(`a snapshot of version ${v} cannot be continued`);
  return resolve(value, { ...memory, plan });
};

/** What a restored generation has to ask for again; the same as it asked for on entering its state. */
export const effectsOnRestore = (snapshot: GenerationSnapshot): Effect[] => {
  const leaf = leafOf(snapshot);
  const ask = leaf in EFFECT_ON_ENTRY ? EFFECT_ON_ENTRY[leaf as keyof typeof EFFECT_ON_ENTRY](snapshot.context) : null;
  const later = snapshot.context.watched.map(
    (attempt): Effect => ({ type: attempt.arriving ? "ask.collectAgain" : "ask.watch", n: attempt.n }),
  );
  return ask ? [ask, ...later] : later;
};

/** The one deadline of a state: the row that makes sure something happens, whatever else is lost. */
export const deadlineOf = (snapshot: GenerationSnapshot): Deadline | null => {
  const { waitEndsAtMs, current } = snapshot.context;
  const leaf = leafOf(snapshot);
  if (leaf === "queued") return { kind: "start", n: 0, dueAtMs: waitEndsAtMs };
  if (leaf === "running.awaitingSeat") return { kind: "seat", n: 0, dueAtMs: waitEndsAtMs };
  if (current === null || leaf === "running.parked" || leaf === "succeeded" || leaf === "failed") return null;
  if (leaf.startsWith("running.collecting") || leaf === "running.confirming.result")
    return { kind: "collect", n: current.n, dueAtMs: current.collectEndsAtMs ?? waitEndsAtMs };
  if (current.endsAtMs === null) return { kind: "submit", n: current.n, dueAtMs: waitEndsAtMs };
  return { kind: "attempt", n: current.n, dueAtMs: current.endsAtMs };
};

export const isSameCommand = (a: Deadline | null, b: Deadline | null): boolean =>
  a?.kind === b?.kind && a?.n === b?.n && a?.dueAtMs === b?.dueAtMs;

/** The event that a deadline brings when it is due. */
export const eventOf = (command: Deadline, atMs: number) => {
  switch (command.kind) {
    case "start":
    case "seat":
    case "submit":
      return { type: "waitEnded", atMs } as const;
    case "attempt":
      return { type: "attemptTimeEnded", n: command.n, atMs } as const;
    case "collect":
      return { type: "collectTimeEnded", n: command.n, atMs } as const;
  }
};

const DEADLINE_EVENTS: ReadonlySet<GenerationEvent["type"]> = new Set(["waitEnded", "attemptTimeEnded", "collectTimeEnded"]);

/** Whether an event is of a deadline that no longer stands: what came in before it has moved the deadline on. */
export const isStaleDeadline = (snapshot: GenerationSnapshot, event: GenerationEvent): boolean => {
  if (!DEADLINE_EVENTS.has(event.type)) return false;
  const deadline = deadlineOf(snapshot);
  if (deadline === null || deadline.dueAtMs > event.atMs) return true;
  const standing = eventOf(deadline, event.atMs);
  return standing.type !== event.type || ("n" in standing && "n" in event && standing.n !== event.n);
};

/** The customer's message in a state (§2.1): only while something is being confirmed. */
export const messageOf = (leaf: Leaf): string | null => {
  if (leaf.startsWith("running.confirming")) return CONFIRMING_MESSAGE;
  return leaf === "running.parked" ? PARKED_MESSAGE : null;
};

/** Route whose seat a generation holds in a state, or null: a seat is held from the beginning of an attempt to its end. */
export const seatOf = (snapshot: GenerationSnapshot): string | null => {
  const { current, plan } = snapshot.context;
  if (current === null || snapshot.value === "succeeded" || leafOf(snapshot) === "running.parked") return null;
  return plan[current.route]?.routeId ?? null;
};
