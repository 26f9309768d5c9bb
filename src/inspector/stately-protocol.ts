// Writes and reads frames of the open protocol of `@statelyai/inspect`.
import type { JsonObject } from "../domain/types.ts";
import type { ActorView, Happened, Known } from "./actor-registry.ts";
import { type Audience, shownEvent } from "./field-allowlist.ts";

/** Version of the protocol. Receivers require a text. */
const VERSION = "0.7.2";

const snapshotOf = ({ status, value, context }: ActorView) => ({
  ...{ status, value: value(), context: context() },
  ...{ children: {}, historyValue: {}, tags: [] },
});
const common = (atMs: number) => ({ createdAt: String(atMs), id: null, _version: VERSION });
const rootOf = ({ row }: Known) => row.id.split("/")[0] ?? row.id;

/** In a cluster, the node. Receivers ignore unknown members. */
const nodeIn = (node: string | undefined) => (node === undefined ? {} : { node });

/** Frame that announces an actor with its definition and snapshot. */
export const actorFrame = (of: Known, nowMs: number): string =>
  JSON.stringify({
    type: "@xstate.actor",
    name: of.row.name,
    sessionId: of.row.id,
    rootId: rootOf(of),
    ...(of.row.parent === undefined ? {} : { parentId: of.row.parent }),
    ...nodeIn(of.row.node),
    definition: of.definition(),
    snapshot: snapshotOf(of.view),
    ...common(of.row.bornAtMs ?? nowMs),
  });

/** An event in the protocol's format, where its members are those of the event itself. */
export const statelyEvent = (of: Known, { event, type, request }: Happened, audience: Audience): JsonObject =>
  of.row.kind === "guest" ? { ...event, type } : { type, ...shownEvent(event, audience, request) };

/** Two frames, one per line: the event and the resulting snapshot. */
export const stepFrames = (of: Known, happened: Happened, view: ActorView, audience: Audience): string => {
  const event = statelyEvent(of, happened, audience);
  const about = { event, sessionId: of.row.id, rootId: rootOf(of), ...nodeIn(happened.node), ...common(happened.atMs) };
  return `${JSON.stringify({ type: "@xstate.event", ...(happened.source === undefined ? {} : { sourceId: happened.source }), ...about })}\n${JSON.stringify(
    { type: "@xstate.snapshot", snapshot: snapshotOf(view), ...about },
  )}`;
};

/** Frame with the number of dropped events. Receivers ignore unknown types. */
export const leftOutFrame = (count: number, nowMs: number): string =>
  JSON.stringify({ type: "@genrouter.leftOut", count, ...common(nowMs) });

/** A validated frame of an external program; its content is untrusted. */
export type ExternalActorFrame = {
  type: "@xstate.actor" | "@xstate.event" | "@xstate.snapshot";
  sessionId: string;
  name: string;
  parentId: string | null;
  sourceId: string | null;
  definition: JsonObject | null;
  event: JsonObject & { type: string };
  snapshot: JsonObject | null;
};

const TYPES: ReadonlySet<unknown> = new Set(["@xstate.actor", "@xstate.event", "@xstate.snapshot"]);
const NAME_CHARS = 200;
const text = (value: unknown): string | null =>
  typeof value === "string" && value !== "" && value.length <= NAME_CHARS ? value : null;
const object = (value: unknown): JsonObject | null =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
const parsed = (json: unknown): JsonObject | null => {
  if (typeof json !== "string") return null;
  try {
    return object(JSON.parse(json));
  } catch {
    return null;
  }
};

/** Parses a frame; null if it is invalid. */
export const readFrame = (json: string): ExternalActorFrame | null => {
  const frame = parsed(json);
  const sessionId = text(frame?.sessionId);
  if (frame === null || sessionId === null || !TYPES.has(frame.type)) return null;
  const event = object(frame.event) ?? {};
  return {
    type: frame.type as ExternalActorFrame["type"],
    sessionId,
    name: text(frame.name) ?? sessionId,
    parentId: text(frame.parentId),
    sourceId: text(frame.sourceId),
    definition: parsed(frame.definition),
    event: { ...event, type: text(event.type) ?? "" },
    snapshot: object(frame.snapshot),
  };
};
