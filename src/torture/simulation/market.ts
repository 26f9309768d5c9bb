// Providers and catalogues of a simulated world, with every means of recovery.
import { type Catalogue, catalogueOver } from "../../../catalogue/load.ts";
import type { Model, Route } from "../../../catalogue/schema.ts";
import type { ProviderTraits, Recovery } from "../../providers/port.ts";
import { SOLD } from "./deliveries.ts";
import type { Rng } from "./rng.ts";

const MINUTE_MS = 60_000;

/** A submission arrives at most this long after it was sent, even if its sender learns of it later. */
export const LATEST_ARRIVAL_MS = 80_000;
/** A job is on its provider's list at most this long after its acceptance. */
export const LATEST_LISTING_MS = 60_000;

const traits = (recovery: Recovery, findSettleMs: number): ProviderTraits => ({
  recovery,
  findWindowMs: 60 * MINUTE_MS,
  findSettleMs,
  pollEveryMs: [2_000, 20_000],
  pollLeastMs: 500,
  watchMs: 90 * MINUTE_MS,
  resultTtlMs: 10 * MINUTE_MS,
});

/** Provider → its traits. The settle times cover the latest arrival and, for lists, the latest listing. */
export const PROVIDERS: Readonly<Record<string, ProviderTraits>> = {
  keyed: traits("key", 0),
  looked: traits("client_id", LATEST_ARRIVAL_MS + 10_000),
  marked: traits("list_marker", LATEST_ARRIVAL_MS + LATEST_LISTING_MS + 10_000),
  matched: traits("list_match", LATEST_ARRIVAL_MS + LATEST_LISTING_MS + 10_000),
  silent: traits("none", 0),
};
const PROVIDER_NAMES = Object.keys(PROVIDERS);

const drawRoute = (dice: Rng, modelId: string, provider: string): Route => ({
  id: `${modelId}/${provider}`,
  provider,
  endpoint: `sim/${modelId}`,
  options: {},
  expected_s: dice.whole(5, 60),
  timeout_s: dice.pick([60, 120, 300, 900, 2400]),
  ...(dice.chance(0.3) ? { max_running: dice.whole(1, 3) } : {}),
  on_refusal: dice.pick(["fail", "next"]),
  on_lost: dice.pick(["next", "next", "hold", "fail"]),
  takes: {},
  rates: [{ when: {}, usd: `0.${String(dice.whole(1, 60)).padStart(2, "0")}` }],
  video_input_rates: [],
  image_input_rates: [],
  image_input_cost: [],
  cost: [],
});

/** The provider that can return results in its responses. */
const INSTANT = "silent";

const drawModel = (dice: Rng, id: string, isInstantFirst: boolean): Model => {
  const drawn = PROVIDER_NAMES.filter(() => dice.chance(0.6));
  if (drawn.length === 0) drawn.push(dice.pick(PROVIDER_NAMES));
  const providers = isInstantFirst ? [INSTANT, ...drawn.filter((one) => one !== INSTANT)] : drawn;
  return {
    id,
    name: id,
    maker: null,
    ...dice.pick(SOLD),
    input_kind: "common",
    files: 1,
    simulated: true,
    // Billed separately: the length of a clip is not part of these prices, and the clip is pinned as if it were.
    price: { unit: "generation", clips: { video_url: "beside_output" } },
    routes: providers.map((provider) => drawRoute(dice, id, provider)),
  };
};

/** @param instantFirst the probability that the first provider of a model can be synchronous. */
export const drawCatalogue = (dice: Rng, instantFirst: number): Catalogue => {
  const own = dice.fork("instant");
  return catalogueOver(
    Array.from({ length: dice.whole(1, 3) }, (_, at) => drawModel(dice, `model-${at + 1}`, own.chance(instantFirst))),
  );
};

/** A changed catalogue: other prices, and routes that are removed or added again. */
export const redrawCatalogue = (dice: Rng, before: Catalogue): Catalogue =>
  catalogueOver(
    before.models.map((model) => {
      const kept = model.routes.filter(() => dice.chance(0.8));
      const routes = (kept.length > 0 ? kept : model.routes).map((route) =>
        dice.chance(0.6) ? { ...drawRoute(dice, model.id, route.provider), max_running: route.max_running ?? 64 } : route,
      );
      return { ...model, routes };
    }),
  );

/** The price of a route in a catalogue, in whole credits. */
export const priceIn = (catalogue: Catalogue, routeId: string): number | undefined => {
  const usd = catalogue.route(routeId)?.route.rates[0]?.usd;
  return usd === undefined ? undefined : Math.round(Number(usd) * 100);
};
