// Shared code of the benches of whole generations: the provider, its models, and the check of all deliveries.
//
// The provider is a small separate process and not `genrouter simulator`, which uses node:http, stores every job and log line,
// and draws its pictures, which have a few kB instead of the 100 kB of real models. The simulator needs five times the CPU for
// each job, as much as the bare loop that polls it, so the load's core would be full before the measured core.
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BUILT_IN_MODELS } from "../../catalogue/built-in.ts";
import type { JsonObject } from "../../src/domain/types.ts";
import { pathOfFile } from "../../src/files/local.ts";
import { DATABASE_FILE } from "../../src/store/sqlite/open.ts";
import { makeScratch } from "../scratch.ts";
import { spawnHeard, stopAllHeard } from "./child.ts";
import { onLoadCore, onServerCore } from "./machine.ts";
import { CLIP_MS, type Kind, kindOf, SOUND_MS } from "./rungs/kinds.ts";
import type { LifecyclePlan } from "./rungs/lifecycle.ts";
import type { Counts } from "./rungs/provider.ts";
import type { SubmitterPlan } from "./rungs/submitter.ts";
import type { Stage } from "./sides.ts";
import { type LifeSide, withDatabase } from "./turns.ts";

const rung = (name: string) => join(import.meta.dir, "rungs", name);
const scratch = makeScratch("bench-lives-");

export type Provider = {
  pid: number;
  falUrl: string;
  replicateUrl: string;
  /** A port that accepts every connection and never responds. */
  silentUrl: string;
  counts(): Promise<Counts>;
};

/**
 * Starts the provider on the load's core, and stops it with all its players after the work.
 * @param looks the number of polls of fal's queue until a job is done.
 */
export const withProvider = async <T>(work: (provider: Provider) => Promise<T>, looks = 1): Promise<T> => {
  const { pid, hear } = spawnHeard(onLoadCore([process.execPath, rung("provider.ts"), String(looks)]));
  try {
    const [, port, silentPort] = (await hear()).split(" ");
    const url = `http://127.0.0.1:${port}`;
    return await work({
      ...{ pid, falUrl: `${url}/fal`, replicateUrl: `${url}/replicate/v1`, silentUrl: `http://127.0.0.1:${silentPort}` },
      counts: async () => (await (await fetch(`${url}/counts`, { headers: { connection: "close" } })).json()) as Counts,
    });
  } finally {
    stopAllHeard();
  }
};

/** A model of the bench: one file of its endpoint's kind, on one provider only, so that there is no fallback. */
export type BenchModel = { id: string; provider: "fal" | "replicate"; endpoint: string };
export const ON_FAL: BenchModel = { id: "picture-fal", provider: "fal", endpoint: "bench/fal" };
export const ON_REPLICATE: BenchModel = { id: "picture-replicate", provider: "replicate", endpoint: "bench/replicate" };
const ROUTE_S = 2_400;

/** A shipped model of each kind, and its input. */
const SHIPPED: Readonly<Record<Kind, { file: string; input: (prompt: string) => JsonObject; more: JsonObject }>> = {
  picture: {
    file: "sim-image-1.json",
    input: (prompt) => ({ prompt, aspect_ratio: "1:1", resolution: "1K", quality: "medium", seed: 7 }),
    more: { files: 1 },
  },
  clip: { file: "hailuo-2.3.json", input: (prompt) => ({ prompt, duration: CLIP_MS / 1000 }), more: {} },
  sound: { file: "eleven-sound-effects-2.json", input: (prompt) => ({ prompt, duration: SOUND_MS / 1000 }), more: {} },
};
/** Members of a model that earlier builds do not accept and that do not matter here. */
const withoutNews = ({ $schema: _, delivers: __, ...model }: JsonObject): JsonObject => model;

/** @returns the directory of a catalogue with these models, each derived from a shipped one. */
export const writeCatalogue = (models: readonly BenchModel[]): string => {
  const dir = makeScratch("bench-catalogue-");
  mkdirSync(join(dir, "models"));
  for (const { id, provider, endpoint } of models) {
    const { file, more } = SHIPPED[kindOf(endpoint)];
    const shipped = withoutNews(BUILT_IN_MODELS[file] as JsonObject) as JsonObject & { routes: { rates: unknown }[] };
    const route = {
      id: `${id}/${provider}`,
      provider,
      endpoint,
      expected_s: 1,
      timeout_s: ROUTE_S,
      rates: shipped.routes[0]?.rates,
    };
    writeFileSync(join(dir, "models", `${id}.json`), JSON.stringify({ ...shipped, ...more, id, name: id, routes: [route] }));
  }
  return dir;
};

