// Receives statecharts of external programs, bounded in size, number and rate.
//
// Their frames are untrusted.
import type { Json, JsonObject } from "../domain/types.ts";
import type { ActorRegistry, ActorView, Known } from "./actor-registry.ts";
import { pathOf } from "./definitions.ts";
import { type ExternalActorFrame, readFrame } from "./stately-protocol.ts";

/**
 * Maximum length of a frame, characters. The largest frame of the stock client for a statechart of 200 states is a third of it.
 */
const FRAME_CHARS = 131_072;
/** Maximum number of statecharts per program, and in total. */
const MAX_OF_ONE = 200;
const MOST = 1_000;
const FRAMES_PER_S = 1_000;
/** Characters read per second from all programs. Parsing runs on the service's event loop. */
const READ_CHARS_PER_S = 33_554_432;
/** A program that sends more per second is disconnected. */
const FLOOD_CHARS_PER_S = 16_777_216;
const FLOOD_FRAMES_PER_S = 10_000;
const MAX_PROGRAMS = 32;
/** Maximum length of a stored definition and of a stored snapshot; longer ones are dropped. */
const DEFINITION_CHARS = 65_536;
const SNAPSHOT_CHARS = 8_192;
const EVENT_CHARS = 4_096;

export type Guest = {
  /**
   * Handles one frame. `none`: not a frame, so the client is not a program that sends statecharts. `unread`: dropped by a limit.
   * `full`: the maximum number of programs is connected. `flood`: the rate is too high and nothing more is read.
   */
  received(json: string): "taken" | "none" | "unread" | "full" | "flood";
  /** Removes the statecharts of the program after it has disconnected. */
  gone(): void;
};

const STATUSES: ReadonlySet<Json | undefined> = new Set(["active", "done", "error", "stopped"]);
const tooLarge = (what: string): JsonObject => ({ [what]: "omitted: too large" });
const bounded = (value: JsonObject, chars: number, what: string): JsonObject =>
  JSON.stringify(value).length <= chars ? value : tooLarge(what);

const viewOf = (snapshot: JsonObject | null): ActorView => {
  const { value = null, status, context } = snapshot ?? {};
  const memory = typeof context === "object" && context !== null && !Array.isArray(context) ? context : {};
  const kept = {
    context: bounded(memory, SNAPSHOT_CHARS, "context"),
    value: JSON.stringify(value).length <= SNAPSHOT_CHARS ? value : "",
  };
  return {
    status: (STATUSES.has(status) ? status : "active") as ActorView["status"],
    value: () => kept.value,
    context: () => kept.context,
  };
};
/** State of an actor; an actor without states (a promise, a callback) shows its status. */
const stateOf = ({ value, status }: ActorView): string => (pathOf(value()) || status).slice(0, 500);

/** Sums the amounts within the current second. */
const openSecond = () => {
  let second = 0;
  let sum = 0;
  return (more: number): number => {
    const now = Math.floor(performance.now() / 1000);
    if (now !== second) [second, sum] = [now, 0];
    sum += more;
    return sum;
  };
};

export const createExternalActors = (registry: ActorRegistry, nowMs: () => number) => {
  let programs = 0;
  let here = 0;
  const readOfAll = openSecond();

  const open = (): Guest => {
    let program = "";
    /** Reserves a place with the first frame, because a client that sends no frame is a viewer and needs none. */
    const hasSlot = (): boolean => {
      if (program !== "") return true;
      if (here >= MAX_PROGRAMS) return false;
      programs += 1;
      here += 1;
      program = `guest${programs}`;
      return true;
    };
    const mine = new Map<string, Known>();
    const framesOfOne = openSecond();
    const charsOfOne = openSecond();
    let isDisconnected = false;
    let leftOut = 0;
    const idOf = (sessionId: string) => `${program}/${sessionId}`;

    const enter = ({ sessionId, name, parentId, definition, snapshot }: ExternalActorFrame): Known | undefined => {
      if (mine.size >= MAX_OF_ONE || registry.sizeOf("guest") >= MOST) return undefined;
      const view = viewOf(snapshot);
      const json = JSON.stringify(definition === null ? { id: name } : bounded(definition, DEFINITION_CHARS, "id"));
      const one: Known = {
        row: {
          ...{ id: idOf(sessionId), kind: "guest", name, state: stateOf(view), actor: "live" },
          ...{ bornAtMs: nowMs(), sinceMs: nowMs() },
          ...(parentId === null ? {} : { parent: idOf(parentId) }),
        },
        ...{ seq: 0, version: 0, view, definition: () => json },
      };
      if (!registry.enter(one)) return undefined;
      mine.set(sessionId, one);
      return one;
    };
    /** Removes ended statecharts of a program that creates more than the maximum. */
    const evictOldest = () => {
      for (const [sessionId, one] of mine) {
        if (mine.size < MAX_OF_ONE) return;
        if (one.view.status === "active") continue;
        mine.delete(sessionId);
        registry.leave(one);
      }
    };
    const follow = (one: Known, { type, event, snapshot, sourceId }: ExternalActorFrame) => {
      // An event is recorded together with its snapshot.
      if (type !== "@xstate.snapshot") return;
      const from = one.row.state;
      one.view = viewOf(snapshot);
      const left = leftOut === 0 ? {} : { framesLeftOut: leftOut };
      leftOut = 0;
      registry.step(one, {
        ...{ type: event.type, from, to: stateOf(one.view), atMs: nowMs() },
        event: { ...bounded(event, EVENT_CHARS, "event"), ...left },
        ...(sourceId === null ? {} : { source: idOf(sourceId) }),
      });
    };

    const take = (frame: ExternalActorFrame): void => {
      const known = mine.get(frame.sessionId);
      if (known && frame.type !== "@xstate.actor") follow(known, frame);
      else if (!known && frame.type !== "@xstate.event") {
        evictOldest();
        if (!enter(frame)) leftOut += 1;
      }
    };

    return {
      received: (json) => {
        const [frames, chars] = [framesOfOne(1), charsOfOne(json.length)];
        if (frames > FLOOD_FRAMES_PER_S || chars > FLOOD_CHARS_PER_S) return "flood";
        if (frames > FRAMES_PER_S || json.length > FRAME_CHARS || readOfAll(json.length) > READ_CHARS_PER_S) {
          leftOut += 1;
          return "unread";
        }
        const frame = readFrame(json);
        if (frame === null) return "none";
        if (!hasSlot()) return "full";
        try {
          take(frame);
        } catch {
          // The frame is nested too deeply for the runtime and is dropped.
          leftOut += 1;
        }
        return "taken";
      },
      gone: () => {
        if (!isDisconnected && program !== "") here -= 1;
        isDisconnected = true;
        for (const one of mine.values()) registry.leave(one);
        mine.clear();
      },
    };
  };
  return { open };
};
