// Defines a trial and its world: one build of the service, simulated providers, and a file server that trials control.
import { gzipSync } from "node:zlib";
import type { Account, Place } from "../bombs/fixture.ts";
import { type Answer, post } from "../bombs/load.ts";

/** The observation of a trial, and whether it is correct. */
export type Seen = { isRight: boolean; seen: string };
export type Trial = {
  /** A unique name, for the option --only. */
  id: string;
  says: string;
  run(world: World): Promise<Seen>;
};

/** A generation resource of the API. */
export type Shown = {
  id: string;
  status: string;
  message?: string;
  quoted_usd: number;
  cost_usd: number | null;
  attempts: number;
  output: { urls: string[]; width?: number; height?: number; duration_s?: number } | null;
  error: { code: string } | null;
};
export type FileAnswer = (request: Request) => Response | Promise<Response>;

export type World = {
  place: Place;
  /** Serves a response at a new URL. */
  at(answer: FileAnswer): string;
  order(body: object, by?: Account): Promise<Answer>;
  /** Submits and waits for the end. */
  made(body: object, by?: Account): Promise<Shown>;
  until(id: string, by?: Account): Promise<Shown>;
  /** Makes every provider deliver the file at this URL for submissions with this prompt. */
  deliver(prompt: string, url: string): Promise<void>;
  /** Changes the JSON of a provider's responses. */
  change(provider: string, change: (json: Record<string, unknown>) => unknown): void;
  /** A unique word. */
  word(): string;
  /** The JSON output of a command. */
  json<T>(...words: string[]): Promise<T>;
  /** Disables all routes of a model except those of one provider. */
  leaveOn(model: string, provider: string): Promise<void>;
};
export type RouteLine = { id: string; provider: string; state: string };

/** Serves bytes with range requests. */
export const ranged =
  (bytes: Uint8Array, mime: string): FileAnswer =>
  (request) => {
    const match = /^bytes=(\d+)-(\d*)$/.exec(request.headers.get("range") ?? "");
    const headers = { "content-type": mime, "accept-ranges": "bytes" };
    if (!match) return new Response(Buffer.from(bytes), { headers });
    const [start, end] = [Number(match[1]), match[2] ? Math.min(bytes.length, Number(match[2]) + 1) : bytes.length];
    if (start >= bytes.length)
      return new Response(null, { status: 416, headers: { "content-range": `bytes */${bytes.length}` } });
    return new Response(Buffer.from(bytes.subarray(start, end)), {
      status: 206,
      headers: { ...headers, "content-range": `bytes ${start}-${end - 1}/${bytes.length}` },
    });
  };
export const whole =
  (bytes: Uint8Array, mime: string, more: Record<string, string> = {}): FileAnswer =>
  () =>
    new Response(Buffer.from(bytes), { headers: { "content-type": mime, ...more } });

/** A proxy in front of the simulator that may change a provider's responses. */
export const openFront = (simulator: () => string) => {
  const changes = new Map<string, (json: Record<string, unknown>) => unknown>();
  const server: Bun.Server<undefined> = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 120,
    fetch: async (request): Promise<Response> => {
      const { pathname, search } = new URL(request.url);
      const headers = new Headers(request.headers);
      headers.delete("host");
      const body = request.method === "GET" || request.method === "HEAD" ? {} : { body: await request.arrayBuffer() };
      const answer = await fetch(`${simulator()}${pathname}${search}`, {
        method: request.method,
        headers,
        ...body,
        redirect: "manual",
      });
      const [, provider = ""] = pathname.split("/");
      const change = changes.get(provider);
      if (!answer.headers.get("content-type")?.includes("json")) return answer;
      const text: string = (await answer.text()).replaceAll(simulator(), server.url.origin);
      const plain = { status: answer.status, headers: { "content-type": "application/json" } };
      const changed = change?.(JSON.parse(text));
      if (changed === undefined) return new Response(text, plain);
      if (changed instanceof Response) return changed;
      return new Response(JSON.stringify(changed), plain);
    },
  });
  return { url: server.url.origin, host: server.url.host, changes, stop: () => server.stop(true) };
};
export type Front = ReturnType<typeof openFront>;

/** A compressed JSON response, whatever the request accepts. */
export const gzipped = (json: unknown): Response =>
  new Response(gzipSync(JSON.stringify(json)), { headers: { "content-type": "application/json", "content-encoding": "gzip" } });

export const openFiles = () => {
  const answers = new Map<string, FileAnswer>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 120,
    fetch: (request) => answers.get(new URL(request.url).pathname)?.(request) ?? new Response(null, { status: 404 }),
  });
  return {
    host: server.url.host,
    at: (answer: FileAnswer): string => {
      const path = `/${answers.size + 1}`;
      answers.set(path, answer);
      return `${server.url.origin}${path}`;
    },
    stop: () => server.stop(true),
  };
};

const PATIENCE_MS = 420_000;
const LOOK_MS = 400;
export const openWorld = (place: Place, front: Front, files: ReturnType<typeof openFiles>): World => {
  let words = 0;
  const json = async <T>(...asked: string[]): Promise<T> => {
    const { output: said } = await place.command(...asked, "--json");
    const line = said.split("\n").find((one) => /^[[{]/.test(one));
    if (line === undefined) throw new Error(`genrouter ${asked.join(" ")} said ${said.slice(0, 300)}`);
    return JSON.parse(line) as T;
  };
  const url = place.nodes[0]?.url ?? "";
  const order: World["order"] = (body, by = place.honest) => post(url, by, body);
  const until: World["until"] = async (id, by = place.honest) => {
    const endMs = performance.now() + PATIENCE_MS;
    for (;;) {
      const answer = await fetch(`${url}/v1/generations/${id}`, { headers: { authorization: `Bearer ${by.key}` } });
      const shown = (await answer.json()) as Shown;
      if (["succeeded", "failed"].includes(shown.status) || performance.now() > endMs) return shown;
      await Bun.sleep(LOOK_MS);
    }
  };
  return {
    ...{ place, at: files.at, order, until },
    made: async (body, by = place.honest) => {
      const { status, body: said } = await order(body, by);
      if (status !== 202) throw new Error(`it was answered ${status}: ${said.slice(0, 300)}`);
      return until((JSON.parse(said) as Shown).id, by);
    },
    deliver: async (prompt, at) => {
      const rule = JSON.stringify({ fault: "elsewhere", url: at, prompt });
      const answer = await fetch(`${place.simulator}/script`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: rule,
      });
      if (!answer.ok) throw new Error(`the simulator takes no rule: ${answer.status}`);
    },
    change: (provider, change) => {
      front.changes.set(provider, change);
    },
    word: () => `trial-${++words}-`,
    json,
    leaveOn: async (model, provider) => {
      const routes = await json<RouteLine[]>("routes", "list", "--model", model);
      for (const { id } of routes.filter((one) => one.provider !== provider))
        await place.command("routes", "disable", id, "--reason", "a trial");
    },
  };
};
