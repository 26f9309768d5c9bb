// Validates a route beyond its schema: unknown providers, limits wider than the model's, requests without a price.

import { isChoice, isLink, isRange, routeField } from "./capabilities.ts";
import { CLIP_FIELDS, FIELD_NAMES, type FieldName, PICTURE_FIELDS, PRICED_FIELDS, type PricedField } from "./fields.ts";
import { combinations, microUsd, rateFor } from "./rates.ts";
import { isDay } from "./route-end-dates.ts";
import type { Model, Rate, Route, RouteLimits } from "./schema.ts";
import type { Field, Scalar } from "./schema-types.ts";

type Fault = [path: string, message: string];

/** Every fault of one route, with paths inside the route. The model's own fields are already valid. */
export const routeFaults = (model: Model, route: Route, providerIds: readonly string[]): Fault[] => {
  const faults: Fault[] = [];
  if (!route.id.startsWith(`${model.id}/`)) faults.push(["/id", `must begin with ${model.id}/`]);
  if (!providerIds.includes(route.provider))
    faults.push(["/provider", `unknown provider ${route.provider}; known are ${providerIds.join(", ")}`]);
  if (route.expected_s > route.timeout_s)
    faults.push(["/expected_s", `${route.expected_s} is above timeout_s, ${route.timeout_s}: it would never deliver`]);
  if (route.confirm_s !== undefined && route.confirm_s > route.timeout_s)
    faults.push(["/confirm_s", `${route.confirm_s} is above timeout_s, ${route.timeout_s}, which ends an attempt anyway`]);
  faults.push(...optionFaults(model, route));
  const reach: Fault[] = [];
  for (const name of FIELD_NAMES) {
    const limits = route.takes[name];
    if (limits !== undefined)
      reach.push(...limitFaults(model, name, limits).map(([at, says]): Fault => [`/takes/${name}${at}`, says]));
  }
  // Prices depend on the accepted values, so faults of the limits are reported alone.
  if (reach.length > 0) return [...faults, ...reach];
  faults.push(...rateFaults(model, route, "rates"));
  if (route.cost.length > 0) faults.push(...rateFaults(model, route, "cost"));
  for (const table of ["image_input_rates", "image_input_cost"] as const) {
    if (route[table].length === 0) continue;
    if (takesPictures(model, route)) faults.push(...rateFaults(model, route, table));
    else faults.push([`/${table}`, "no picture comes in on this route"]);
  }
  if (route.ends !== undefined && !isDay(route.ends)) faults.push(["/ends", `${route.ends} is no day`]);
  const isVideoPriced = CLIP_FIELDS.some((name) => ["joins_output", "beside_output"].includes(model.price.clips[name] ?? ""));
  if (isVideoPriced) faults.push(...rateFaults(model, route, "video_input_rates"));
  else if (route.video_input_rates.length > 0)
    faults.push(["/video_input_rates", "no clip of the model is billed at a video-input rate"]);
  return faults;
};

const optionFaults = (model: Model, route: Route): Fault[] => {
  const faults: Fault[] = [];
  const known: readonly string[] = FIELD_NAMES;
  const isTaken = (name: string) => known.includes(name) && model.fields[name as FieldName] !== undefined;
  for (const name of Object.keys(route.options.fields ?? {}))
    if (!isTaken(name)) faults.push([`/options/fields/${name}`, `the model does not take ${name}`]);
  faults.push(...pathFaults(model, route));
  for (const [at, { when }] of (route.options.endpoints ?? []).entries())
    for (const name of when)
      if (!isTaken(name)) faults.push([`/options/endpoints/${at}/when`, `the model does not take ${name}`]);
  return faults;
};

/** A part of the endpoint must be known for every value that the route accepts. */
const pathFaults = (model: Model, route: Route): Fault[] => {
  const { path } = route.options;
  if (!path) return [];
  const field = model.fields[path.field];
  const reached = field && routeField(route, path.field, field);
  if (!reached) return [["/options/path/field", `the route does not take ${path.field}`]];
  if (!isChoice(reached)) return [["/options/path/field", `${path.field} is not a choice`]];
  return reached.values
    .filter((value) => !Object.hasOwn(path.map, String(value)))
    .map((value): Fault => ["/options/path/map", `has no part for ${value}`]);
};

