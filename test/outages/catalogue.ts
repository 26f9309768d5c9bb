// What is ordered in the trials: pictures, by a provider that answers with the result itself first, and by one with a queue first.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BUILT_IN_MODELS } from "../../catalogue/built-in.ts";
import type { JsonObject } from "../../src/domain/types.ts";

/** A provider that answers with the picture: what it made is in the answer and nowhere else, and nobody can ask for it. */
export const AT_ONCE = "together";
/** A provider with a queue, whose list shows whether a job was made. */
export const ASKABLE = "fal";
export const MODELS = ["outage-at-once", "outage-queued"] as const;
const ORDER: Readonly<Record<(typeof MODELS)[number], readonly string[]>> = {
  "outage-at-once": [AT_ONCE, ASKABLE],
  "outage-queued": [ASKABLE, AT_ONCE],
};
const BASE = "flux-2-dev.json";

/** Times of its routes, s. */
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
      // The first is the cheaper one.
      const price = [{ usd: index === 0 ? "0.02" : "0.04" }];
      return { ...route, ...times, id: `${id}/${provider}`, rates: price };
    });
    writeFileSync(join(dir, "models", `${id}.json`), JSON.stringify({ ...base, id, name: id, routes }));
  }
  return dir;
};
