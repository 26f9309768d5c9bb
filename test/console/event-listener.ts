// Subscribes to the console's event stream over HTTP, as a page does, and keeps all events.
import { expect } from "bun:test";

export type Heard = { event: string; reported: Record<string, unknown> };
export type Ear = { heard: Heard[]; over: Promise<unknown>; leave(): void };

/** @param cookie of the user @param query of the account, for example `?account=*` */
export const listenTo = async (url: string, cookie: string, query = ""): Promise<Ear> => {
  const ending = new AbortController();
  const response = await fetch(`${url}/console/api/events${query}`, { headers: { cookie }, signal: ending.signal });
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const heard: Heard[] = [];
  const over = (async () => {
    let text = "";
    const decoder = new TextDecoder();
    for await (const piece of response.body ?? []) {
      text += decoder.decode(piece, { stream: true });
      const whole = text.split("\n\n");
      text = whole.pop() ?? "";
      for (const part of whole) {
        const [, event, reported] = /^event: (.*)\ndata: (.*)$/.exec(part) ?? [];
        if (event && reported) heard.push({ event, reported: JSON.parse(reported) as Heard["reported"] });
      }
    }
  })().catch(() => undefined);
  return { heard, over, leave: () => ending.abort() };
};
