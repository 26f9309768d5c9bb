// The simulator's HTTP server, which can also hang, truncate or reset a response.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock } from "../domain/clock.ts";
import type { JsonObject } from "../domain/types.ts";
import { openSocket } from "./socket.ts";

export type SimulatorRequest = {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
  /** Scheme and authority of the request; URLs in responses start with it. */
  origin: string;
  /** The WebSocket of the request, for state of a dialect; absent for an HTTP request. */
  line?: object;
};
export type Reply = {
  kind: "reply";
  status: number;
  headers: Record<string, string>;
  body: Uint8Array | string;
  /** Delay before the response, ms. */
  delayMs?: number;
  /** Sends this many bytes of the body and breaks the connection. */
  cutAt?: number;
  /** Omits the content-length header. */
  isUntold?: true;
  /** Called when the operating system has accepted the whole response. */
  onSent?: () => void;
};
/** `drop` resets the connection without a byte; `hang` keeps it open without a response. */
export type Answer = Reply | { kind: "drop" } | { kind: "hang" };

const MAX_BODY_BYTES = 16 * 1024 * 1024;

export const json = (status: number, body: unknown, headers: Record<string, string> = {}): Reply => ({
  kind: "reply",
  status,
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
});
export const text = (status: number, body: string, type = "text/plain; charset=utf-8"): Reply => ({
  kind: "reply",
  status,
  headers: { "content-type": type },
  body,
});
/** The error page of a gateway. */
export const page = (status: number, title: string): Reply =>
  text(status, `<!doctype html><html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>\n`, "text/html");

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The body as a JSON object; undefined if it is anything else. */
export const bodyObject = (request: SimulatorRequest): JsonObject | undefined => {
  try {
    const body: unknown = JSON.parse(new TextDecoder().decode(request.body));
    return isObject(body) ? body : undefined;
  } catch {
    return undefined;
  }
};

/** The part of `reply` that a `Range` header requests (one range; several return the whole, as RFC 9110 allows). */
export const ranged = (request: SimulatorRequest, reply: Reply): Reply => {
  const body = typeof reply.body === "string" ? new TextEncoder().encode(reply.body) : reply.body;
  const headers = { ...reply.headers, "accept-ranges": "bytes" };
  const requested = /^bytes=(\d*)-(\d*)$/.exec(request.headers.range ?? "");
  if (!requested || (requested[1] === "" && requested[2] === "") || reply.status !== 200) return { ...reply, body, headers };
  const [, from = "", to = ""] = requested;
  const start = from === "" ? Math.max(0, body.length - Number(to)) : Number(from);
  const end = from === "" || to === "" ? body.length : Math.min(body.length, Number(to) + 1);
  if (start >= end) return { kind: "reply", status: 416, headers: { "content-range": `bytes */${body.length}` }, body: "" };
  const range = `bytes ${start}-${end - 1}/${body.length}`;
  return { ...reply, status: 206, headers: { ...headers, "content-range": range }, body: body.subarray(start, end) };
};

const readBody = async (request: IncomingMessage): Promise<Uint8Array | undefined> => {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Uint8Array>) {
    bytes += part.length;
    if (bytes > MAX_BODY_BYTES) return undefined;
    parts.push(part);
  }
  return new Uint8Array(Buffer.concat(parts));
};

const send = (request: IncomingMessage, response: ServerResponse, reply: Reply, nowMs: number) => {
  const body = typeof reply.body === "string" ? Buffer.from(reply.body) : reply.body;
  // Responses carry the date of the simulator's clock, which also times its jobs and may differ from the machine's.
  const date = new Date(nowMs).toUTCString();
  const length = reply.isUntold ? {} : { "content-length": String(body.length) };
  response.writeHead(reply.status, { date, ...reply.headers, ...length });
  if (reply.cutAt !== undefined) {
    // The headers announce the whole body, part of it follows, and the connection breaks.
    response.write(body.subarray(0, reply.cutAt), () => setTimeout(() => request.socket.destroy(), 20));
    return;
  }
  response.end(request.method === "HEAD" ? undefined : body, reply.onSent);
};

/**
 * Starts the server; port 0 uses a free one. `isLine` selects the paths that also accept WebSockets. @throws the system's error
 * if the server cannot listen on the address.
 */
export const listen = async (
  where: { host: string; port: number },
  answer: (request: SimulatorRequest) => Promise<Answer>,
  { nowMs, after }: Pick<Clock, "nowMs" | "after">,
  isLine: (path: string) => boolean,
): Promise<{ url: string; close(): Promise<void> }> => {
  const askOf = (request: IncomingMessage, body: Uint8Array): SimulatorRequest => {
    const { pathname: path, searchParams: query } = new URL(request.url ?? "/", "http://simulator");
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(request.headers))
      headers[name] = Array.isArray(value) ? value.join(", ") : (value ?? "");
    const origin = `http://${headers.host ?? new URL(address).host}`;
    return { method: request.method ?? "GET", path, query, headers, body, origin };
  };
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await readBody(request);
    if (!body) return send(request, response, text(413, "body too large\n"), nowMs());
    const given = await answer(askOf(request, body));
    if (given.kind === "hang") return;
    if (given.kind === "drop") return void request.socket.resetAndDestroy();
    if (given.delayMs !== undefined) {
      const { delayMs } = given;
      await new Promise<void>((over) => after(delayMs, over));
    }
    send(request, response, given, nowMs());
  };

  const server = createServer((request, response) => {
    serve(request, response).catch((cause: unknown) => {
      if (!response.headersSent) send(request, response, text(500, `the simulator failed: ${String(cause)}\n`), nowMs());
    });
  });
  const lines = new Set<Duplex>();
  server.on("upgrade", (request: IncomingMessage, socket: Duplex) => {
    if (!isLine(askOf(request, new Uint8Array()).path)) return void socket.destroy();
    lines.add(socket);
    socket.on("close", () => lines.delete(socket));
    openSocket(request, socket, (body) => answer({ ...askOf(request, body), method: "POST", line: socket }), after);
  });
  // A pooled connection that closes while a client sends on it would resemble a dropped submission; only scripts may cause those.
  server.requestTimeout = 0;
  server.keepAliveTimeout = 600_000;
  await new Promise<void>((listening, failed) => {
    server.once("error", failed);
    server.listen(where.port, where.host, () => listening());
  });
  const { port } = server.address() as AddressInfo;
  const address = `http://${where.host.includes(":") ? `[${where.host}]` : where.host}:${port}`;
  return {
    url: address,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
        for (const line of lines) line.destroy();
      }),
  };
};
