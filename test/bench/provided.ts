// Settings of a service that benches start: whose providers are their own, or whose generations rest.
import { type BenchModel, SEATED, writeCatalogue } from "./upstream.ts";

/** A seat for each, and asked about so seldom that nothing moves while it is looked at. */
export const RESTING = {
  GENROUTER_LIMITS__MAX_RUNNING: "1000000",
  GENROUTER_LIMITS__MAX_RUNNING_PER_ROUTE: "1000000",
  GENROUTER_SIMULATOR__SPEED: "0.0001",
};

type Urls = { falUrl: string; replicateUrl: string };

export const providedBy = ({ falUrl, replicateUrl }: Urls) => ({
  GENROUTER_PROVIDERS__FAL__BASE_URL: falUrl,
  GENROUTER_PROVIDERS__REPLICATE__BASE_URL: replicateUrl,
});

/** Seats for all, and a catalogue of nothing but these models. */
export const seatedOn = (provider: Urls, models: readonly BenchModel[]) => ({
  ...SEATED,
  GENROUTER_CATALOGUE__DIR: writeCatalogue(models),
  ...providedBy(provider),
});
