// Leaking provider: the simulator behind a proxy that adds the client's credential to every response.

import type { Json } from "../../src/domain/types.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";

export type Echo = {
  /** The origin of the proxy. */
  url: string;
  /** The base URL of each dialect by provider id. */
  baseUrls: Readonly<Record<string, string>>;
  /** The credentials of the received requests. */
  credentials: ReadonlySet<string>;
  stop(): Promise<void>;
};

/** The headers in which the dialects send the key. */
const CARRIERS = ["authorization", "x-api-key", "x-key", "xi-api-key", "x-goog-api-key", "api-key"];

/** A signed link: its query opens the file. */
export const signed = (url: string, secret: string) => `${url}${url.includes("?") ? "&" : "?"}X-Signature=${secret}`;

/** Adds the credential to every error text and signs every result link. */
const spoilt = (value: Json, credential: string, secret: string): Json => {
  if (typeof value === "string") return /\/files\/[\w-]+\/output-/.test(value) ? signed(value, secret) : value;
  if (Array.isArray(value)) return value.map((each) => spoilt(each, credential, secret));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, each]): [string, Json] => {
    const isWords = ["detail", "error", "title", "msg", "message", "logs"].includes(name) && typeof each === "string";
    return [name, isWords ? `${each} (you sent ${credential})` : spoilt(each, credential, secret)];
  });
  return { ...Object.fromEntries(members), debug: `authorization: ${credential}` };
};

/** @param secret the signature in the query of every result link */
export const openEcho = async (secret: string, speed: number): Promise<Echo> => {
  const credentials = new Set<string>();
  const simulator = await createSimulator({ speed });
  const front: Bun.Server<undefined> = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 60,
    fetch: async (request): Promise<Response> => {
      const { pathname, search } = new URL(request.url);
      const credential = CARRIERS.map((name) => request.headers.get(name)).find((value) => value !== null) ?? "";
      if (credential !== "") credentials.add(credential);
      const headers = new Headers(request.headers);
      headers.delete("host");
      const body = request.method === "POST" || request.method === "PUT" ? await request.arrayBuffer() : undefined;
      const passed = { method: request.method, headers, redirect: "manual" as const, ...(body === undefined ? {} : { body }) };
      const broken = () =>
        new Response(`bad gateway ${credential}`, { status: 502, headers: { "x-your-credential": credential } });
      const answer = await fetch(simulator.url + pathname + search, passed).catch(broken);
      const own = new Headers(answer.headers);
      own.delete("content-length");
      own.set("x-your-credential", credential);
      own.set("set-cookie", `credential=${encodeURIComponent(credential)}`);
      const type = answer.headers.get("content-type") ?? "";
      if (!/json|text/.test(type)) {
        const bytes = await answer.bytes().catch(() => undefined);
        return bytes === undefined ? broken() : new Response(bytes, { status: answer.status, headers: own });
      }
      const text = (await answer.text().catch(() => "cut")).replaceAll(simulator.url, front.url.origin);
      let said = `${text}<!-- ${credential} -->`;
      try {
        said = JSON.stringify(spoilt(JSON.parse(text) as Json, credential, secret));
      } catch {
        // Not JSON: the credential is appended to the text.
      }
      return new Response(said, { status: answer.status, headers: own });
    },
  });
  return {
    url: front.url.origin,
    baseUrls: Object.fromEntries(
      Object.entries(simulator.baseUrls).map(([id, url]) => [id, url.replace(simulator.url, front.url.origin)]),
    ),
    credentials,
    stop: async () => {
      await front.stop(true);
      await simulator.stop();
    },
  };
};
