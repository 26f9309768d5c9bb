// What the live page and the service say to each other over the socket: types alone, so that the browser may have them too.
import type { JsonObject } from "../domain/types.ts";

/** `generation`, `route` and `ledger` are the service's own machines; `guest` is one of a program that connected to be looked at. */
export type ActorKind = "generation" | "route" | "ledger" | "guest";

/**
 * One row of the list. `actor`: whether its machine is in memory now (`live`), not (`none`: queued, or put away until something happens),
 * or has ended (`ended`). Of a generation of another node nobody here knows whether it was put away: it is `live` once it runs.
 */
export type ActorRow = {
  id: string;
  kind: ActorKind;
  name: string;
  /** The state by its path, e.g. `running.polling`; several of a parallel machine are joined by a comma. */
  state: string;
  actor: "live" | "none" | "ended";
  /** When it was made; null where that is not known. */
  bornAtMs: number | null;
  /** Since when it is in its state; null where that was before anybody looked. */
  sinceMs: number | null;
  model?: string;
  account?: { id: string; name: string };
  /** The route of the attempt in hand. */
  route?: string;
  /** Attempts begun. */
  attempts?: number;
  /** Of a generation, where several nodes share the store: the node that it belongs to, as host/slot/epoch. */
  node?: string;
  /** Of a guest's nested machine: the row of the one that made it. */
  parent?: string;
};

/** One event of one machine; on disk already, where it is one that goes to disk. `more`: what it carries, without prompts. */
export type SeenEvent = {
  no: number;
  id: string;
  kind: ActorKind;
  type: string;
  from: string | null;
  to: string;
  atMs: number;
  /** Of a generation: which of its steps it is, from 1. */
  version?: number;
  /** Where several nodes share the store: the one that wrote it. */
  node?: string;
  more?: JsonObject;
};

/** What is known of the chosen actor. `definition`: of a guest's machine, as it sent it; ours are in the page. */
export type ChosenActor = {
  id: string;
  row: ActorRow | null;
  context: JsonObject | null;
  definition?: JsonObject;
  /** Of a generation, once: all that happened before it was chosen. */
  history?: SeenEvent[];
};

/** Number of actors per state, for each kind of machine of ours. */
export type StateCounts = Partial<Record<ActorKind, Record<string, number>>>;

/** What the service counts of itself, of all nodes: of generations, and of those whom somebody else made. */
export type Totals = {
  queued: number;
  running: number;
  /** Machines of generations in memory, of this node alone. */
  awake: number;
  /** Where several nodes share the store: how many are alive. */
  nodes?: number;
  guests: number;
  /** Generations that there is no row for: more than the list holds. */
  unlisted: number;
  viewers: number;
};

/** One message to the page: everything since the one before, at most 20 of them a second. */
export type LiveBatch = {
  nowMs: number;
  /** First of all: with `prompts`, what customers asked for is shown. */
  hello?: { prompts: boolean; role: "operator" | "viewer" };
  /** All rows come anew: forget those there are. */
  reset?: true;
  rows?: ActorRow[];
  events?: SeenEvent[];
  counts?: StateCounts;
  totals?: Totals;
  /** Events that this viewer was too slow for. */
  leftOut?: number;
  chosen?: ChosenActor;
};

/** What the page says. */
export type LiveRequest = { choose: string | null };
