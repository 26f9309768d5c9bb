// The models of the trials: images, first from a provider with inline results or first from a provider with a queue.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BUILT_IN_MODELS } from "../../catalogue/built-in.ts";
import type { JsonObject } from "../../src/domain/types.ts";

/** A provider that returns the image in its response only, without a job that can be looked up. */
export const AT_ONCE = "together";
/** A provider with a queue and a list of jobs, so a lost submission can be looked up. */
export const ASKABLE = "fal";
export const MODELS = ["outage-at-once", "outage-queued"] as const;
const ORDER: Readonly<Record<(typeof MODELS)[number], readonly string[]>> = {
  "outage-at-once": [AT_ONCE, ASKABLE],
  "outage-queued": [ASKABLE, AT_ONCE],
};
const BASE = "flux-2-dev.json";

/** Times of the routes, in s. */
export type RouteTimes = { timeout_s: number; confirm_s: number };

type Written = JsonObject & { routes: (JsonObject & { provider: string })[] };

/** Writes the models of a trial. @returns the directory */
export const writeModels = (dir: string, times: RouteTimes): string => {
  mkdirSync(join(dir, "models"), { recursive: true });
  const base = BUILT_IN_MODELS[BASE] as Written;
  for (const id of MODELS) {
    const routes = ORDER[id].map((provider, index) => {
      const route = base.routes.find((one) => one.provider === provider);
      if (!route) throw new Error(`${BASE} has no route of ${provider}`);
      // The first route is the cheaper one.
      const price = [{ usd: index === 0 ? "0.02" : "0.04" }];
      return { ...route, ...times, id: `${id}/${provider}`, rates: price };
    });
    writeFileSync(join(dir, "models", `${id}.json`), JSON.stringify({ ...base, id, name: id, routes }));
  }
  return dir;
};
