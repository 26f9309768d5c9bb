// What the benches of whole generations share: the provider, the models that run there, and proof that each was delivered.
//
// The provider is a small process of our own and not `genrouter simulator`: that one answers through node:http, remembers every job and
// each line of its log, and draws its pictures, which have a few kB where those of models have a hundred. It needs five times the CPU
// per job, as much as the bare loop that asks it, so that the core of the load would be full before the one that is measured.
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
  /** Accepts every connection and never answers. */
  silentUrl: string;
  counts(): Promise<Counts>;
};

/**
 * Starts the provider on the core of the load, and ends it and all that plays with it when the work is over.
 * @param looks so many times fal's queue is asked about a job until it is done.
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

/** A model of the bench: one file of the kind that its endpoint makes, on one provider only, so that nothing falls back. */
export type BenchModel = { id: string; provider: "fal" | "replicate"; endpoint: string };
export const ON_FAL: BenchModel = { id: "picture-fal", provider: "fal", endpoint: "bench/fal" };
export const ON_REPLICATE: BenchModel = { id: "picture-replicate", provider: "replicate", endpoint: "bench/replicate" };
const ROUTE_S = 2_400;

/** Of each kind a model that the service ships with, and what is asked of it. */
const SHIPPED: Readonly<Record<Kind, { file: string; input: (prompt: string) => JsonObject; more: JsonObject }>> = {
  picture: {
    file: "sim-image-1.json",
    input: (prompt) => ({ prompt, aspect_ratio: "1:1", resolution: "1K", quality: "medium", seed: 7 }),
    more: { files: 1 },
  },
  clip: { file: "hailuo-2.3.json", input: (prompt) => ({ prompt, duration: CLIP_MS / 1000 }), more: {} },
  sound: { file: "eleven-sound-effects-2.json", input: (prompt) => ({ prompt, duration: SOUND_MS / 1000 }), more: {} },
};
/** Members of a model that builds of before do not know, and that are of no account here. */
const withoutNews = ({ $schema: _, delivers: __, ...model }: JsonObject): JsonObject => model;

/** @returns the directory of a catalogue with these models, each made from one that the service ships with. */
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

/** So much faster than life is the service asking: a provider that takes no time is asked for the first time after 20 ms. */
const PACE = 100;
export const POLL_EVERY_MS: readonly [number, number] = [2_000 / PACE, 5_000 / PACE];
export const IN_FLIGHT = 256;
/** Seats for all, and the pace. */
export const SEATED = {
  GENROUTER_LIMITS__MAX_RUNNING: "100000",
  GENROUTER_LIMITS__MAX_RUNNING_PER_ROUTE: "100000",
  GENROUTER_SIMULATOR__SPEED: String(PACE),
};

/** Something that keeps generations in flight while it is told to. */
export type Player = { pid: number; begin(): void; end(): Promise<void>; stop(): void };

/** Starts a script that plays by a plan. */
export const startPlayer = async (script: string, plan: object, pinned = onLoadCore): Promise<Player> => {
  const path = join(scratch, `${crypto.randomUUID()}.json`);
  writeFileSync(path, JSON.stringify(plan));
  const { pid, hear, tell, stop } = spawnHeard(pinned([process.execPath, script, path]));
  await hear();
  return {
    ...{ pid, stop, begin: () => tell("begin") },
    end: async () => {
      tell("end");
      await hear();
    },
  };
};
/** Submits to a service, on the core of the load. */
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
/** Makes generations by itself, on the core of what is measured. */
export const startLoop = (plan: LifecyclePlan): Promise<Player> => startPlayer(rung("lifecycle.ts"), plan, onServerCore);

/** Every file of so many is read again and hashed. */
const READ_EACH = 50;

/** @throws unless every job that the provider accepted from this side was delivered: row, hash and file. */
export const insistOnDelivery = async (side: LifeSide, provider: Provider): Promise<void> => {
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
