// Reads a stream of server-sent events over HTTP, and keeps its events.
import { expect } from "bun:test";
import type { JsonObject } from "../../src/domain/types.ts";
import { eventually } from "../eventually.ts";

export type Sent = { id: string; type: string; data: JsonObject };
export type EventReader = {
  sent: Sent[];
  /** The last id that the stream sent, with an event or alone. */
  lastId: () => string;
  /** Everything that was received. */
  text: () => string;
  /** Waits until the stream has sent this number of events. */
  has: (count: number) => Promise<Sent[]>;
  /** Resolves when the stream has ended. */
  over: Promise<void>;
  leave: () => Promise<void>;
};

/** @param url of the stream; expects 200 */
export const readEvents = async (
  url: string,
  { key, after }: { key: string; after?: string | undefined },
): Promise<EventReader> => {
  const ending = new AbortController();
  const headers = {
    ...{ authorization: `Bearer ${key}`, accept: "text/event-stream" },
    ...(after === undefined ? {} : { "last-event-id": after }),
  };
  const response = await fetch(url, { headers, signal: ending.signal });
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  const sent: Sent[] = [];
  let [text, lastId] = ["", ""];
  const parse = (block: string): void => {
    const fields = new Map(
      block.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]),
    );
    lastId = fields.get("id") ?? lastId;
    const data = fields.get("data");
    if (data !== undefined) sent.push({ id: lastId, type: fields.get("event") ?? "", data: JSON.parse(data) as JsonObject });
  };
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const piece of response.body ?? []) {
      const part = decoder.decode(piece, { stream: true });
      text += part;
      const blocks = (rest + part).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) parse(block);
    }
  };
  const over = read().catch(() => undefined);
  return {
    sent,
    over,
    lastId: () => lastId,
    text: () => text,
    has: (count) => eventually(() => sent.length >= count && sent, `${count} events of the stream`),
    leave: () => {
      ending.abort();
      return over;
    },
  };
};
