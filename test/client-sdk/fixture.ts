// Fixture for the tests of the client package: a client with the clock of a harness, and responses that break off.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Client, createClient } from "../../client/src/client.ts";
import type { Harness } from "../harness.ts";

export type Sent = { method: string; path: string; key: string | null; range: string | null; status: number | null };
type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export type Bed = {
  client: Client;
  /** Every request that left, in order. */
  sent: Sent[];
  /** Every pause in milliseconds of the harness's clock. */
  pauses: number[];
};

/** @param more `wire` wraps the requests of the client. `asleep` is called at the start of each pause. */
export const bedIn = (
  harness: Harness,
  more: { wire?: (through: Fetch) => Fetch; asleep?: (pauses: number) => Promise<void>; key?: string; url?: string } = {},
): Bed => {
  const sent: Sent[] = [];
  const pauses: number[] = [];
  const through: Fetch = async (url, init) => {
    const headers = new Headers(init.headers);
    const line: Sent = {
      method: init.method ?? "GET",
      path: new URL(url).pathname,
      key: headers.get("idempotency-key"),
      range: headers.get("range"),
      status: null,
    };
    sent.push(line);
    const response = await fetch(url, init);
    line.status = response.status;
    return response;
  };
  const client = createClient({
    url: more.url ?? harness.url,
    key: more.key ?? harness.tenant.key,
    fetch: more.wire ? more.wire(through) : through,
    nowMs: harness.clock.nowMs,
    random: () => 0.5,
    sleep: async (ms, signal) => {
      pauses.push(ms);
      await more.asleep?.(pauses.length);
      await new Promise<void>((resolve, reject) => {
        if (signal?.aborted) reject(signal.reason);
        signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
        harness.clock.after(ms, resolve);
      });
    },
  });
  return { client, sent, pauses };
};

/** A response whose connection breaks after the given number of bytes. */
export const cutAfter = (response: Response, bytes: number): Response => {
  let left = bytes;
  const reader = response.body?.getReader();
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      if (left <= 0) {
        await reader?.cancel();
        return controller.error(new TypeError("the connection broke"));
      }
      const { value, done } = (await reader?.read()) ?? { value: undefined, done: true };
      if (done || value === undefined) return controller.close();
      controller.enqueue(value.slice(0, left));
      left -= value.length;
    },
  });
  return new Response(body, { status: response.status, headers: response.headers });
};

export const sha256Of = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("hex");

/** The error of a rejected promise. @throws Error when it is not of the given class */
export const faultOf = async <T>(work: Promise<unknown>, kind: abstract new (...words: never[]) => T): Promise<T> => {
  const fault = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(fault instanceof kind)) throw new Error(`${kind.name} was expected, not ${fault}`);
  return fault;
};
