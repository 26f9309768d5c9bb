// Events of the client: server-sent streams that connect again after a lost connection and resume after the last event.
import type { components } from "./api.ts";
import { type Generation, GenrouterError } from "./errors.ts";
import { type CallOptions, type ClientEnvironment, pauseMs, sendRequest } from "./request.ts";

type Schemas = components["schemas"];

/** A change of a generation, with the generation as a poll showed it afterwards. `id` is the same in every stream. */
export type GenerationEvent = {
  id: string;
  /** `generation.updated`: another attempt began, or the message changed. */
  type: "generation.queued" | "generation.running" | "generation.updated" | "generation.succeeded" | "generation.failed";
  generation: Generation;
};
/** What webhooks send: type, timestamp, sequence and data. */
export type WebhookEvent = Schemas["WebhookEvent"];
/** `id`: the `webhook-id`. `body`: the exact body of the webhook. `position`: resumes after this event, as `after` of `listen`. */
export type AccountEvent = { id: string; position: string; body: string; event: WebhookEvent };

export type EventsOptions = CallOptions & {
  /** The id of the last event that is known; the events that follow it are returned. */
  after?: string | undefined;
  /** Called after each connection. */
  onOpen?: (() => void) | undefined;
};
export type ListenOptions = EventsOptions & {
  /** Default: all types. */
  types?: readonly Exclude<WebhookEvent["type"], "webhook.test">[] | undefined;
};

export type Events = {
  /** The changes of a generation, from its submission to its end. */
  events(id: string, options?: EventsOptions): AsyncGenerator<GenerationEvent, void, undefined>;
  /** The events of the account as they become true, from now on. It ends with `signal` or with the loop. */
  listen(options?: ListenOptions): AsyncGenerator<AccountEvent, void, undefined>;
};

/** The service sends a ping every 15 seconds. A connection without any byte for this time is lost. */
const SILENT_MS = 45_000;
/** A connection is opened again at least this often. */
const LONGEST_MS = 24 * 3_600_000;
const TRIES = 10;
/** Events of which a repeat is recognized. */
const REMEMBERED = 1_000;

type Block = { id: string | undefined; type: string; data: string | undefined };
type Reader = { read: () => Promise<{ value?: Uint8Array | undefined }>; cancel: () => Promise<void> };

const parseBlock = (text: string): Block => {
  const block: Block = { id: undefined, type: "message", data: undefined };
  for (const line of text.split("\n")) {
    const at = line.indexOf(":");
    const [name, value] = at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 1).replace(/^ /, "")];
    if (name === "id") block.id = value;
    else if (name === "event") block.type = value;
    else if (name === "data") block.data = block.data === undefined ? value : `${block.data}\n${value}`;
  }
  return block;
};

/** The next bytes; undefined at the end, after a lost connection, and after a long silence. */
const readWithin = async (
  { sleep }: ClientEnvironment,
  reader: Reader,
  signal: AbortSignal | undefined,
): Promise<Uint8Array | undefined> => {
  const read = new AbortController();
  const silence = sleep(SILENT_MS, read.signal).catch(() => undefined);
  try {
    return (await Promise.race([reader.read(), silence]))?.value;
  } catch {
    if (signal?.aborted) throw signal.reason;
    return undefined;
  } finally {
    read.abort();
  }
};

/** The blocks of one response, until the connection ends. */
const blocksOf = async function* (
  world: ClientEnvironment,
  body: ReadableStream<Uint8Array> | null,
  signal: AbortSignal | undefined,
): AsyncGenerator<Block, void, undefined> {
  if (body === null) return;
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const bytes = await readWithin(world, reader, signal);
      if (bytes === undefined) return;
      const parts = (rest + decoder.decode(bytes, { stream: true })).replaceAll("\r\n", "\n").split("\n\n");
      rest = parts.pop() ?? "";
      for (const part of parts) yield parseBlock(part);
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
};

/** All blocks of a stream over as many connections as it takes; it ends when the service has nothing further. */
const connected = async function* (
  world: ClientEnvironment,
  { url, headers }: { url: string; headers: Record<string, string> },
  { after, signal, tries = TRIES, onRetry, onOpen }: EventsOptions,
): AsyncGenerator<Block, void, undefined> {
  let lastId = after;
  for (let lost = 0; ; ) {
    const position: Record<string, string> = lastId === undefined ? {} : { "last-event-id": lastId };
    const init = { headers: { ...headers, accept: "text/event-stream", ...position } };
    const request = { url, init, signal, tries, onRetry, longestMs: LONGEST_MS };
    const response = await sendRequest(world, request, (opened) => Promise.resolve(opened));
    if (response.status === 204) return;
    onOpen?.();
    for await (const block of blocksOf(world, response.body, signal)) {
      if (block.id !== undefined) lastId = block.id;
      if (block.id !== undefined || block.data !== undefined) lost = 0;
      yield block;
    }
    if (signal?.aborted) throw signal.reason;
    lost += 1;
    const fault = new GenrouterError("unreachable", `${new URL(url).origin} has closed the connection`);
    if (lost >= tries) throw fault;
    const ms = pauseMs(lost, null, world.random);
    onRetry?.(fault, ms);
    await world.sleep(ms, signal);
  }
};

/** Whether an id is new; remembers the last ones. */
const createIsNew = () => {
  const seen = new Set<string>();
  return (id: string): boolean => {
    if (seen.has(id)) return false;
    seen.add(id);
    const [oldest] = seen;
    if (seen.size > REMEMBERED && oldest !== undefined) seen.delete(oldest);
    return true;
  };
};

/** @param bearer the headers that authorize a call. @throws GenrouterError `no_key` without a key */
export const createEvents = (world: ClientEnvironment, base: string, bearer: () => Record<string, string>): Events => ({
  events: async function* (id, options = {}) {
    const url = `${base}/v1/generations/${encodeURIComponent(id)}/events`;
    for await (const { id: eventId, type, data } of connected(world, { url, headers: bearer() }, options)) {
      if (eventId === undefined || data === undefined) continue;
      yield { id: eventId, type: type as GenerationEvent["type"], generation: JSON.parse(data) as Generation };
      if (type === "generation.succeeded" || type === "generation.failed") return;
    }
  },
  listen: async function* (options = {}) {
    const query = options.types === undefined ? "" : `?${new URLSearchParams({ types: options.types.join(",") })}`;
    const isNew = createIsNew();
    for await (const { id: position, data } of connected(
      world,
      { url: `${base}/v1/events${query}`, headers: bearer() },
      options,
    )) {
      if (position === undefined || data === undefined) continue;
      const [id = ""] = position.split(".");
      if (isNew(id)) yield { id, position, body: data, event: JSON.parse(data) as WebhookEvent };
    }
  },
});
