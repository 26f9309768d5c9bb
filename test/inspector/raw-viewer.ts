// A receiver of the open protocol that reads on request.
// It uses a bare socket, because no client of the runtime can stop reading.
import { connect } from "node:net";

export type RawViewer = {
  /** Starts reading. */
  read(): void;
  /** The received frames. */
  frames: Record<string, unknown>[];
  close(): void;
};

/** Takes complete frames from the start of the bytes. Servers do not mask frames and do not fragment our texts. */
const takeFrames = (bytes: Buffer, found: (text: string) => void): Buffer => {
  let at = 0;
  while (bytes.length - at >= 2) {
    const short = (bytes[at + 1] ?? 0) & 127;
    const header = short === 127 ? 10 : short === 126 ? 4 : 2;
    if (bytes.length - at < header) break;
    const size = short === 127 ? Number(bytes.readBigUInt64BE(at + 2)) : short === 126 ? bytes.readUInt16BE(at + 2) : short;
    if (bytes.length - at < header + size) break;
    if (((bytes[at] ?? 0) & 15) === 1) found(bytes.toString("utf8", at + header, at + header + size));
    at += header + size;
  }
  return bytes.subarray(at);
};

/** Connects and reads only the response to the upgrade request. */
export const openRawViewer = async (url: string, path: string): Promise<RawViewer> => {
  const { hostname, port, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  const frames: RawViewer["frames"] = [];
  let left = Buffer.alloc(0);
  await new Promise<void>((resolve, reject) => {
    socket.once("error", reject);
    socket.once("data", (answer: Buffer) => {
      socket.pause();
      const end = answer.indexOf("\r\n\r\n") + 4;
      left = Buffer.from(answer.subarray(end));
      if (answer.toString().startsWith("HTTP/1.1 101")) resolve();
      else reject(new Error(answer.toString()));
    });
    socket.write(
      `GET ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
    );
  });
  socket.on("error", () => undefined);
  return {
    frames,
    read: () => {
      socket.on("data", (bytes: Buffer) => {
        left = Buffer.from(takeFrames(Buffer.concat([left, bytes]), (text) => frames.push(JSON.parse(text))));
      });
      socket.resume();
    },
    close: () => socket.destroy(),
  };
};
