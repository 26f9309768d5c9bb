// Types of the messages between the live page and the service, shared by both.
import type { JsonObject } from "../domain/types.ts";

/** The statecharts of the service. */
export type ActorKind = "generation" | "route" | "ledger";

/**
 * One row of the list. `actor`: its statechart is in memory (`live`), not in memory (`none`: queued or passivated), or has ended
 * (`ended`). A generation of another node is `live` once it runs, because its passivation is not visible to this node.
 */
export type ActorRow = {
  id: string;
  kind: ActorKind;
  name: string;
  /** Path of the state, e.g. `running.polling`; parallel states are joined by commas. */
  state: string;
  actor: "live" | "none" | "ended";
  /** Time of creation; null if unknown. */
  bornAtMs: number | null;
  /** Time when the state was entered; null if that was before observation began. */
  sinceMs: number | null;
  model?: string;
  account?: { id: string; name: string };
  /** Route of the current attempt. */
  route?: string;
  /** Number of attempts begun. */
  attempts?: number;
  /** Owning node of a generation in a cluster, as host/slot/epoch. */
  node?: string;
};

/** One event of a statechart, sent after its commit if it is stored. `more`: its members without prompts. */
export type SeenEvent = {
  no: number;
  id: string;
  kind: ActorKind;
  type: string;
  from: string | null;
  to: string;
  atMs: number;
  /** Number of the transition within its generation, from 1. */
  version?: number;
  /** In a cluster, the node that wrote the transition. */
  node?: string;
  more?: JsonObject;
};

/** The selected actor. The page contains the definitions of the statecharts. */
export type ChosenActor = {
  id: string;
  row: ActorRow | null;
  context: JsonObject | null;
  /** For a generation, sent once: all events before the selection. */
  history?: SeenEvent[];
};

/** Number of actors per state, for each kind of actor. */
export type StateCounts = Partial<Record<ActorKind, Record<string, number>>>;

/** Counts of generations on all nodes. */
export type Totals = {
  queued: number;
  running: number;
  /** Statecharts of generations in memory, on this node. */
  live: number;
  /** In a cluster, the number of live nodes. */
  nodes?: number;
  /** Generations without a row, because the list is full. */
  unlisted: number;
  viewers: number;
};

/** One message to the page with everything since the previous one, at most 20 per second. */
export type LiveBatch = {
  nowMs: number;
  /** Present in the first message. `prompts`: inputs of customers are shown. */
  hello?: { prompts: boolean; role: "operator" | "viewer" };
  /** All rows follow again; the page discards the current ones. */
  reset?: true;
  rows?: ActorRow[];
  events?: SeenEvent[];
  counts?: StateCounts;
  totals?: Totals;
  /** Number of events that were dropped because this viewer was too slow. */
  leftOut?: number;
  chosen?: ChosenActor;
};

/** A message from the page. */
export type LiveRequest = { choose: string | null };
