// Sends changes from the registry's ring to each viewer at the rate at which it reads.
import type { Socket } from "../http/websocket-upgrade.ts";
import type { ActorRegistry, Change, Happened, Known } from "./actor-registry.ts";
import type { ActorRow, ChosenActor, LiveBatch, SeenEvent, Totals } from "./dto.ts";
import { type Audience, shownEvent } from "./field-allowlist.ts";
import { actorFrame, leftOutFrame, stepFrames } from "./stately-protocol.ts";

export type Viewer = {
  /** Sends pending changes unless the peer has not received the previous ones. @returns whether more are pending */
  flush(): boolean;
  /** Called periodically with the totals, which no event announces. */
  tick?(totals: Totals): void;
  /** Selects one actor to show completely; null: none. */
  choose?(id: string | null): void;
};

/** If a viewer has more unread bytes, nothing is produced for it. */
const MAX_WAITING = 262_144;
/** Maximum number of rows and of changes per message. */
const AT_ONCE = 500;

type Place = { next: number; leftOut: number };
/** The changes since a position, up to `most`; changes that the ring has dropped are counted. */
const since = (registry: ActorRegistry, place: Place, most: number): Change[] => {
  const { first, next } = registry.span();
  if (place.next < first) {
    place.leftOut += first - place.next;
    place.next = first;
  }
  const changes: Change[] = [];
  for (; place.next < next && changes.length < most; place.next += 1) {
    const change = registry.change(place.next);
    if (change) changes.push(change);
  }
  return changes;
};
const once = (change: Change, key: string, make: () => string): string => {
  change.shown ??= new Map();
  const reported = change.shown.get(key);
  if (reported !== undefined) return reported;
  const made = make();
  change.shown.set(key, made);
  return made;
};

const seenEvent = (no: number, { id, kind }: ActorRow, happened: Happened | null, audience: Audience): SeenEvent | null => {
  if (happened === null) return null;
  const { type, from, to, atMs, event, request, version, node } = happened;
  const more = shownEvent(event, audience, request);
  const step = { ...(version === undefined ? {} : { version }), ...(node === undefined ? {} : { node }) };
  return { ...{ no, id, kind, type, from, to, atMs }, ...step, ...(Object.keys(more).length > 0 ? { more } : {}) };
};

