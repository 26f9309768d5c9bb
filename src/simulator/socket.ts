// WebSocket server with the subset that a provider's client needs.
//
// Each text message is a request, and the body of its response is sent as a text message.
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Answer } from "./http-server.ts";

/** The constant that RFC 6455 appends to a key before hashing. */
const MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const [TEXT, CLOSE, PING, PONG] = [1, 8, 9, 10] as const;

type Frame = { kind: number; payload: Buffer };

/**
 * The first complete frame of the received bytes, and the remaining bytes; undefined if it is incomplete. Client frames are
 * masked.
 */
const firstFrame = (arrived: Buffer): { frame: Frame; rest: Buffer } | undefined => {
  const [first = 0, second = 0] = arrived;
  const short = second & 127;
  const maskAt = short < 126 ? 2 : short === 126 ? 4 : 10;
  if (arrived.length < maskAt + 4) return undefined;
  const length = short < 126 ? short : short === 126 ? arrived.readUInt16BE(2) : Number(arrived.readBigUInt64BE(2));
  const at = maskAt + 4;
  if (arrived.length < at + length) return undefined;
  const payload = Buffer.from(arrived.subarray(at, at + length));
  for (let i = 0; i < length; i += 1) payload[i] = (payload[i] ?? 0) ^ (arrived[maskAt + (i % 4)] ?? 0);
  return { frame: { kind: first & 15, payload }, rest: arrived.subarray(at + length) };
};

const frameOf = ({ kind, payload }: Frame): Buffer => {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = 128 | kind;
  head[1] = length < 126 ? length : length < 65_536 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
};

/**
 * Accepts a WebSocket upgrade. Sends the response of `answer` to each text message, or breaks the connection if the script
 * requires it.
 */
export const openSocket = (
  request: IncomingMessage,
  socket: Duplex,
  answer: (text: Buffer) => Promise<Answer>,
  after: (ms: number, then: () => void) => void,
): void => {
  const accept = createHash("sha1")
    .update(`${request.headers["sec-websocket-key"] ?? ""}${MAGIC}`)
    .digest("base64");
  const lines = ["HTTP/1.1 101 Switching Protocols", "upgrade: websocket", "connection: Upgrade"];
  socket.write(`${[...lines, `sec-websocket-accept: ${accept}`].join("\r\n")}\r\n\r\n`);

  const send = (kind: number, payload: Buffer) => void (socket.writable && socket.write(frameOf({ kind, payload })));
  const respond = async (text: Buffer) => {
    const given = await answer(text);
    if (given.kind === "hang") return;
    // A WebSocket has no status, so a response that is not JSON or is cut breaks the connection.
    if (given.kind === "drop" || given.cutAt !== undefined || given.headers["content-type"] !== "application/json")
      return void socket.destroy();
    const { body, delayMs = 0 } = given;
    const report = () => send(TEXT, Buffer.from(body));
    if (delayMs > 0) after(delayMs, report);
    else report();
  };

  let arrived: Buffer = Buffer.alloc(0);
  socket.on("data", (part: Buffer) => {
    arrived = Buffer.concat([arrived, part]);
    for (let next = firstFrame(arrived); next; next = firstFrame(arrived)) {
      arrived = next.rest;
      const { kind, payload } = next.frame;
      if (kind === TEXT) respond(payload).catch(() => socket.destroy());
      if (kind === PING) send(PONG, payload);
      if (kind !== CLOSE) continue;
      send(CLOSE, payload);
      socket.end();
    }
  });
  socket.on("error", () => socket.destroy());
};
