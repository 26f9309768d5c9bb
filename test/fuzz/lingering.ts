// Opens connections that never finish their request: the service has to close them.
import { connect } from "node:net";

const DRIP_MS = 1_000;
const OF_EACH = 5;
/** Twice the runtime's idle timeout of 30 s, plus a margin for a busy machine. */
const CLOSED_WITHIN_MS = 90_000;

const HEAD = "Host: x\r\n";
/** The first bytes of a connection, and the bytes that follow every second. */
const HABITS: Readonly<Record<string, readonly [first: string, drip: string]>> = {
  "says nothing": ["", ""],
  "half a header": [`GET /healthz HTTP/1.1\r\n${HEAD}`, ""],
  "a header that drips": [`GET /healthz HTTP/1.1\r\n${HEAD}X-Slow: `, "x"],
  "half a body": [`POST /v1/generations HTTP/1.1\r\n${HEAD}Authorization: Bearer {key}\r\nContent-Length: 100\r\n\r\n{`, ""],
  "a body that drips": [
    `POST /v1/generations HTTP/1.1\r\n${HEAD}Authorization: Bearer {key}\r\nContent-Length: 1000\r\n\r\n{`,
    " ",
  ],
  "chunks that drip": [
    `POST /v1/generations HTTP/1.1\r\n${HEAD}Authorization: Bearer {key}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    "1\r\n \r\n",
  ],
  "an answer that is followed by nothing": [`GET /healthz HTTP/1.1\r\n${HEAD}\r\n`, ""],
};

export type Lingering = {
  /** Waits until all connections are closed. @returns those that are not. */
  left(): Promise<string[]>;
};

export const openLingering = (url: string, key: string): Lingering => {
  const { hostname, port } = new URL(url);
  const startedMs = performance.now();
  const closings = Object.entries(HABITS).flatMap(([habit, [first, drip]]) =>
    Array.from({ length: OF_EACH }, () => {
      const socket = connect(Number(port), hostname, () => {
        if (first !== "") socket.write(first.replace("{key}", key));
      });
      const dripping = drip === "" ? null : setInterval(() => socket.write(drip), DRIP_MS);
      socket.on("error", () => undefined);
      // Without reading, the socket would not notice the close.
      socket.resume();
      const closing = new Promise<void>((closed) => {
        socket.on("close", () => {
          if (dripping) clearInterval(dripping);
          closed();
        });
      });
      return { habit, socket, closing };
    }),
  );
  return {
    left: async () => {
      const open = new Set(closings);
      const all = Promise.all(
        closings.map(async (one) => {
          await one.closing;
          open.delete(one);
        }),
      );
      await Promise.race([all, Bun.sleep(Math.max(0, startedMs + CLOSED_WITHIN_MS - performance.now()))]);
      const habits = [...open].map(({ habit }) => habit);
      for (const { socket } of open) socket.destroy();
      return [...new Set(habits)].map((habit) => `${habit}: still open after ${CLOSED_WITHIN_MS / 1000} s`);
    },
  };
};
