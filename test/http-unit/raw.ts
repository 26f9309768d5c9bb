// Talks bytes to the door over a plain socket, for what no HTTP client would send.
import { connect } from "node:net";

export type Talk = { statuses: number[]; text: string; closed: boolean };

/**
 * Sends each part once the answer to the one before has begun, then reads to the end; gives up waiting after `waitMs`.
 * With `isHalfClosed` the sending side ends with the last part.
 */
export const talk = (url: string, parts: readonly string[], waitMs = 3000, isHalfClosed = false): Promise<Talk> => {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    let text = "";
    let sent = 0;
    const statuses = () => [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]));
    const socket = connect(Number(port), hostname);
    const finish = (closed: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ statuses: statuses(), text, closed });
    };
    const timer = setTimeout(() => finish(false), waitMs);
    const sendNext = () => {
      const part = parts[sent++];
      if (part === undefined) return;
      if (isHalfClosed && sent === parts.length) socket.end(part, "latin1");
      else socket.write(part, "latin1");
    };
    socket.on("connect", sendNext);
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      if (statuses().length >= sent) sendNext();
    });
    // A reset after an answer is a close as well: the runtime throws away what it did not read.
    socket.on("error", () => finish(true));
    socket.on("close", () => finish(true));
  });
};
