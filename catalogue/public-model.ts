// The public entry of a model (§2.4): its input fields, and its prices on the configured routes.

import { fieldsOf, isChoice, isLink, isRange, widestField } from "./capabilities.ts";
import { FIELD_NAMES, type FieldName, type PricedField } from "./fields.ts";
import { combinations, microUsd, rateFor } from "./rates.ts";
import type { Model, PRICE_UNITS, Rate, Route } from "./schema.ts";
import type { Field, Scalar } from "./schema-types.ts";
import { pricedValues } from "./validate-route.ts";

/** One accepted input field as published: the members of `Field` that apply. */
export type EntryOption = {
  values?: Scalar[];
  min?: number;
  max?: number;
  default?: Scalar;
  max_length?: number;
  max_items?: number;
  min_s?: number;
  max_s?: number;
  max_total_s?: number;
  required?: boolean;
  requires?: FieldName[];
  excludes?: FieldName[];
};
/** A price row: USD per unit for requests whose fields hold the values in `when`. */
export type EntryRate = { when: { [field in PricedField]?: Scalar }; usd: number };
export type ModelEntry = {
  id: string;
  object: "model";
  name: string;
  maker: string | null;
  kind: Model["kind"];
  tasks: Model["tasks"];
  options: { [field in FieldName]?: EntryOption };
  price: {
    currency: "usd";
    unit: (typeof PRICE_UNITS)[number];
    rates: EntryRate[];
    video_input_rates: EntryRate[];
    /** USD for each input image, in addition to the rates; absent where input images are free. */
    image_input_rates?: EntryRate[];
  };
};

/**
 * The entry of a model in the model list. Tasks and options are those that at least one configured route supports. Each price is
 * the lowest of the configured routes, whatever their health. A model without a configured route is shown in full, without
 * prices, but must not be listed.
 */
export const modelEntry = (model: Model, isConfigured: (routeId: string) => boolean): ModelEntry => {
  const routes = model.routes.filter((route) => isConfigured(route.id));
  const options = optionsOf(model, routes.length > 0 ? routes : model.routes);
  const perPicture = cheapestRates(model, routes, "image_input_rates");
  return {
    id: model.id,
    object: "model",
    name: model.name,
    maker: model.maker,
    kind: model.kind,
    tasks: model.tasks.filter((task) => isOffered(task, model, options)),
    options,
    price: {
      currency: "usd",
      unit: model.price.unit,
      rates: cheapestRates(model, routes, "rates"),
      video_input_rates: cheapestRates(model, routes, "video_input_rates"),
      ...(perPicture.length > 0 ? { image_input_rates: perPicture } : {}),
    },
  };
};

/** The input fields of each task: a request for the task holds one of them. */
const BEGINS_WITH: { [task in Model["tasks"][number]]?: readonly FieldName[] } = {
  "image-to-image": ["image_url", "image_urls"],
  "image-to-video": ["image_url"],
  "first-last-frame": ["end_image_url"],
  "reference-to-video": ["image_urls", "video_url", "video_urls"],
  "video-to-video": ["video_url"],
};

/** Whether a task is offered. It is not if the model accepts its media and none of these routes does. */
const isOffered = (task: Model["tasks"][number], model: Model, options: ModelEntry["options"]): boolean => {
  const begins = (BEGINS_WITH[task] ?? []).filter((name) => model.fields[name] !== undefined);
  return begins.length === 0 || begins.some((name) => options[name] !== undefined);
};

const optionsOf = (model: Model, routes: readonly Route[]): ModelEntry["options"] => {
  const reached = new Map<FieldName, Field>();
  for (const [name, field] of fieldsOf(model)) {
    const widest = widestField(routes, name, field);
    if (widest) reached.set(name, widest);
  }
  // A field is removed if a field that it requires is missing.
  for (const [name, { requires = [] }] of reached) if (!requires.every((other) => reached.has(other))) reached.delete(name);
  const options: ModelEntry["options"] = {};
  for (const [name, field] of reached) options[name] = optionOf(field, (other) => reached.has(other));
  return options;
};

const optionOf = (field: Field, isTaken: (name: FieldName) => boolean): EntryOption => {
  const option: EntryOption = {};
  if (isChoice(field)) option.values = [...field.values];
  else if (isRange(field)) Object.assign(option, { min: field.min, max: field.max });
  else if (isLink(field)) {
    option.max_items = field.max_items;
    if (field.min_s !== undefined) option.min_s = field.min_s;
    if (field.max_s !== undefined) option.max_s = field.max_s;
    if (field.max_total_s !== undefined) option.max_total_s = field.max_total_s;
  } else option.max_length = field.max_length;
  if ("default" in field && field.default !== undefined) option.default = field.default;
  if (field.required) option.required = true;
  const requires = field.requires ?? [];
  if (requires.length > 0) option.requires = [...requires];
  const excludes = FIELD_NAMES.filter((name) => field.excludes?.includes(name) && isTaken(name));
  if (excludes.length > 0) option.excludes = excludes;
  return option;
};

/** One row per combination of the values that set the price on the configured routes, in the order of the model's values. */
const cheapestRates = (
  model: Model,
  routes: readonly Route[],
  table: "rates" | "video_input_rates" | "image_input_rates",
): EntryRate[] => {
  const priced = routes.filter((route) => route[table].length > 0);
  const all = priced.flatMap((route) => route[table]);
  if (all.length === 0) return [];
  const everywhere = pricedValues(model, { takes: {} }, all);
  return combinations(everywhere).flatMap((request) => {
    const offers = priced.flatMap((route) => (isTaken(model, route, all, request) ? (rateFor(route[table], request) ?? []) : []));
    const cheapest = offers.reduce<Rate | undefined>(
      (best, rate) => (best && microUsd(best.usd) <= microUsd(rate.usd) ? best : rate),
      undefined,
    );
    return cheapest ? [{ when: request, usd: Number(cheapest.usd) }] : [];
  });
};

/** Whether a route accepts all values of a combination. */
const isTaken = (model: Model, route: Route, rates: readonly Rate[], request: Readonly<Record<string, Scalar>>): boolean =>
  pricedValues(model, route, rates).every(([name, values]) => values.some((value) => value === request[name]));
