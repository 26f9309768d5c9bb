// Settings of services in benches: with the bench's providers, or with passivated generations.
import { type BenchModel, SEATED, writeCatalogue } from "./upstream.ts";

/** A run queue place for each, and polls so rare that nothing changes during a measurement. */
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

/** Run queue places for all, and a catalogue with only these models. */
export const seatedOn = (provider: Urls, models: readonly BenchModel[]) => ({
  ...SEATED,
  GENROUTER_CATALOGUE__DIR: writeCatalogue(models),
  ...providedBy(provider),
});
