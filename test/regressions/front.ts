// A server before the simulator, that passes everything on and may change what comes back: servers do that to providers' answers.
import type { Simulator } from "../../src/simulator/simulator.ts";

export type Front = {
  /** In place of `simulator.url`. */
  url: string;
  /** The address of a provider behind it, as the settings name it. */
  baseUrl(provider: string): string;
  /** Answers that were changed. */
  changed: number;
  [Symbol.asyncDispose](): Promise<void>;
};

/** @param change what becomes of an answer that is JSON; undefined leaves it as it is */
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
      // It is its address that clients know.
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
