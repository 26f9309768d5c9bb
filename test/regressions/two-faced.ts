// File server whose response depends on the client, the request and the time.
import type { Serve } from "bun";

/** A received request; `n` is the number of requests before it. */
export type Asked = { n: number; atMs: number; agent: string; range: string | null; method: string; path: string };

export type TwoFaced = {
  url: string;
  host: string;
  /** The received requests, in order. */
  asked: Asked[];
  stop(): Promise<void>;
};

/** Responds with a file, and with a range of it if `hasRanges`. */
export const answerBytes = (request: Request, bytes: Uint8Array, mime: string, hasRanges = true): Response => {
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.get("range") ?? "");
  const headers = { "content-type": mime };
  if (!range || !hasRanges) return new Response(Buffer.from(bytes), { headers });
  const [from, to] = [Number(range[1]), range[2] ? Math.min(Number(range[2]), bytes.length - 1) : bytes.length - 1];
  return new Response(Buffer.from(bytes.subarray(from, to + 1)), {
    status: 206,
    headers: { ...headers, "content-range": `bytes ${from}-${to}/${bytes.length}` },
  });
};

/** @param answer returns the response to a request */
export const openTwoFaced = (answer: (request: Request, asked: Asked) => Response | Promise<Response>): TwoFaced => {
  const asked: Asked[] = [];
  const options: Serve.Options<undefined> = {
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => {
      const one: Asked = {
        ...{ n: asked.length, atMs: performance.now(), method: request.method, path: new URL(request.url).pathname },
        ...{ agent: request.headers.get("user-agent") ?? "", range: request.headers.get("range") },
      };
      asked.push(one);
      return answer(request, one);
    },
  };
  const server = Bun.serve(options);
  const host = `127.0.0.1:${server.port}`;
  return { url: `http://${host}`, host, asked, stop: () => server.stop(true) };
};