/** Viewer of the live page: rows and events in batches of JSON. */
export const createPageViewer = (
  of: {
    socket: Socket;
    registry: ActorRegistry;
    nowMs: () => number;
    audience: Audience;
    historyOf: (one: Known) => Promise<Happened[]>;
    changed: () => void;
    failed: (fault: unknown) => void;
  } & Pick<Required<LiveBatch>, "hello">,
): Viewer => {
  const { socket, registry, nowMs, audience } = of;
  const place: Place = { next: registry.span().next, leftOut: 0 };
  let hello: LiveBatch["hello"] | undefined = of.hello;
  let rows: Iterator<Known> | null = registry.all();
  let isReset = true;
  let totals: Totals | undefined;
  let chosen: { id: string; isNew: boolean; history?: SeenEvent[] } | null = null;

  const chosenNow = (id: string): ChosenActor => {
    const one = registry.find(id);
    if (!one) return { id, row: null, context: null };
    return { id, row: one.row, context: one.view.context() };
  };
  /** Adds the next rows of a complete list; `touched` rows are added separately. */
  const more = (into: Map<string, ActorRow>): void => {
    for (let count = 0; rows !== null && count < AT_ONCE; count += 1) {
      const { value, done } = rows.next();
      if (done) rows = null;
      else into.set(value.row.id, value.row);
    }
  };

  return {
    flush: () => {
      if (socket.waitingBytes() > MAX_WAITING) return false;
      const changes = since(registry, place, AT_ONCE);
      const batch: LiveBatch = { nowMs: nowMs() };
      if (place.leftOut > 0) {
        // Rows may have changed without an event to this viewer, so all rows are sent again.
        batch.leftOut = place.leftOut;
        place.leftOut = 0;
        [rows, isReset] = [registry.all(), true];
      }
      if (isReset) batch.reset = true;
      isReset = false;
      const touched = new Map<string, ActorRow>();
      more(touched);
      for (const { known } of changes) touched.set(known.row.id, known.row);
      if (touched.size > 0) [batch.rows, batch.counts] = [[...touched.values()], registry.counts()];
      if (hello) batch.hello = hello;
      if (totals) batch.totals = totals;
      if (chosen && (chosen.isNew || touched.has(chosen.id))) {
        const { id, history } = chosen;
        batch.chosen = { ...chosenNow(id), ...(history === undefined ? {} : { history }) };
        chosen = { id, isNew: false };
      }
      [hello, totals] = [undefined, undefined];
      const events = changes.flatMap((change) => {
        const json = once(change, audience, () =>
          JSON.stringify(seenEvent(change.no, change.known.row, change.happened, audience)),
        );
        return json === "null" ? [] : [json];
      });
      if (events.length === 0 && Object.keys(batch).length === 1) return rows !== null;
      // The events are already serialized and are inserted unchanged.
      const json = JSON.stringify(batch);
      socket.send(events.length === 0 ? json : `${json.slice(0, -1)},"events":[${events.join(",")}]}`);
      return rows !== null || place.next < registry.span().next;
    },
    tick: (now) => {
      totals = now;
    },
    choose: (id) => {
      chosen = id === null ? null : { id, isNew: true };
      const one = id === null ? undefined : registry.find(id);
      if (one)
        void of.historyOf(one).then((all) => {
          // Another actor may have been selected in the meantime.
          if (chosen?.id !== id) return;
          // Negative numbers, before all others.
          const seen = all.map((happened, at) => seenEvent(at - all.length, one.row, happened, audience));
          chosen = { id: one.row.id, isNew: true, history: seen.filter((event) => event !== null) };
          of.changed();
        }, of.failed);
    },
  };
};

/** Receiver of the open protocol: one frame for each statechart in memory, then two for each event. */
export const createFrameViewer = (of: {
  socket: Socket;
  registry: ActorRegistry;
  nowMs: () => number;
  audience: Audience;
}): Viewer => {
  const { socket, registry, nowMs, audience } = of;
  const place: Place = { next: registry.span().next, leftOut: 0 };
  let rows: Iterator<Known> | null = registry.all();
  /** Statecharts that have been announced to this viewer. */
  const known = new Set<string>();
  const introduce = (one: Known): void => {
    if (known.has(one.row.id) || one.row.actor === "none") return;
    known.add(one.row.id);
    socket.send(actorFrame(one, nowMs()));
  };
  const isFull = () => socket.waitingBytes() > MAX_WAITING;
  const report = (change: Change): void => {
    const { known: one, happened, view } = change;
    introduce(one);
    if (happened !== null) {
      const key = `frames ${audience}`;
      for (const frame of once(change, key, () => stepFrames(one, happened, view, audience)).split("\n")) socket.send(frame);
    } else if (one.row.actor === "ended") known.delete(one.row.id);
  };
  const flush = (): boolean => {
    for (let count = 0; rows !== null && count < AT_ONCE && !isFull(); count += 1) {
      const { value, done } = rows.next();
      if (done) rows = null;
      else introduce(value);
    }
    for (let count = 0; count < AT_ONCE && place.next < registry.span().next; count += 1) {
      if (isFull()) return false;
      const [change] = since(registry, place, 1);
      if (place.leftOut > 0) {
        socket.send(leftOutFrame(place.leftOut, nowMs()));
        place.leftOut = 0;
        known.clear();
        rows = registry.all();
      }
      if (change) report(change);
    }
    return rows !== null || place.next < registry.span().next;
  };
  return {
    flush: () => {
      if (isFull()) return false;
      let isMore = false;
      socket.together(() => {
        isMore = flush();
      });
      return isMore;
    },
  };
};
