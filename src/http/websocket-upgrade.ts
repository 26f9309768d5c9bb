// WebSockets at the door: a request becomes one when its path's owner says yes; what goes over it is the owner's.
import type { Server, ServerWebSocket } from "bun";
import { refuse } from "../domain/api-errors.ts";

/** One end of a connection, as far as its owner needs it. */
export type Socket = {
  send(text: string): void;
  /** Sends made inside leave together. */
  together(work: () => void): void;
  /** What was sent and the other side has not taken yet, bytes. */
  waitingBytes(): number;
  close(code: number, reason: string): void;
};
/** What is done with a connection. */
export type SocketLife = {
  opened(socket: Socket): void;
  received(text: string): void;
  /** The other side has taken what waited. */
  drained(): void;
  closed(): void;
};
/** Decides about a request; `peer`: the address it came from. @throws Refusal */
export type Admit = (request: Request, peer: string | undefined) => SocketLife | Promise<SocketLife>;

/** A message above it ends the connection (1009); silence for longer, too: the runtime asks for a sign of life before. */
export const SOCKET_LIMITS = { maxPayloadLength: 262_144, idleTimeout: 120, sendPings: true } as const;

const socketOf = (ws: ServerWebSocket<unknown>): Socket => ({
  send: (text) => void ws.send(text),
  together: (work) => void ws.cork(work),
  waitingBytes: () => ws.getBufferedAmount(),
  close: (code, reason) => ws.close(code, reason),
});

/** The runtime of the sockets calls these, which it finds in a connection's `data`. */
const callsOf = (life: SocketLife) => ({
  open: (ws: ServerWebSocket<unknown>) => life.opened(socketOf(ws)),
  message: (_: unknown, message: string | Uint8Array) => {
    if (typeof message === "string") life.received(message);
  },
  drain: () => life.drained(),
  close: () => life.closed(),
});

/** Answers the request that asks for a connection. */
export const openSocket = async (
  admit: Admit,
  request: Request,
  server: Server<unknown> | null,
  requestId: string,
): Promise<Response> => {
  // Who may not come in is told why whatever they ask for: a page learns it so, for browsers do not say why a socket was turned away.
  const life = await admit(request, server?.requestIP(request)?.address);
  if (request.headers.get("upgrade")?.toLowerCase() !== "websocket")
    return refuse("invalid_request", "This path takes a WebSocket; connect to it with ws:// or wss://.", {
      status: 426,
      headers: { upgrade: "websocket", connection: "Upgrade" },
    });
  const headers = { "x-request-id": requestId };
  if (!server?.upgrade(request, { data: callsOf(life), headers }))
    return refuse("invalid_request", "The connection could not be made a WebSocket; send the headers of RFC 6455.");
  // The runtime has answered by itself.
  return new Response(null, { status: 101 });
};
