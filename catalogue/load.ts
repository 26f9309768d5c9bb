// Loads the catalogue, built-in or from a directory. An invalid catalogue is refused with all of its faults, each as `path:
// message`.
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { Value, type ValueError, ValueErrorType } from "@sinclair/typebox/value";
import { allowedBy, unknownKeyText } from "../src/domain/schema-errors.ts";
import { BUILT_IN_MODELS } from "./built-in.ts";
import { FIELD_NAMES, type FieldName } from "./fields.ts";
import { type Model, ModelSchema, type Rate, type Route } from "./schema.ts";
import { modelFaults } from "./validate-model.ts";

export type Catalogue = {
  /** In the order of the file names. */
  readonly models: readonly Model[];
  model(modelId: string): Model | undefined;
  route(routeId: string): { model: Model; route: Route } | undefined;
};

/**
 * An invalid catalogue. `faults` holds one line per fault: `models/x.json#/routes/0/id: message`. `isPassing`: a file could not
 * be read or parsed, which also happens while it is being written.
 */
export class CatalogueError extends Error {
  readonly faults: readonly string[];
  readonly isPassing: boolean;
  constructor(faults: readonly string[], isPassing = faults.some((line) => UNREAD.test(line))) {
    super(`the catalogue has ${faults.length === 1 ? "a fault" : `${faults.length} faults`}: ${faults.join("; ")}`);
    this.faults = faults;
    this.isPassing = isPassing;
  }
}
const UNREAD = /^[^#]*: cannot be read as JSON: /;

/** A model file as written: every member with a default is optional. */
type WrittenRate = Omit<Rate, "when"> & Partial<Pick<Rate, "when">>;
type Tables = "rates" | "video_input_rates" | "image_input_rates" | "cost" | "image_input_cost";
type WrittenRoute = Omit<Route, "options" | "on_refusal" | "on_lost" | "takes" | Tables> &
  Partial<Pick<Route, "options" | "on_refusal" | "on_lost" | "takes">> &
  Partial<Record<Tables, WrittenRate[]>> & { rates: WrittenRate[] };
type WrittenModel = Omit<Model, "files" | "simulated" | "delivers" | "price" | "routes"> & {
  $schema?: string;
  files?: number;
  simulated?: boolean;
  delivers?: Model["delivers"];
  price: { unit: Model["price"]["unit"]; clips?: Model["price"]["clips"] };
  routes: WrittenRoute[];
};

type Shipped = Readonly<Record<string, WrittenModel>>;

const filledRates = (rates: WrittenRate[]): Rate[] => rates.map((rate) => ({ when: {}, ...rate }));

const filledRoute = (route: WrittenRoute): Route => ({
  ...route,
  options: route.options ?? {},
  on_refusal: route.on_refusal ?? "fail",
  on_lost: route.on_lost ?? "next",
  takes: route.takes ?? {},
  rates: filledRates(route.rates),
  video_input_rates: filledRates(route.video_input_rates ?? []),
  image_input_rates: filledRates(route.image_input_rates ?? []),
  cost: filledRates(route.cost ?? []),
  image_input_cost: filledRates(route.image_input_cost ?? []),
});

/** States `excludes` on both sides, so that each field names all fields that it excludes. */
const filledFields = (fields: Model["fields"]): Model["fields"] => {
  const filled: Model["fields"] = {};
  const isExcluding = FIELD_NAMES.some((name) => fields[name]?.excludes !== undefined);
  for (const name of FIELD_NAMES) {
    const field = fields[name];
    if (!field) continue;
    const isExcluded = (other: FieldName) =>
      field.excludes?.includes(other) || (fields[other]?.excludes ?? []).includes(name) || false;
    const excludes = isExcluding ? FIELD_NAMES.filter((other) => fields[other] && isExcluded(other)) : [];
    filled[name] = excludes.length > 0 ? { ...field, excludes } : field;
  }
  return filled;
};

const filledModel = ({ $schema: _, ...model }: WrittenModel): Model => ({
  ...model,
  files: model.files ?? 1,
  simulated: model.simulated ?? false,
  fields: filledFields(model.fields),
  delivers: model.delivers ?? {},
  price: { unit: model.price.unit, clips: model.price.clips ?? {} },
  routes: model.routes.map(filledRoute),
});

const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
};

/** The former name of a route's `max_running`. */
const FORMER_MAX_RUNNING = /^\/routes\/\d+\/seats$/;

