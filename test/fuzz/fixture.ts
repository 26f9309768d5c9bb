// Fixture of the fuzzer: the service, its OpenAPI document and model list, callers, and ended generations.
import type { ModelEntry } from "../../catalogue/public-model.ts";
import { newApiKey } from "../../src/domain/ids.ts";
import type { JsonObject } from "../../src/domain/types.ts";
import type { Tenant } from "../harness.ts";
import { type Books, openBooks } from "./books.ts";
import type { CallerName } from "./case.ts";
import { type Oracle, openOracle } from "./oracle.ts";
import type { Served } from "./served.ts";

const RICH = 500_000_000;
/** File links are valid for an hour of the service's time, which passes in seconds. */
const LINK_MS = 3_000;

export type World = {
  served: Served;
  /** The target of requests: the service or a proxy in front of it. */
  url: string;
  document: JsonObject;
  models: ModelEntry[];
  oracle: Oracle;
  books: Books;
  keys: Record<Exclude<CallerName, "own" | "none">, string>;
  done: string;
  failed: string;
  foreign: string;
  owner: Tenant;
  longestMs: number;
  requests: number;
  statuses: Map<number, number>;
  /** The number of accepted submissions for each model. */
  accepted: Map<string, number>;
};

/**
 * One worker: an account for single requests, one for lives, one for broken requests whose results are not awaited, and its
 * last generation.
 */
export type Lane = {
  world: World;
  own: Tenant;
  lives: Tenant;
  loose: Tenant;
  lastId: string;
  serial: number;
  link: { words: string; atMs: number };
};

const submit = async (url: string, key: string, prompt: string): Promise<string> => {
  const body = JSON.stringify({ model: "sim-image-1", input: { prompt } });
  const answer = await fetch(`${url}/v1/generations`, { method: "POST", body, headers: { authorization: `Bearer ${key}` } });
  const { id } = (await answer.json()) as { id?: string };
  if (answer.status !== 202 || id === undefined) throw new Error(`the first submissions were answered ${answer.status}`);
  return id;
};
const ended = async (url: string, key: string, id: string): Promise<string> => {
  for (;;) {
    const answer = await fetch(`${url}/v1/generations/${id}`, { headers: { authorization: `Bearer ${key}` } });
    const { status } = (await answer.json()) as { status: string };
    if (status === "succeeded" || status === "failed") return status;
    await Bun.sleep(5);
  }
};

/** @param front the target of requests; the service's address by default. */
export const openWorld = async (served: Served, front = served.url): Promise<World> => {
  const { url } = served;
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as JsonObject;
  const { data } = (await (await fetch(`${url}/v1/models`)).json()) as { data: ModelEntry[] };
  const [owner, stranger, reader, paused, revoked, poor] = [
    await served.tenant(RICH, "generate"),
    await served.tenant(RICH, "generate"),
    await served.tenant(RICH, "read"),
    await served.tenant(RICH, "generate"),
    await served.tenant(RICH, "generate"),
    await served.tenant(0, "generate"),
  ];
  await served.pause(paused);
  await served.revoke(revoked.keyId);
  const done = await submit(url, owner.key, "two pictures");
  const failed = await submit(url, owner.key, "[sim:refuse]");
  const foreign = await submit(url, stranger.key, "a stranger's");
  const ends = [await ended(url, owner.key, done), await ended(url, owner.key, failed), await ended(url, stranger.key, foreign)];
  if (ends.join() !== "succeeded,failed,succeeded") throw new Error(`the first generations ended ${ends}`);
  const keys = { unknown: newApiKey("test"), reader: reader.key, paused: paused.key, revoked: revoked.key, poor: poor.key };
  return {
    served,
    url: front,
    document,
    models: data,
    oracle: openOracle(document),
    books: openBooks(served.database),
    keys,
    done,
    failed,
    foreign,
    owner,
    longestMs: 0,
    requests: 0,
    statuses: new Map(),
    accepted: new Map(),
  };
};

export const openLane = async (world: World): Promise<Lane> => ({
  world,
  own: await world.served.tenant(RICH, "generate"),
  lives: await world.served.tenant(RICH, "generate"),
  loose: await world.served.tenant(RICH, "generate"),
  lastId: "gen_00000000000000000000z",
  serial: 0,
  link: { words: "", atMs: Number.NEGATIVE_INFINITY },
});

/** The query of a valid link to the file of `done`. */
const linkWords = async (lane: Lane): Promise<string> => {
  const { world, link } = lane;
  if (performance.now() - link.atMs < LINK_MS) return link.words;
  const headers = { authorization: `Bearer ${world.owner.key}` };
  const shown = (await (await fetch(`${world.served.url}/v1/generations/${world.done}`, { headers })).json()) as {
    output: { urls: string[] };
  };
  lane.link = { words: new URL(shown.output.urls[0] ?? "").search, atMs: performance.now() };
  return lane.link.words;
};

/** Replaces the placeholders in braces by their current values. */
export const fill = async (lane: Lane, text: string, key = lane.own.key): Promise<string> => {
  if (!text.includes("{")) return text;
  const { world } = lane;
  const link = text.includes("{link}") ? await linkWords(lane) : "";
  const words: Record<string, string> = {
    own: lane.lastId,
    done: world.done,
    failed: world.failed,
    foreign: world.foreign,
    key,
    sim: world.served.simulatorUrl,
    serial: String(lane.serial),
    link,
  };
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => words[name] ?? whole);
};