const PROMPT =
  "A small harbour at dawn, fishing boats with peeling blue paint, gulls over the mole, wet cobblestones, soft light from the left, " +
  "a woman in a yellow raincoat mending a net, mist over the hills behind, 50 mm lens, shallow depth of field, muted colours.";
export const INPUT = SHIPPED.picture.input(PROMPT);
export const bodyOf = ({ id, endpoint }: BenchModel): string =>
  JSON.stringify({ model: id, input: SHIPPED[kindOf(endpoint)].input(PROMPT), max_cost_usd: 10, max_wait_s: 3_600 });

/** The factor by which polls are faster than normal: the first poll is after 20 ms. */
const PACE = 100;
export const POLL_EVERY_MS: readonly [number, number] = [2_000 / PACE, 5_000 / PACE];
export const IN_FLIGHT = 256;
/** Run queue places for all, and the pace of polls. */
export const SEATED = {
  GENROUTER_LIMITS__MAX_RUNNING: "100000",
  GENROUTER_LIMITS__MAX_RUNNING_PER_ROUTE: "100000",
  GENROUTER_SIMULATOR__SPEED: String(PACE),
};

/** A player that keeps generations in flight between begin and end. */
export type Player = { pid: number; begin(): void; end(): Promise<void>; stop(): void };

/** Starts a script with a plan. */
export const startPlayer = async (script: string, plan: object, pinned = onLoadCore): Promise<Player> => {
  const path = join(scratch, `${crypto.randomUUID()}.json`);
  writeFileSync(path, JSON.stringify(plan));
  const { pid, hear, report, stop } = spawnHeard(pinned([process.execPath, script, path]));
  await hear();
  return {
    ...{ pid, stop, begin: () => report("begin") },
    end: async () => {
      report("end");
      await hear();
    },
  };
};
/** Submits to a service, on the load's core. */
export const startSubmitter = ({ service, keys, dir }: Stage, model: BenchModel): Promise<Player> => {
  const plan = {
    url: service.url,
    keys,
    database: join(dir, DATABASE_FILE),
    model: model.id,
    body: bodyOf(model),
    inFlight: IN_FLIGHT,
  };
  return startPlayer(rung("submitter.ts"), plan satisfies SubmitterPlan);
};
/** Runs generations without a service, on the measured core. */
export const startLoop = (plan: LifecyclePlan): Promise<Player> => startPlayer(rung("lifecycle.ts"), plan, onServerCore);

/** One file in this many is read again and hashed. */
const READ_EACH = 50;

/** @throws unless every accepted job of this side was delivered: row, hash and file. */
export const requireDelivery = async (side: LifeSide, provider: Provider): Promise<void> => {
  const { endpoints, files } = await provider.counts();
  const made = files[kindOf(side.model.endpoint)];
  const { submitted, delivered } = endpoints[side.model.endpoint] ?? { submitted: 0, delivered: 0 };
  const rows = withDatabase(side.dir, (db) =>
    db
      .query<{ id: string; status: string; sha256: string | null }, [string]>(
        "SELECT id, status, output ->> '$.files[0].sha256' AS sha256 FROM generation WHERE model = ?1",
      )
      .all(side.model.id),
  );
  const wrong = rows.filter(({ status, sha256 }) => status !== "succeeded" || sha256 !== made.sha256).length;
  if (wrong > 0 || rows.length !== submitted || delivered !== submitted)
    throw new Error(
      `${side.name}: ${submitted} jobs were paid for, ${delivered} fetched, ${rows.length} rows written, ${wrong} of them wrong`,
    );
  for (const [at, { id }] of rows.entries()) {
    const path = join(side.dir, "files", pathOfFile(id, 1));
    if (!existsSync(path) || statSync(path).size !== made.bytes)
      throw new Error(`${side.name}: the file of ${id} is not there, or not whole`);
    if (at % READ_EACH > 0) continue;
    if (new Bun.CryptoHasher("sha256").update(await Bun.file(path).bytes()).digest("hex") !== made.sha256)
      throw new Error(`${side.name}: the file of ${id} is not the one that was made`);
  }
};
