// Catalogue of a crash run, with routes that settle lost submissions within the run.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BUILT_IN_MODELS } from "../../../catalogue/built-in.ts";
import type { JsonObject } from "../../domain/types.ts";
import { AT_ONCE_MODEL, ORDERED_MODELS } from "./workload.ts";

/**
 * Providers whose list proves whether a job exists. Lost submissions of other providers wait until their confirmation time ends.
 */
export const LISTING = ["fal", "replicate", "modelark", "volcengine"] as const;
/** The model with short route times: its attempts are lost and capped, and some of their jobs deliver late. */
const IMPATIENT_MODEL = "vidmodel-2.0-mini";
const IMPATIENT = { expected_s: 1, timeout_s: 1 };

/** The synchronous provider, and the provider of its fallback; a lost response is awaited for this time. */
export const AT_ONCE = "together";
export const CONFIRM_S = 20;
const AT_ONCE_ROUTES = [
  [AT_ONCE, "0.02"],
  ["fal", "0.04"],
] as const;
const AT_ONCE_BASE = "flux-2-dev.json";

/** Its clips are pinned inputs; the tests of named crash points submit it. */
const CLIP_MODEL = "sim-lipsync-1";

type Written = JsonObject & { routes: { provider: string }[] };

const writtenOf = (id: string): Written => {
  const base = BUILT_IN_MODELS[id === AT_ONCE_MODEL ? AT_ONCE_BASE : `${id}.json`] as Written;
  if (id !== AT_ONCE_MODEL)
    return { ...base, routes: base.routes.filter(({ provider }) => LISTING.some((one) => one === provider)) };
  const routes = AT_ONCE_ROUTES.map(([provider, usd]) => {
    const route = base.routes.find((one) => one.provider === provider);
    if (!route) throw new Error(`${AT_ONCE_BASE} has no route of ${provider}`);
    return { ...route, id: `${id}/${provider}`, rates: [{ usd }], confirm_s: CONFIRM_S };
  });
  return { ...base, id, name: id, routes };
};

/** @param isImpatient shortens the times of one model. @returns the directory */
export const writeCatalogue = (dir: string, isImpatient = false): string => {
  mkdirSync(join(dir, "models"), { recursive: true });
  for (const id of [...ORDERED_MODELS, CLIP_MODEL]) {
    const model = writtenOf(id);
    const times = isImpatient && id === IMPATIENT_MODEL ? IMPATIENT : {};
    const routes = model.routes.map((route) => ({ ...route, ...times }));
    writeFileSync(join(dir, "models", `${id}.json`), JSON.stringify({ ...model, routes }));
  }
  return dir;
};

let shared: string | undefined;
/**
 * One catalogue for all services of this process, deleted at its exit. It is not in the data directory, which may be unwritable.
 */
export const sharedCatalogue = (): string => {
  if (shared !== undefined) return shared;
  const dir = mkdtempSync(join(tmpdir(), "crash-catalogue-"));
  process.once("exit", () => rmSync(dir, { recursive: true, force: true }));
  shared = writeCatalogue(dir);
  return shared;
};
