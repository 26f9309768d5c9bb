// A stream of server-sent events: it writes while its client reads, sends pings, and ends with its client.
import type { Clock } from "../domain/clock.ts";

export const EVENT_STREAM_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
};
const PING_MS = 15_000;
const RECONNECT_MS = 1000;
/** A line that clients ignore. */
export const COMMENT = ": \n\n";

/** One event. `id`: what a client sends as Last-Event-ID to resume after it. `data` has no line break. */
export const sseEvent = ({ id, type, data }: { id?: string; type: string; data: string }): string =>
  `${id === undefined ? "" : `id: ${id}\n`}event: ${type}\ndata: ${data}\n\n`;

/** `text`: what to send now, "" for nothing. `hasMore`: a further call has text. `isOver`: the stream ends after it. */
export type Taken = { text: string; hasMore?: boolean; isOver?: boolean };

/** What a stream sends. It keeps no queue of its own: nothing is taken while the client does not read. */
export type EventSource = {
  /** Called after a change, one call at a time. A rejection ends the stream. */
  take: () => Promise<Taken>;
  /** The text of a ping; a comment by default. */
  ping?: () => string;
  /** Called at each ping, and by `check`. The stream ends if the client may no longer read it. */
  isAllowed: () => Promise<boolean>;
  /** Called once. */
  onEnd: () => void;
};

export type StreamDeps = {
  clock: Pick<Clock, "after">;
  /** Runs a function soon, so that the changes of one commit are sent together. */
  soon: (then: () => void) => void;
};

const encoder = new TextEncoder();

export class EventStream {
  readonly body: ReadableStream<Uint8Array>;
  private readonly deps: StreamDeps;
  private readonly source: EventSource;
  private controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  /** There may be text that was not taken yet. */
  private isStale = true;
  private isBusy = false;
  private isEnded = false;
  private cancelPing: () => void = () => undefined;

  /** @param signal aborted when the client disconnects */
  constructor(deps: StreamDeps, source: EventSource, signal: AbortSignal) {
    this.deps = deps;
    this.source = source;
    this.body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.controller = controller;
        controller.enqueue(encoder.encode(`retry: ${RECONNECT_MS}\n\n`));
        this.armPing();
      },
      pull: () => this.schedule(),
      cancel: () => this.end(),
    });
    // Not at once, because the owner of the stream does not have it yet.
    if (signal.aborted) queueMicrotask(() => this.end());
    else signal.addEventListener("abort", () => this.end());
  }

  /** Sends what changed as soon as the client reads. */
  changed(): void {
    this.isStale = true;
    this.schedule();
  }

  /** Ends the stream if its client may no longer read it. */
  check(): void {
    this.source.isAllowed().then(
      (isAllowed) => isAllowed || this.end(),
      () => this.end(),
    );
  }

  end(): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.cancelPing();
    try {
      this.controller?.close();
    } catch {
      // The client has already closed the stream.
    }
    this.source.onEnd();
  }

  private isReading(): boolean {
    return !this.isEnded && (this.controller?.desiredSize ?? 0) > 0;
  }

  private send(text: string): void {
    if (text !== "" && !this.isEnded) this.controller?.enqueue(encoder.encode(text));
  }

  private schedule(): void {
    // If the client does not read, `pull` calls this again as soon as it does.
    if (!this.isStale || this.isBusy || !this.isReading()) return;
    this.isBusy = true;
    this.deps.soon(() => void this.flush());
  }

  private async flush(): Promise<void> {
    try {
      this.isStale = false;
      const { text, hasMore = false, isOver = false } = await this.source.take();
      this.isStale ||= hasMore;
      this.send(text);
      if (isOver) this.end();
    } catch {
      // The client connects again and resumes.
      this.end();
    }
    this.isBusy = false;
    this.schedule();
  }

  private armPing(): void {
    this.cancelPing = this.deps.clock.after(PING_MS, () => {
      this.check();
      if (this.isReading()) this.send(this.source.ping?.() ?? COMMENT);
      if (!this.isEnded) this.armPing();
    });
  }
}
