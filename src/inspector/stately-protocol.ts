// Writes frames of the open protocol of `@statelyai/inspect`.
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

/** In a cluster, the node. Receivers ignore unknown members. */
const nodeIn = (node: string | undefined) => (node === undefined ? {} : { node });

/** Frame that announces an actor with its definition and snapshot. */
export const actorFrame = (of: Known, nowMs: number): string =>
  JSON.stringify({
    type: "@xstate.actor",
    name: of.row.name,
    sessionId: of.row.id,
    rootId: of.row.id,
    ...nodeIn(of.row.node),
    definition: of.definition(),
    snapshot: snapshotOf(of.view),
    ...common(of.row.bornAtMs ?? nowMs),
  });

/** An event in the protocol's format, where its members are those of the event itself. */
const statelyEvent = ({ event, type, request }: Happened, audience: Audience): JsonObject => ({
  type,
  ...shownEvent(event, audience, request),
});

/** Two frames, one per line: the event and the resulting snapshot. */
export const stepFrames = (of: Known, happened: Happened, view: ActorView, audience: Audience): string => {
  const event = statelyEvent(happened, audience);
  const about = { event, sessionId: of.row.id, rootId: of.row.id, ...nodeIn(happened.node), ...common(happened.atMs) };
  const snapshot = snapshotOf(view);
  return `${JSON.stringify({ type: "@xstate.event", ...about })}\n${JSON.stringify({ type: "@xstate.snapshot", snapshot, ...about })}`;
};

/** Frame with the number of dropped events. Receivers ignore unknown types. */
export const leftOutFrame = (count: number, nowMs: number): string =>
  JSON.stringify({ type: "@genrouter.leftOut", count, ...common(nowMs) });
