// Replays the stored events of a generation through its statechart and compares every step.

import type { AttemptChange, Settlement } from "../../src/domain/transition.ts";
import type {
  Credits,
  Deadline,
  GenerationError,
  JsonObject,
  LedgerSide,
  PlannedRoute,
  TransferKind,
} from "../../src/domain/types.ts";
import type { Marks } from "../chart/drawing.ts";
import { applyEvent } from "../generation/apply-event.ts";
import { deadlineOf, type GenerationSnapshot, leafOf } from "../generation/snapshot.ts";
import type { Effect, GenerationContext, GenerationEvent, MachineOutput } from "../generation/types.ts";
import { describeEvent, type Scene } from "./describe-event.ts";
import { beginning, type Considered, standAt, type Tried, tryEvent } from "./dry-run.ts";

/** A stored event without request and options, with its state and, in a cluster, the node that wrote it. */
export type WrittenStep = {
  version: number;
  atMs: number;
  event: JsonObject & { type: string };
  stateAfter: string;
  node?: string;
};
/** A transfer of the generation. */
export type StateChange = {
  atMs: number;
  kind: TransferKind;
  credits: Credits;
  from: LedgerSide;
  to: LedgerSide;
  attemptN: number | null;
};
export type Replayed = {
  createdAtMs: number;
  waitEndsAtMs: number;
  /** Download timeout; it is a setting, not stored, and changes no transition. */
  collectMs: number;
  plan: readonly PlannedRoute[];
  journal: readonly WrittenStep[];
  transfers: readonly StateChange[];
  /** Name of a route; its id if absent. */
  routeName?: (routeId: string) => string;
};

/** The end: the charged attempt, or why nothing was charged. */
export type Settled = { kind: "capture"; n: number; credits: Credits } | { kind: "release"; error: GenerationError };

export type ReplayStep = {
  /** 0: the admission, which is no event of the statechart. */
  version: number;
  atMs: number;
  /** The node that wrote it, in a cluster. */
  node?: string;
  event: WrittenStep["event"] | null;
  /** One sentence without its period. */
  description: string;
  from: string | null;
  to: string;
  /** The transition that was taken. */
  transition: string | null;
  considered: Considered[];
  /** The changes of its attempts and, at the end, its settlement. */
  notes: AttemptChange[];
  settlement: Settled | null;
  /** The effects performed after the commit. */
  effects: Effect[];
  deadline: Deadline | null;
  /** The context afterwards, without the plan. */
  context: Omit<GenerationContext, "plan">;
  transfers: StateChange[];
  /** Why stored event, statechart and ledger differ here; null if they agree. */
  fault: string | null;
};
/** `agrees`: every stored event matches the statechart, and every transfer belongs to one. */
export type Replay = { steps: ReplayStep[]; agrees: boolean; faults: string[] };

/** The event as the statechart received it; omitted members only affect the attempt row. */
const revive = ({ event, atMs }: WrittenStep): GenerationEvent => {
  const shown: JsonObject = { ...event, atMs };
  if (event.type === "slotTaken") return { ...shown, request: "" } as unknown as GenerationEvent;
  if (event.type === "begun")
    return { ...shown, spec: { options: {}, ...(event.spec as JsonObject) } } as unknown as GenerationEvent;
  return shown as unknown as GenerationEvent;
};
/** Hides the placeholder of the omitted request. */
const tellable = (change: AttemptChange): AttemptChange => {
  const { request: _, ...rest } = change;
  return rest;
};

const settledBy = (settlement: Settlement | undefined): Settled | null => {
  if (settlement?.kind !== "capture") return settlement ?? null;
  const { kind, n, credits } = settlement;
  return { kind, n, credits };
};

const contextOf = (snapshot: GenerationSnapshot): ReplayStep["context"] => {
  const { plan: _, ...memory } = snapshot.context;
  return memory;
};
const isEffect = (output: MachineOutput): output is Effect => output.type.startsWith("effect.");

/** An event written by another release may lack members and is then described by its name. */
const report = (event: GenerationEvent, scene: Scene): string => {
  try {
    return describeEvent(event, scene);
  } catch {
    return event.type;
  }
};

/** The ledger error of a step; null if there is none. */
const moneyFault = (settlement: Settled | null, moved: readonly StateChange[], heldCredits: Credits): string | null => {
  if (!settlement) return null;
  const sum = (kind: TransferKind) =>
    moved.filter((each) => each.kind === kind).reduce((total, { credits }) => total + credits, 0);
  const charged = settlement.kind === "capture" ? settlement.credits : 0;
  if (sum("capture") !== charged) return `the statechart charges ${charged} credits, the ledger ${sum("capture")}`;
  const rest = heldCredits - charged;
  return sum("release") === rest ? null : `${rest} credits of the hold remain, but the ledger releases ${sum("release")}`;
};

