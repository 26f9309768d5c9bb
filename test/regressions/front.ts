// Reverse proxy in front of the simulator that can change provider responses, as real proxies do.
import type { Simulator } from "../../src/simulator/simulator.ts";

export type Front = {
  /** Used instead of `simulator.url`. */
  url: string;
  /** The base URL of a provider behind the proxy, for the configuration. */
  baseUrl(provider: string): string;
  /** Number of changed responses. */
  changed: number;
  [Symbol.asyncDispose](): Promise<void>;
};

/** @param change replaces a JSON response; undefined leaves it unchanged */
export const openFront = (
  simulator: Simulator,
  change: (body: Uint8Array<ArrayBuffer>, asked: Request) => Response | Promise<Response | undefined> | undefined,
): Front => {
  const server: Bun.Server<undefined> = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request): Promise<Response> {
      const { pathname, search } = new URL(request.url);
      const body = request.method === "GET" ? undefined : await request.clone().arrayBuffer();
      const headers = new Headers(request.headers);
      headers.delete("host");
      const answer = await fetch(`${simulator.url}${pathname}${search}`, {
        method: request.method,
        headers,
        ...(body === undefined ? {} : { body }),
        redirect: "manual",
        decompress: false,
      });
      if (!answer.headers.get("content-type")?.includes("json")) return answer;
      // Clients know the address of the proxy, not that of the simulator.
      const text = (await answer.text()).replaceAll(simulator.url, server.url.origin);
      const changed = await change(Buffer.from(text), request);
      if (changed === undefined) return new Response(text, { status: answer.status, headers: answer.headers });
      front.changed += 1;
      return new Response(changed.body, { status: answer.status, headers: changed.headers });
    },
  });
  const front: Front = {
    url: server.url.origin,
    baseUrl: (provider) => (simulator.baseUrls[provider] ?? "").replace(simulator.url, server.url.origin),
    changed: 0,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
  return front;
};