const takesPictures = (model: Model, route: Route): boolean =>
  PICTURE_FIELDS.some((name) => model.fields[name] !== undefined && route.takes[name] !== null);

/** The members that may narrow a field of this kind. */
const members = (field: Field): readonly (keyof RouteLimits)[] => {
  if (isChoice(field)) return ["values"];
  if (isRange(field)) return ["values", "min", "max"];
  return isLink(field) ? ["max_items", "min_s", "max_s", "max_total_s"] : ["max_length"];
};

const limitFaults = (model: Model, name: FieldName, limits: RouteLimits | null): Fault[] => {
  const field = model.fields[name];
  if (!field) return [["", `the model does not take ${name}`]];
  if (limits === null) return field.required ? [["", "a required field cannot be lacking"]] : [];
  const faults: Fault[] = [];
  const allowed = members(field);
  for (const member of Object.keys(limits) as (keyof RouteLimits)[])
    if (!allowed.includes(member))
      faults.push([`/${member}`, `does not apply; ${name} can be narrowed by ${allowed.join(", ")}`]);
  for (const value of limits.values ?? [])
    if (!isOffered(field, value)) faults.push(["/values", `${value} is not offered by the model`]);
  if (faults.length > 0) return faults;
  const narrowed = routeField({ takes: { [name]: limits } }, name, field);
  if (narrowed && isRange(narrowed) && narrowed.min > narrowed.max) return [["", "leaves nothing to take"]];
  const byDefault = "default" in field ? field.default : undefined;
  if (byDefault !== undefined && narrowed && !isOffered(narrowed, byDefault))
    faults.push(["", `leaves out the model's default, ${byDefault}`]);
  return faults;
};

const isOffered = (field: Field, value: Scalar): boolean => {
  if (isChoice(field)) return field.values.includes(value);
  return isRange(field) && typeof value === "number" && value >= field.min && value <= field.max;
};

type Table = "rates" | "video_input_rates" | "cost" | "image_input_rates" | "image_input_cost";

/** Every request that the route accepts must match a row, and every row must match a request. */
const rateFaults = (model: Model, route: Route, table: Table): Fault[] => {
  const rates = route[table];
  if (rates.length === 0) return [[`/${table}`, "is missing: clips of the model are billed at a video-input rate"]];
  const faults: Fault[] = [];
  for (const [at, rate] of rates.entries()) {
    if (microUsd(rate.usd) === 0) faults.push([`/${table}/${at}/usd`, "must be above 0"]);
    faults.push(...whenFaults(model, rate).map(([path, says]): Fault => [`/${table}/${at}/when${path}`, says]));
  }
  if (faults.length > 0) return faults;
  const requests = combinations(pricedValues(model, route, rates));
  const reached = new Set<Rate>();
  for (const request of requests) {
    const rate = rateFor(rates, request);
    if (rate) reached.add(rate);
    else faults.push([`/${table}`, `no row for ${JSON.stringify(request)}`]);
  }
  for (const [at, rate] of rates.entries())
    if (!reached.has(rate)) faults.push([`/${table}/${at}`, "no request of this route falls under the row"]);
  return faults;
};

const whenFaults = (model: Model, rate: Rate): Fault[] =>
  Object.entries(rate.when).flatMap(([name, value]): Fault[] => {
    const field = model.fields[name as PricedField];
    if (!field) return [[`/${name}`, `the model does not take ${name}`]];
    if (!isOffered(field, value)) return [[`/${name}`, `${value} is not offered by the model`]];
    if (!field.required && !("default" in field))
      return [[`/${name}`, `${name} must be required or have a default to be priced by`]];
    return [];
  });

/** The fields that the rows depend on, with the values that the route accepts. */
export const pricedValues = (model: Model, route: Pick<Route, "takes">, rates: readonly Rate[]): [PricedField, Scalar[]][] =>
  PRICED_FIELDS.flatMap((name): [PricedField, Scalar[]][] => {
    const field = model.fields[name];
    if (!field || !rates.some((rate) => name in rate.when)) return [];
    const reached = routeField(route, name, field);
    if (!reached) return "default" in field && field.default !== undefined ? [[name, [field.default]]] : [];
    if (isChoice(reached)) return [[name, reached.values]];
    if (!isRange(reached)) return [];
    const { min, max } = reached;
    return [[name, Array.from({ length: max - min + 1 }, (_, at) => min + at)]];
  });
