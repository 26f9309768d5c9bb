// Catalogues with one route on each provider that takes files without links, and the bytes that the simulator received.
import { builtInCatalogue, type Catalogue, catalogueOver } from "../../catalogue/load.ts";
import type { Model, Route } from "../../catalogue/schema.ts";
import type { Json } from "../../src/domain/types.ts";
import type { Harness } from "../harness.ts";

/** `model`, `change`: the shipped model with a route on the provider, and what its route lacks to take a picture. */
type Case = { model: string; change?: (route: Route) => Route; fields?: Model["fields"] };

const endpoints = (...paths: readonly [picture: string, text: string]): Pick<Route["options"], "endpoints"> => ({
  endpoints: [
    { when: ["image_url"], path: paths[0] },
    { when: [], path: paths[1] },
  ],
});
const withEndpoints =
  (...paths: readonly [picture: string, text: string]) =>
  (route: Route): Route => ({ ...route, options: { ...route.options, ...endpoints(...paths) } });

const CASES = {
  fal: { model: "flux-kontext-pro" },
  replicate: { model: "flux-kontext-pro" },
  wavespeed: { model: "wan-3.0" },
  runway: { model: "runway-gen-4-turbo" },
  openai: { model: "gpt-image-2" },
  bfl: { model: "flux-kontext-pro" },
  gemini: { model: "gemini-3.1-flash-image" },
  "gemini-video": { model: "gemini-omni-flash" },
  modelark: { model: "vidmodel-2.0-mini" },
  volcengine: { model: "vidmodel-2.0-mini" },
  minimax: { model: "minimax-h3" },
  dashscope: { model: "wan-3.0" },
  kling: { model: "kling-2.5-turbo-pro", change: withEndpoints("image2video", "text2video") },
  pixverse: { model: "pixverse-v6", change: withEndpoints("img/generate", "text/generate") },
  runware: { model: "seedance-1.0-pro" },
  stability: { model: "stable-diffusion-3.5-large", fields: { image_url: { max_items: 1 } } },
  luma: { model: "luma-ray-2" },
} satisfies Record<string, Case>;
export type FileProvider = keyof typeof CASES;

const caseOf = (provider: FileProvider): Case => CASES[provider];
export const modelOf = (provider: FileProvider): string => caseOf(provider).model;

/** The model of a provider with its only route there, which takes pictures; `others`: routes of the model that stay. */
export const catalogueOn = (provider: FileProvider, ...others: string[]): Catalogue => {
  const { model: id, change = (route: Route) => route, fields = {} } = caseOf(provider);
  const model = builtInCatalogue().model(id);
  const route = model?.routes.find((one) => one.provider === provider);
  if (!model || !route) throw new Error(`there is no ${id} on ${provider}`);
  const { image_url: _, end_image_url: __, ...takes } = route.takes;
  const own = change({ ...route, takes });
  const rest = model.routes.filter((one) => others.includes(one.provider));
  return catalogueOver([{ ...model, fields: { ...model.fields, ...fields }, routes: [own, ...rest] }]);
};

/** No provider opens links of the service. */
export const WITHOUT_LINKS = { GENROUTER_FILES__PROVIDER_LINKS: "off" };

/** Sizes and hashes of the files that the last job at the simulator received. */
export const inputsOfLastJob = async ({ simulator, eventually }: Harness) =>
  eventually(() => simulator.jobs().at(-1)?.inputs, "the input files of the job");

/** The stored attempts of a generation. */
export const attemptsOf = async ({ store }: Harness, id: Json | undefined) =>
  store.attemptsOf((await store.findGeneration(String(id)))?.seq ?? 0);
