// A webhook receiver on a real socket: it stores requests, and answers as a test decides.
import { setSystemTime } from "bun:test";
import { Webhook } from "standardwebhooks";
import type { JsonObject } from "../../src/domain/types.ts";

export type Received = {
  path: string;
  id: string;
  /** Seconds since 1970. */
  timestamp: number;
  signature: string;
  text: string;
  body: { type: string; timestamp: string; sequence: number; data: JsonObject };
};
export type AnswerWebhook = (received: Received, request: Request) => Response | Promise<Response>;

export type Receiver = {
  url: string;
  received: Received[];
  /** Event types in order of arrival. */
  types(): string[];
  /** Answers from now on; 200 at first. */
  answer(next: AnswerWebhook): void;
  stop(): Promise<void>;
};

const ok = () => new Response("ok");

/** @param port of an earlier receiver, which returns at its address; 0 for a free one */
export const openReceiver = (port = 0): Receiver => {
  const received: Received[] = [];
  let answer: AnswerWebhook = ok;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port,
    idleTimeout: 0,
    fetch: async (request) => {
      const text = await request.text();
      const header = (name: string) => request.headers.get(name) ?? "";
      const one: Received = {
        path: new URL(request.url).pathname,
        id: header("webhook-id"),
        timestamp: Number(header("webhook-timestamp")),
        signature: header("webhook-signature"),
        text,
        body: JSON.parse(text) as Received["body"],
      };
      received.push(one);
      return await answer(one, request);
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    received,
    types: () => received.map(({ body }) => body.type),
    answer: (next) => {
      answer = next;
    },
    stop: () => server.stop(true),
  };
};

/** Whether the official library accepts a request, at the time that its header names. */
export const isVerified = ({ id, timestamp, signature, text }: Received, secret: string): boolean => {
  setSystemTime(new Date(timestamp * 1000));
  try {
    new Webhook(secret).verify(text, {
      "webhook-id": id,
      "webhook-timestamp": String(timestamp),
      "webhook-signature": signature,
    });
    return true;
  } catch {
    return false;
  } finally {
    setSystemTime();
  }
};