const shapeMessage = (fault: ValueError): string => {
  const { type, path, schema, value } = fault;
  if (type === ValueErrorType.ObjectAdditionalProperties)
    return FORMER_MAX_RUNNING.test(path) ? "unknown key; the present name is max_running" : unknownKeyText(fault);
  const allowed = schema.description ?? allowedBy(schema);
  if (type === ValueErrorType.ObjectRequiredProperty) return `is missing; expected ${allowed}`;
  if (type === ValueErrorType.ArrayUniqueItems) return "contains the same item twice";
  return `expected ${allowed}, not ${shown(value)}`;
};

/** Faults of a file against the schema, the first of each path. */
const shapeFaults = (written: unknown): [path: string, message: string][] => {
  const faults = new Map<string, string>();
  for (const error of Value.Errors(ModelSchema, written))
    if (!faults.has(error.path)) faults.set(error.path, shapeMessage(error));
  return [...faults];
};

/** Creates a catalogue of validated models. */
export const catalogueOver = (models: readonly Model[]): Catalogue => {
  const byId = new Map(models.map((model) => [model.id, model]));
  const routes = new Map(models.flatMap((model) => model.routes.map((route) => [route.id, { model, route }] as const)));
  return { models, model: (modelId) => byId.get(modelId), route: (routeId) => routes.get(routeId) };
};

type WrittenFile = { path: string; content: unknown };

const catalogueOf = (files: readonly WrittenFile[], providerIds: readonly string[], earlier: readonly string[]): Catalogue => {
  const faults = [...earlier];
  const models = new Map<string, Model>();
  const routeIds = new Set<string>();
  for (const { path, content } of files) {
    const wrong = shapeFaults(content);
    const say = ([at, message]: readonly [string, string]) => faults.push(`${path}#${at || "/"}: ${message}`);
    wrong.forEach(say);
    if (wrong.length > 0) continue;
    const written = content as WrittenModel;
    const model = filledModel(written);
    modelFaults(model, written.fields, providerIds).forEach(say);
    if (models.has(model.id)) say(["/id", `the id ${model.id} is used by another file`]);
    models.set(model.id, model);
    for (const [at, route] of model.routes.entries()) {
      if (routeIds.has(route.id)) say([`/routes/${at}/id`, `the id ${route.id} is used twice`]);
      routeIds.add(route.id);
    }
  }
  if (faults.length > 0) throw new CatalogueError(faults);
  return catalogueOver([...models.values()]);
};

/** The providers of the built-in models. */
const shippedProviders = (): string[] => [
  ...new Set(Object.values(BUILT_IN_MODELS as Shipped).flatMap(({ routes }) => routes.map(({ provider }) => provider))),
];

let builtIn: Catalogue | undefined;
/** The built-in catalogue. Tests validate it before a release, so a start does not. */
export const builtInCatalogue = (): Catalogue => {
  builtIn ??= catalogueOver(Object.values(BUILT_IN_MODELS as Shipped).map(filledModel));
  return builtIn;
};

/**
 * Loads the catalogue of a directory: every `models/*.json` and `models/*.jsonc` (both may hold comments and trailing commas).
 * @throws CatalogueError with every fault of every file
 */
export const loadCatalogue = (directory: string, providerIds: readonly string[] = shippedProviders()): Catalogue => {
  const folder = join(directory, "models");
  const files: WrittenFile[] = [];
  const faults: string[] = [];
  for (const name of modelFiles(folder)) {
    const path = join(folder, name);
    try {
      files.push({ path, content: Bun.JSONC.parse(readFileSync(path, "utf8")) });
    } catch (fault) {
      faults.push(`${path}: cannot be read as JSON: ${fault instanceof Error ? fault.message : String(fault)}`);
    }
  }
  if (files.length + faults.length === 0) faults.push(`${folder}: holds no model file; put one file per model there`);
  return catalogueOf(files, providerIds, faults);
};

const modelFiles = (folder: string): string[] => {
  try {
    return readdirSync(folder)
      .filter((name) => /\.jsonc?$/.test(name) && !basename(name).startsWith("."))
      .sort();
  } catch (fault) {
    const isThere = !(fault instanceof Error && "code" in fault && (fault.code === "ENOENT" || fault.code === "ENOTDIR"));
    throw new CatalogueError([`${folder}: cannot be read; the catalogue directory must hold a directory models/`], isThere);
  }
};
