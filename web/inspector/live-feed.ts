// Live feed of the inspector: receives batches over a WebSocket and updates the page.
//
// The page is updated every SHOW_EVERY_MS, or not at all while it is paused.
import { signal } from "@preact/signals";
import type { ActorRow, ChosenActor, LiveBatch, LiveRequest, SeenEvent, StateCounts, Totals } from "../../src/inspector/dto.ts";
import { type Connection, troubleOf } from "./connection-status.tsx";

/** State of the page: replaced at each update, never mutated. */
export type Shown = {
  rows: readonly ActorRow[];
  events: readonly SeenEvent[];
  counts: StateCounts;
  totals: Totals | null;
  chosen: ChosenActor | null;
  /** The last event of each registered actor. */
  lastOf: ReadonlyMap<string, SeenEvent>;
  /** Time of the service, by which ages are computed. */
  nowMs: number;
  /** Events that were dropped because this page was too slow. */
  leftOut: number;
};

/** Maximum number of events in the log, and of rows of ended actors, which remain visible for a moment. */
export const MAX_EVENTS = 300;
const MAX_ENDED = 50;
const ENDED_FOR_MS = 10_000;
const SHOW_EVERY_MS = 250;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 10_000;

const EMPTY: Shown = {
  ...{ rows: [], events: [], counts: {}, totals: null, chosen: null, lastOf: new Map(), nowMs: 0, leftOut: 0 },
};
/** Newest first; the service's own statecharts, whose age is unknown, are last. */
const byAge = (a: ActorRow, b: ActorRow): number => (b.bornAtMs ?? 0) - (a.bornAtMs ?? 0) || (a.id < b.id ? -1 : 1);

export type LiveFeed = ReturnType<typeof createLiveFeed>;

/** Connects at once, and again whenever the connection is lost. */
export const createLiveFeed = (socketUrl: string) => {
  const shown = signal<Shown>(EMPTY);
  const connection = signal<Connection>("connecting");
  const isPaused = signal(false);
  const hello = signal<LiveBatch["hello"] | null>(null);
  const rows = new Map<string, ActorRow>();
  const lastOf = new Map<string, SeenEvent>();
  /** Time at which each ended actor was received, by the page's clock. */
  const endedAt = new Map<string, number>();
  let events: SeenEvent[] = [];
  let rest: Pick<Shown, "counts" | "totals" | "chosen" | "nowMs" | "leftOut"> = EMPTY;
  let choice: string | null = null;
  let socket: WebSocket | null = null;
  let retryMs = FIRST_RETRY_MS;
  let isClosed = false;
  let retry: ReturnType<typeof setTimeout> | null = null;
  let timer: ReturnType<typeof setTimeout> | null = null;

  const forget = (id: string) => {
    rows.delete(id);
    lastOf.delete(id);
    endedAt.delete(id);
  };
  const sweep = () => {
    for (const [id, atMs] of endedAt) {
      if (endedAt.size <= MAX_ENDED && performance.now() - atMs < ENDED_FOR_MS) break;
      forget(id);
    }
  };
  const show = () => {
    timer = null;
    if (isPaused.value) return;
    sweep();
    shown.value = { ...rest, rows: [...rows.values()].sort(byAge), events, lastOf: new Map(lastOf) };
    if (endedAt.size > 0) arm();
  };
  const arm = () => {
    timer ??= setTimeout(show, SHOW_EVERY_MS);
  };
  const take = (batch: LiveBatch) => {
    if (batch.reset) for (const id of [...rows.keys()]) if (!endedAt.has(id)) forget(id);
    for (const row of batch.rows ?? []) {
      rows.set(row.id, row);
      if (row.actor === "ended") endedAt.set(row.id, performance.now());
    }
    for (const event of batch.events ?? []) lastOf.set(event.id, event);
    if (batch.events) events = [...events, ...batch.events].slice(-MAX_EVENTS);
    if (batch.hello) hello.value = batch.hello;
    rest = {
      counts: batch.counts ?? rest.counts,
      totals: batch.totals ?? rest.totals,
      chosen: batch.chosen?.id === choice && batch.chosen ? latest(batch.chosen, rest.chosen) : rest.chosen,
      nowMs: batch.nowMs,
      leftOut: rest.leftOut + (batch.leftOut ?? 0),
    };
    arm();
  };
  const report = (ask: LiveRequest) => {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(ask));
  };
  const connect = () => {
    if (retry !== null) clearTimeout(retry);
    retry = null;
    let wasLive = false;
    // Only one connection at a time: the previous one is closed and its messages are ignored.
    socket?.close();
    const mine = new WebSocket(socketUrl);
    socket = mine;
    mine.onopen = () => {
      if (socket !== mine) return;
      if (choice !== null) report({ choose: choice });
    };
    // An admitted page receives a message at once. The open event alone proves nothing, because the socket may be closed with a
    // reason.
    mine.onmessage = ({ data: reported }) => {
      if (socket !== mine) return;
      wasLive = true;
      retryMs = FIRST_RETRY_MS;
      connection.value = "live";
      take(JSON.parse(String(reported)) as LiveBatch);
    };
    mine.onclose = ({ code }) => {
      if (isClosed || socket !== mine) return;
      if (wasLive) connection.value = "lost";
      retry = setTimeout(connect, retryMs);
      retryMs = Math.min(MAX_RETRY_MS, retryMs * 2);
      void troubleOf(socketUrl, code, wasLive).then((trouble) => {
        // A later attempt may have succeeded in the meantime.
        if (!isClosed && (socket === mine || connection.value !== "live")) connection.value = trouble;
      });
    };
  };
  connect();

  return {
    shown,
    connection,
    isPaused,
    hello,
    /** Reconnects without waiting for the delay. */
    tryNow: () => {
      retryMs = FIRST_RETRY_MS;
      connect();
    },
    choose: (id: string | null) => {
      choice = id;
      rest = { ...rest, chosen: null };
      report({ choose: id });
      arm();
    },
    /** While paused the page does not change; changes that arrive meanwhile are shown when it is resumed. */
    pause: (on: boolean) => {
      isPaused.value = on;
      if (!on) arm();
    },
    clear: () => {
      events = [];
      rest = { ...rest, leftOut: 0 };
      shown.value = { ...shown.value, events, leftOut: 0 };
    },
    close: () => {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
      if (retry !== null) clearTimeout(retry);
      socket?.close();
    },
  };
};

/** An ended actor has no row. Its last context remains on the page, and members that were sent once are kept. */
const latest = (now: ChosenActor, before: ChosenActor | null): ChosenActor => {
  if (before?.id !== now.id) return now;
  return now.row === null ? { ...before, ...(now.history ? { history: now.history } : {}) } : { ...before, ...now };
};

/** All events of the selected actor, oldest first: its history before the selection, and the events since. */
export const eventsOf = ({ events, chosen }: Pick<Shown, "events" | "chosen">, id: string): SeenEvent[] => {
  const history = chosen?.id === id ? (chosen.history ?? []) : [];
  const last = history.at(-1)?.version ?? 0;
  return [...history, ...events.filter((event) => event.id === id && (event.version ?? last + 1) > last)];
};
