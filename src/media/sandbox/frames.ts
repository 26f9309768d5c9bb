// Frame protocol between the service and a sandbox child: length, kind, payload.

/** Frames sent to the child. */
export const FRAMES_TO_CHILD = { job: 1, bytes: 2, denied: 3 } as const;
/** Frames sent by the child. */
export const FRAMES_FROM_CHILD = { ready: 11, read: 12, write: 13, done: 14, unreadable: 15, dropped: 16 } as const;

/** Allowed form of a child's error message about a file; the message is shown to the client. */
export const SENTENCE = /^[\x20-\x7e\u2013\u2026]{1,200}$/;

export type Frame = { kind: number; payload: Uint8Array<ArrayBuffer> };

export const HEADER_BYTES = 5;
/** First bytes of a file that are sent with its job, if available. Most files need no further read. */
export const FIRST_BYTES = 64 * 1024;
/** Maximum payload of a `bytes` frame; larger ranges are read in several requests. */
export const MAX_BYTES_A_READ = 4 * 1024 * 1024;
/** Maximum size of one write to the output. */
export const MAX_BYTES_A_WRITE = 1024 * 1024;
/** `read`: start, least end, most end; `write`: position in the output, followed by the bytes. */
const READ_BYTES = 24;
const PLACE_BYTES = 8;

/** Encodes the header of a frame whose payload is sent separately. */
export const headerOf = (kind: number, payloadBytes: number): Uint8Array<ArrayBuffer> => {
  const header = new Uint8Array(HEADER_BYTES);
  const view = new DataView(header.buffer);
  view.setUint32(0, payloadBytes, true);
  view.setUint8(4, kind);
  return header;
};

export const frameOf = (kind: number, ...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> => {
  const payloadBytes = parts.reduce((sum, part) => sum + part.length, 0);
  const frame = new Uint8Array(HEADER_BYTES + payloadBytes);
  frame.set(headerOf(kind, payloadBytes));
  let at = HEADER_BYTES;
  for (const part of parts) {
    frame.set(part, at);
    at += part.length;
  }
  return frame;
};

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

export const readHeader = (header: Uint8Array): { kind: number; payloadBytes: number } => ({
  kind: viewOf(header).getUint8(4),
  payloadBytes: viewOf(header).getUint32(0, true),
});

/** A range that the child requests: all bytes up to `least`, and available bytes up to `most`. */
export type ByteRangeRequest = { start: number; least: number; most: number };

export const encodeWanted = ({ start, least, most }: ByteRangeRequest): Uint8Array => {
  const payload = new Uint8Array(READ_BYTES);
  for (const [n, value] of [start, least, most].entries()) viewOf(payload).setFloat64(n * 8, value, true);
  return payload;
};

/** Decodes a read request; undefined if it violates the protocol. */
export const decodeWanted = (payload: Uint8Array, sizeBytes: number): ByteRangeRequest | undefined => {
  if (payload.length !== READ_BYTES) return undefined;
  const [start = -1, least = -1, most = -1] = [0, 8, 16].map((at) => viewOf(payload).getFloat64(at, true));
  const isRight = [start, least, most].every(Number.isSafeInteger) && start >= 0 && start < least && least <= most;
  return isRight && most <= sizeBytes && most - start <= MAX_BYTES_A_READ ? { start, least, most } : undefined;
};

export const encodePosition = (place: number): Uint8Array => {
  const bytes = new Uint8Array(PLACE_BYTES);
  viewOf(bytes).setFloat64(0, place, true);
  return bytes;
};

export const decodeWrite = (payload: Uint8Array<ArrayBuffer>): { place: number; bytes: Uint8Array<ArrayBuffer> } | undefined => {
  if (payload.length < PLACE_BYTES) return undefined;
  const place = viewOf(payload).getFloat64(0, true);
  return Number.isSafeInteger(place) && place >= 0 ? { place, bytes: payload.subarray(PLACE_BYTES) } : undefined;
};

/** Maximum payload of each frame kind from a child; other kinds violate the protocol. */
const MAX_FROM_CHILD: ReadonlyMap<number, number> = new Map([
  [FRAMES_FROM_CHILD.ready, 4096],
  [FRAMES_FROM_CHILD.read, READ_BYTES],
  [FRAMES_FROM_CHILD.write, PLACE_BYTES + MAX_BYTES_A_WRITE],
  [FRAMES_FROM_CHILD.done, 64 * 1024],
  [FRAMES_FROM_CHILD.unreadable, 1024],
  [FRAMES_FROM_CHILD.dropped, 0],
]);

/**
 * Assembles frames from the byte stream of a child, and buffers at most one frame of its maximum size.
 * @param onReport called for each complete frame
 * @returns accepts the next chunk of the stream; returns false after a protocol violation
 */
export const createFrames = (onReport: (frame: Frame) => void): ((piece: Uint8Array) => boolean) => {
  const header = new Uint8Array(HEADER_BYTES);
  let headed = 0;
  let payload: Uint8Array<ArrayBuffer> | undefined;
  let filled = 0;
  let isBroken = false;
  const end = () => {
    if (!payload || filled < payload.length) return;
    const whole = payload;
    payload = undefined;
    headed = 0;
    onReport({ kind: readHeader(header).kind, payload: whole });
  };
  return (piece) => {
    for (let at = 0; at < piece.length && !isBroken; ) {
      if (!payload) {
        const part = piece.subarray(at, at + HEADER_BYTES - headed);
        header.set(part, headed);
        headed += part.length;
        at += part.length;
        if (headed < HEADER_BYTES) break;
        const { kind, payloadBytes } = readHeader(header);
        const most = MAX_FROM_CHILD.get(kind);
        isBroken = most === undefined || payloadBytes > most;
        if (isBroken) break;
        payload = new Uint8Array(payloadBytes);
        filled = 0;
      } else {
        const part = piece.subarray(at, at + payload.length - filled);
        payload.set(part, filled);
        filled += part.length;
        at += part.length;
      }
      end();
    }
    return !isBroken;
  };
};
