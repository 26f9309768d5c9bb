// The embedded simulator of `serve --simulate`, a separate server on loopback.
//
// The base URLs of all providers point to it.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Catalogue } from "../../catalogue/load.ts";
import type { Model, Route } from "../../catalogue/schema.ts";
import type { Settings } from "../config/schema.ts";
import type { JsonObject, MediaKind } from "../domain/types.ts";
import { DIALECT_IDS } from "./dialect-ids.ts";
import { createSimulator, type Simulator } from "./simulator.ts";

export type EmbeddedSimulator = {
  /** Null if every provider has a configured base URL, so that no simulator is needed. */
  url: string | null;
  /** The settings with the providers' base URLs, credentials and the simulator's host. */
  settings: Settings;
  stop(): Promise<void>;
};

/** Jobs contain the simulator's address, so a restart uses the same port if it is free. */
const rememberedPort = (path: string): number => {
  try {
    return Number(readFileSync(path, "utf8")) || 0;
  } catch {
    return 0;
  }
};

/** The kind of result of an endpoint, from the current catalogue; undefined if its routes produce different kinds. */
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

/** Values that a route does not send, because its endpoint supports only these. */
const silentIn = ({ fields }: Model, route: Route): JsonObject => {
  const silent: JsonObject = {};
  for (const name of ["resolution", "duration"] as const) {
    const field = fields[name];
    if (route.options.fields?.[name] === null && field && "default" in field && field.default !== undefined)
      silent[name] = field.default;
  }
  return silent;
};

/** The defaults of an endpoint for values that its requests omit: a single supported length or resolution. */
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

/** Starts the simulator, with its log in the data directory, unless the settings give every provider a base URL. */
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
    // In simulator mode a real credential is sent only to a base URL that the operator configured.
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
