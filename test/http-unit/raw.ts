// A client that sends bytes over a plain socket, for requests that no HTTP client sends.
import { connect } from "node:net";

export type Talk = { statuses: number[]; text: string; closed: boolean };

/**
 * Sends each part when the response to the previous part has begun, then reads to the end. Stops waiting after `waitMs`.
 * With `isHalfClosed`, the client closes its sending side after the last part.
 */
export const talk = (url: string, parts: readonly string[], waitMs = 20_000, isHalfClosed = false): Promise<Talk> => {
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
    // A reset after a response counts as a close: the runtime discards what it did not read.
    socket.on("error", () => finish(true));
    socket.on("close", () => finish(true));
  });
};
