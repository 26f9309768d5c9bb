// Upgrades requests to WebSockets after the owner of the path admits them.
import type { Server, ServerWebSocket } from "bun";
import { refuse } from "../domain/api-errors.ts";

/** One end of a connection, as its owner uses it. */
export type Socket = {
  send(text: string): void;
  /** Combines the sends inside `work` into one write. */
  together(work: () => void): void;
  /** Bytes that were sent but not yet received by the peer. */
  waitingBytes(): number;
  close(code: number, reason: string): void;
};
/** Callbacks of a connection. */
export type SocketLife = {
  opened(socket: Socket): void;
  received(text: string): void;
  /** Called when the send buffer is empty again. */
  drained(): void;
  closed(): void;
};
/** Admits or rejects a request; `peer` is the address of its socket. @throws ApiError */
export type Admit = (request: Request, peer: string | undefined) => SocketLife | Promise<SocketLife>;

/** A longer message closes the connection (1009). Silence beyond the timeout closes it too; the runtime sends a ping before. */
export const SOCKET_LIMITS = { maxPayloadLength: 262_144, idleTimeout: 120, sendPings: true } as const;

const socketOf = (ws: ServerWebSocket<unknown>): Socket => ({
  send: (text) => void ws.send(text),
  together: (work) => void ws.cork(work),
  waitingBytes: () => ws.getBufferedAmount(),
  close: (code, reason) => ws.close(code, reason),
});

/** Callbacks that the runtime reads from the `data` of a connection. */
const callsOf = (life: SocketLife) => ({
  open: (ws: ServerWebSocket<unknown>) => life.opened(socketOf(ws)),
  message: (_: unknown, message: string | Uint8Array) => {
    if (typeof message === "string") life.received(message);
  },
  drain: () => life.drained(),
  close: () => life.closed(),
});

/** Answers an upgrade request. */
export const openSocket = async (
  admit: Admit,
  request: Request,
  server: Server<unknown> | null,
  requestId: string,
): Promise<Response> => {
  // Admission is checked before the Upgrade header, so that a page can read the reason of a rejection with a plain request.
  // Browsers do not expose why a WebSocket was rejected.
  const life = await admit(request, server?.requestIP(request)?.address);
  if (request.headers.get("upgrade")?.toLowerCase() !== "websocket")
    return refuse("invalid_request", "This path takes a WebSocket; connect to it with ws:// or wss://.", {
      status: 426,
      headers: { upgrade: "websocket", connection: "Upgrade" },
    });
  const headers = { "x-request-id": requestId };
  if (!server?.upgrade(request, { data: callsOf(life), headers }))
    return refuse("invalid_request", "The connection could not be made a WebSocket; send the headers of RFC 6455.");
  // The runtime has already answered.
  return new Response(null, { status: 101 });
};