const stateFault = ({ stateAfter }: WrittenStep, { fault, transition, after }: Tried): string | null => {
  if (fault !== null) return `the statechart failed on this event: ${fault}`;
  if (transition === null) return `the statechart has no transition for this event; the stored state is ${stateAfter}`;
  return leafOf(after) === stateAfter ? null : `the statechart enters ${leafOf(after)}; the stored state is ${stateAfter}`;
};

/** Continues from the statechart's state, or from the stored one if they differ. */
const continueFrom = (line: WrittenStep, tried: Tried): GenerationSnapshot => {
  if (leafOf(tried.after) === line.stateAfter) return tried.after;
  try {
    return standAt(line.stateAfter, tried.after);
  } catch {
    return tried.after;
  }
};

/** The state after a stored event. */
export const followed = (before: GenerationSnapshot, line: WrittenStep): GenerationSnapshot =>
  continueFrom(line, tryEvent(before, revive(line)));

/** Replays a generation from its admission to its last event. Pure: it performs no effect. */
export const replay = (given: Replayed): Replay => {
  const { plan, waitEndsAtMs, collectMs, journal, transfers, routeName = (routeId) => routeId } = given;
  const hold = transfers.filter(({ kind }) => kind === "hold");
  const settling = transfers.filter(({ kind }) => kind !== "hold");
  const heldCredits = hold.reduce((total, { credits }) => total + credits, 0);
  const first = beginning({ plan, waitEndsAtMs, collectMs });
  const steps: ReplayStep[] = [
    {
      version: 0,
      atMs: given.createdAtMs,
      event: null,
      description: "accepted; the credits are held",
      from: null,
      to: leafOf(first.after),
      transition: null,
      considered: [],
      notes: [],
      settlement: null,
      effects: first.outputs.filter(isEffect),
      deadline: deadlineOf(first.after),
      context: contextOf(first.after),
      transfers: hold,
      fault: hold.length === 1 ? null : `the ledger has ${hold.length} holds; exactly 1 is required`,
    },
  ];

  let standing = first.after;
  for (const [at, line] of journal.entries()) {
    const event = revive(line);
    const before = standing;
    const from = leafOf(before);
    const tried = tryEvent(before, event);
    standing = continueFrom(line, tried);
    const step = tried.fault === null ? applyEvent(0, line.version, event, before, tried.after, tried.outputs, 0) : null;
    const settlement = settledBy(step?.mutation.settlement);
    const moved = settlement ? settling : [];
    const expected = (journal[at - 1]?.version ?? 0) + 1;
    const gap = line.version === expected ? null : `event ${expected} is missing`;
    steps.push({
      version: line.version,
      atMs: line.atMs,
      ...(line.node === undefined ? {} : { node: line.node }),
      event: line.event,
      description: report(event, { from, to: line.stateAfter, routeName, resent: (before.context.current?.sends ?? 0) > 0 }),
      from,
      to: line.stateAfter,
      transition: tried.transition,
      considered: tried.considered,
      notes: (step?.mutation.attemptChanges ?? []).map(tellable),
      settlement,
      effects: step?.effects ?? [],
      deadline: deadlineOf(standing),
      context: contextOf(standing),
      transfers: moved,
      fault: gap ?? stateFault(line, tried) ?? moneyFault(settlement, moved, heldCredits),
    });
  }
  if (settling.length > 0 && !steps.some(({ settlement }) => settlement)) {
    const last = steps.at(-1);
    if (last) last.fault ??= "the ledger has settled the hold, but no stored event does";
  }
  const faults = steps.flatMap(({ version, fault }) => (fault === null ? [] : [`step ${version}: ${fault}`]));
  return { steps, agrees: faults.length === 0, faults };
};

/** Versions of the events that took each transition, for the chart. */
export const wayOf = (steps: readonly ReplayStep[]): Map<string, number[]> => {
  const way = new Map<string, number[]>();
  for (const { transition, version } of steps)
    if (transition !== null) way.set(transition, [...(way.get(transition) ?? []), version]);
  return way;
};

/** Marks of the chart at one step: the state, the transition and the path before. */
export const marksAt = (steps: readonly ReplayStep[], at: number): Marks => {
  const now = steps[at];
  return {
    active: now ? [now.to] : [],
    edge: now?.transition ?? null,
    taken: steps.slice(0, at + 1).flatMap(({ transition }) => transition ?? []),
  };
};
