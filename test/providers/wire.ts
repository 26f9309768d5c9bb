// Test providers on loopback: a scripted TCP server and an HTTP server; both record their requests.
import type { Socket } from "bun";

export type Wire = {
  /** `http://127.0.0.1:port` */
  url: string;
  /** Complete requests, head and body, in order of arrival. */
  requests: string[];
  /** All received bytes, including those of incomplete requests. */
  received(): string;
  connections(): number;
  /** Resolves when this many complete requests have arrived. */
  arrived(count: number): Promise<void>;
  [Symbol.dispose](): void;
};

type Script = {
  opened?: (socket: Socket<{ text: string }>) => void;
  /** Called once for each complete request. */
  asked?: (socket: Socket<{ text: string }>, request: string) => void;
};

const BODY_LENGTH = /\r\ncontent-length: (\d+)/i;

export const openWire = ({ opened, asked }: Script): Wire => {
  const requests: string[] = [];
  const waiting = new Set<() => void>();
  let all = "";
  let connections = 0;
  const server = Bun.listen<{ text: string }>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        connections++;
        socket.data = { text: "" };
        opened?.(socket);
      },
      data(socket, bytes) {
        const text = bytes.toString("latin1");
        all += text;
        socket.data.text += text;
        const head = socket.data.text.indexOf("\r\n\r\n");
        if (head < 0) return;
        const whole = head + 4 + Number(BODY_LENGTH.exec(socket.data.text)?.[1] ?? 0);
        if (socket.data.text.length < whole) return;
        const request = socket.data.text.slice(0, whole);
        socket.data.text = socket.data.text.slice(whole);
        requests.push(request);
        for (const wake of waiting) wake();
        asked?.(socket, request);
      },
      error() {},
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    requests,
    received: () => all,
    connections: () => connections,
    arrived: (count) =>
      new Promise((resolve) => {
        const wake = () => {
          if (requests.length < count) return;
          waiting.delete(wake);
          resolve();
        };
        waiting.add(wake);
        wake();
      }),
    [Symbol.dispose]: () => server.stop(true),
  };
};

/** The bytes of a complete HTTP response. */
export const answerOf = (status: number, body: unknown, headers: Record<string, string> = {}): string => {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const lines = Object.entries({ "content-length": String(Buffer.byteLength(text)), ...headers }).map(
    ([k, v]) => `${k}: ${v}\r\n`,
  );
  return `HTTP/1.1 ${status} Scripted\r\n${lines.join("")}\r\n${text}`;
};

/** A local port without a listener: the system assigns it to no test, and it needs a privilege. */
export const CLOSED_PORT = 1;

/** A working HTTP provider: `answers` by "METHOD /path", otherwise 404. `seen` records the requests. */
export const openHealthy = (answers: Record<string, (request: Request) => unknown>) => {
  const seen: { line: string; body: string; key: string | null }[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const line = `${request.method} ${new URL(request.url).pathname}`;
      seen.push({ line, body: await request.text(), key: request.headers.get("authorization") });
      const answer = answers[line]?.(request) ?? new Response("{}", { status: 404 });
      return answer instanceof Response ? answer : Response.json(answer);
    },
  });
  return { url: server.url.origin, seen, [Symbol.dispose]: () => void server.stop(true) };
};
