// Settings of a service whose providers are the benches' own.
import { type BenchModel, SEATED, writeCatalogue } from "./upstream.ts";

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
