// The simulator inside `serve --simulate`: a server of its own on loopback that every provider's address leads to.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Catalogue } from "../../catalogue/load.ts";
import type { Model, Route } from "../../catalogue/schema.ts";
import type { Settings } from "../config/schema.ts";
import type { JsonObject, MediaKind } from "../domain/types.ts";
import { DIALECT_IDS } from "./dialect-ids.ts";
import { createSimulator, type Simulator } from "./simulator.ts";

export type EmbeddedSimulator = {
  /** Null when every provider has an address of its own and no simulator was needed. */
  url: string | null;
  /** The settings with the providers' addresses, keys and the simulator's host filled in. */
  settings: Settings;
  stop(): Promise<void>;
};

/** Jobs keep the simulator's address, so a restart takes the same port again where it is free. */
const rememberedPort = (path: string): number => {
  try {
    return Number(readFileSync(path, "utf8")) || 0;
  } catch {
    return 0;
  }
};

/** What an endpoint makes, by the catalogue of the moment; undefined where routes make different things below the same one. */
export const kindsOf =
  (catalogue: () => Catalogue) =>
  (endpoint: string): MediaKind | undefined => {
    const isBelow = (base: string) => endpoint === base || endpoint.startsWith(`${base}/`);
    const kinds = new Set(
      catalogue().models.flatMap(({ kind, routes }) => (routes.some((route) => isBelow(route.endpoint)) ? [kind] : [])),
    );
    const [only] = kinds;
    return kinds.size === 1 ? only : undefined;
  };

/** Values of requests that a route does not say, because what is behind its endpoint makes nothing else. */
const silentIn = ({ fields }: Model, route: Route): JsonObject => {
  const silent: JsonObject = {};
  for (const name of ["resolution", "duration"] as const) {
    const field = fields[name];
    if (route.options.fields?.[name] === null && field && "default" in field && field.default !== undefined)
      silent[name] = field.default;
  }
  return silent;
};

/** What an endpoint makes where its requests do not say it: a length and a resolution that are the only ones there. */
export const defaultsOf =
  (catalogue: () => Catalogue) =>
  (endpoint: string): JsonObject => {
    const found = catalogue().models.flatMap((model) =>
      model.routes.flatMap((route) => {
        const paths = route.options.endpoints?.map(({ path }) => `${route.endpoint}/${path}`) ?? [route.endpoint];
        return paths.includes(endpoint) ? [silentIn(model, route)] : [];
      }),
    );
    const [first = {}] = found;
    return found.every((one) => JSON.stringify(one) === JSON.stringify(first)) ? first : {};
  };

/** Opens the simulator, its log in the data directory, unless the settings lead every provider elsewhere. */
export const createEmbeddedSimulator = async (settings: Settings, catalogue: () => Catalogue): Promise<EmbeddedSimulator> => {
  const wanted = DIALECT_IDS.filter((id) => settings.providers[id]?.base_url === undefined);
  let simulator: Simulator | null = null;
  if (wanted.length > 0) {
    const portFile = join(settings.data.dir, "simulator.port");
    const options = {
      speed: settings.simulator.speed,
      log: join(settings.data.dir, "simulator.log"),
      ...{ kindOf: kindsOf(catalogue), unsaid: defaultsOf(catalogue) },
    };
    const port = rememberedPort(portFile);
    simulator = await createSimulator({ ...options, port }).catch((fault: unknown) => {
      if (port === 0) throw fault;
      return createSimulator(options);
    });
    writeFileSync(portFile, new URL(simulator.url).port);
  }
  const addresses: Readonly<Record<string, string>> = simulator?.baseUrls ?? {};
  const providers = { ...settings.providers };
  for (const id of DIALECT_IDS) {
    const own = settings.providers[id];
    const base_url = own?.base_url ?? addresses[id];
    // In simulator mode a real key is never sent anywhere but to an address the operator gave.
    const key = own?.base_url === undefined ? "simulator" : (own.key ?? "simulator");
    providers[id] = { ...(base_url === undefined ? {} : { base_url }), key };
  }
  const hosts = [settings.media.allow, simulator ? new URL(simulator.url).host : ""].filter((host) => host !== "");
  return {
    url: simulator?.url ?? null,
    settings: { ...settings, providers, media: { ...settings.media, allow: hosts.join(",") } },
    stop: async () => simulator?.stop(),
  };
};
