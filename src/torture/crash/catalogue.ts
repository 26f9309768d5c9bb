// The catalogue of a crash run: what its clients order, on routes whose lost submissions come to an end within the run.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BUILT_IN_MODELS } from "../../../catalogue/built-in.ts";
import type { JsonObject } from "../../domain/types.ts";
import { AT_ONCE_MODEL, ORDERED_MODELS } from "./workload.ts";

/** Providers whose list shows whether a job was made; what others lost is waited for until its time is over. */
export const LISTING = ["fal", "replicate", "modelark", "volcengine"] as const;
/** The model whose routes may be given little time: its attempts are lost and capped, and some of their jobs deliver late. */
const IMPATIENT_MODEL = "vidmodel-2.0-mini";
const IMPATIENT = { expected_s: 1, timeout_s: 1 };

/** The provider that answers at once, and the one behind it; a lost answer is waited for so long. */
export const AT_ONCE = "together";
export const CONFIRM_S = 20;
const AT_ONCE_ROUTES = [
  [AT_ONCE, "0.02"],
  ["fal", "0.04"],
] as const;
const AT_ONCE_BASE = "flux-2-dev.json";

/** Its clips are pinned; the named points of a crash order it. */
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

/** @param isImpatient cuts the times of one model. @returns the directory */
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
/** One for all services of this process, gone with it: a data directory may be one that nothing can be written to. */
export const sharedCatalogue = (): string => {
  if (shared !== undefined) return shared;
  const dir = mkdtempSync(join(tmpdir(), "crash-catalogue-"));
  process.once("exit", () => rmSync(dir, { recursive: true, force: true }));
  shared = writeCatalogue(dir);
  return shared;
};
