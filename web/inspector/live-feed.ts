// The live feed in the page: keeps what the service tells over its socket, and shows it a few times a second, or not while it is paused.
import { signal } from "@preact/signals";
import type { ActorRow, ChosenActor, LiveBatch, LiveRequest, SeenEvent, StateCounts, Totals } from "../../src/inspector/dto.ts";
import { type Connection, troubleOf } from "./connection-status.tsx";

/** What the page shows: made anew a few times a second, never changed. */
export type Shown = {
  rows: readonly ActorRow[];
  events: readonly SeenEvent[];
  counts: StateCounts;
  totals: Totals | null;
  chosen: ChosenActor | null;
  /** The last event of each actor that is on stage. */
  lastOf: ReadonlyMap<string, SeenEvent>;
  /** The service's time, by which ages are told. */
  nowMs: number;
  /** Events that this page was too slow for. */
  leftOut: number;
};

/** Events in the log, and rows of what has ended, which stay for a moment so that nobody misses the end. */
export const MOST_EVENTS = 300;
const MOST_ENDED = 50;
const ENDED_FOR_MS = 10_000;
const SHOW_EVERY_MS = 250;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 10_000;

const EMPTY: Shown = {
  ...{ rows: [], events: [], counts: {}, totals: null, chosen: null, lastOf: new Map(), nowMs: 0, leftOut: 0 },
};
/** Newest first; machines of the service itself, whose age nobody knows, after all others. */
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
  /** When what has ended goes, by the page's own time. */
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
      if (endedAt.size <= MOST_ENDED && performance.now() - atMs < ENDED_FOR_MS) break;
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
    if (batch.events) events = [...events, ...batch.events].slice(-MOST_EVENTS);
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
  const say = (ask: LiveRequest) => {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(ask));
  };
  const connect = () => {
    if (retry !== null) clearTimeout(retry);
    retry = null;
    let wasLive = false;
    // One at a time: what is still being opened is given up, and what it says is heard no more.
    socket?.close();
    const mine = new WebSocket(socketUrl);
    socket = mine;
    mine.onopen = () => {
      if (socket !== mine) return;
      if (choice !== null) say({ choose: choice });
    };
    // Who is let in is told something at once; that a door opened says nothing: it may be closed with the reason.
    mine.onmessage = ({ data: told }) => {
      if (socket !== mine) return;
      wasLive = true;
      retryMs = FIRST_RETRY_MS;
      connection.value = "live";
      take(JSON.parse(String(told)) as LiveBatch);
    };
    mine.onclose = ({ code }) => {
      if (isClosed || socket !== mine) return;
      if (wasLive) connection.value = "lost";
      retry = setTimeout(connect, retryMs);
      retryMs = Math.min(LONGEST_RETRY_MS, retryMs * 2);
      void troubleOf(socketUrl, code, wasLive).then((trouble) => {
        // By now the next try may have come through.
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
    /** Does not wait for its turn. */
    tryNow: () => {
      retryMs = FIRST_RETRY_MS;
      connect();
    },
    choose: (id: string | null) => {
      choice = id;
      rest = { ...rest, chosen: null };
      say({ choose: id });
      arm();
    },
    /** While it is paused nothing on the page changes by itself; what comes in meanwhile is shown at once afterwards. */
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

/** One that has ended is not there any more: its last memory stays on the page, and what was told once stays known. */
const latest = (now: ChosenActor, before: ChosenActor | null): ChosenActor => {
  if (before?.id !== now.id) return now;
  return now.row === null ? { ...before, ...(now.history ? { history: now.history } : {}) } : { ...before, ...now };
};

/** All that is known of the chosen one, oldest first: what was before it was chosen, and what was seen since. */
export const eventsOf = ({ events, chosen }: Pick<Shown, "events" | "chosen">, id: string): SeenEvent[] => {
  const history = chosen?.id === id ? (chosen.history ?? []) : [];
  const last = history.at(-1)?.version ?? 0;
  return [...history, ...events.filter((event) => event.id === id && (event.version ?? last + 1) > last)];
};
