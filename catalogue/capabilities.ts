// Capabilities of routes: the limits of one route per field, and the widest limits of several routes.

import { memoize } from "../src/collections/memoize.ts";
import { FIELD_NAMES, type FieldName } from "./fields.ts";
import type { Model, Route, RouteLimits } from "./schema.ts";
import type { ChoiceField, Field, LinkField, RangeField } from "./schema-types.ts";

export const isChoice = (field: Field): field is ChoiceField => "values" in field;
export const isRange = (field: Field): field is RangeField => "min" in field;
export const isLink = (field: Field): field is LinkField => "max_items" in field;

/** The fields that a model accepts, in the order of validation. */
export const fieldsOf = memoize((model: Model): readonly (readonly [FieldName, Field])[] =>
  FIELD_NAMES.flatMap((name) => {
    const field = model.fields[name];
    return field ? [[name, field] satisfies [FieldName, Field]] : [];
  }),
);

/** Members of limits that are upper bounds and lower bounds. A missing member sets no bound. */
const UPPER = ["max", "max_length", "max_items", "max_s", "max_total_s"] as const;
const LOWER = ["min", "min_s"] as const;
type Bounds = { [member in (typeof UPPER)[number] | (typeof LOWER)[number]]?: number | undefined };

const boundsOf = (field: Field): Bounds => field as Bounds;

const tighter = (a: number | undefined, b: number | undefined, pick: (...n: number[]) => number) =>
  a === undefined ? b : b === undefined ? a : pick(a, b);

/** The field with a route's limits applied. */
const narrow = (field: Field, limits: RouteLimits): Field => {
  const { values } = limits;
  if (values && isChoice(field)) return { ...field, values: field.values.filter((value) => values.includes(value)) };
  if (values && isRange(field)) {
    const { min, max, ...rest } = field;
    return { ...rest, values: values.filter((value) => typeof value === "number" && value >= min && value <= max) };
  }
  const bounds: Bounds = {};
  for (const member of UPPER) bounds[member] = tighter(boundsOf(field)[member], limits[member], Math.min);
  for (const member of LOWER) bounds[member] = tighter(boundsOf(field)[member], limits[member], Math.max);
  return { ...field, ...defined(bounds) };
};

const defined = (bounds: Bounds): { [member: string]: number } =>
  Object.fromEntries(Object.entries(bounds).flatMap(([member, bound]) => (bound === undefined ? [] : [[member, bound]])));

/** Narrowed fields by limits. A route's limits are always applied to the same field of its model. */
const narrowedBy = memoize((_limits: RouteLimits): Map<Field, Field> => new Map());
const narrowed = (field: Field, limits: RouteLimits): Field => {
  const known = narrowedBy(limits);
  const made = known.get(field) ?? narrow(field, limits);
  known.set(field, made);
  return made;
};

/** A model's field as the route accepts it; undefined when the route lacks the field. */
export const routeField = (route: Pick<Route, "takes">, name: FieldName, field: Field): Field | undefined => {
  const limits = route.takes[name];
  if (limits === null) return undefined;
  return limits ? narrowed(field, limits) : field;
};

/** A model's field with the widest limits of the routes; undefined when every route lacks it. */
export const widestField = (routes: readonly Route[], name: FieldName, field: Field): Field | undefined => {
  const reached = routes.flatMap((route) => routeField(route, name, field) ?? []);
  const [first] = reached;
  if (!first) return undefined;
  if (reached.every(isChoice)) {
    const offered = new Set(reached.flatMap((choice) => choice.values));
    const values = isChoice(field) ? field.values.filter((value) => offered.has(value)) : [...offered].sort(byNumber);
    return { ...first, values };
  }
  const spans = reached.filter((one) => !isChoice(one));
  const bounds: Bounds = {};
  for (const member of UPPER) bounds[member] = widest(spans, member, Math.max);
  for (const member of LOWER) bounds[member] = widest(spans, member, Math.min);
  return { ...field, ...defined(bounds) };
};

const byNumber = (a: unknown, b: unknown) => Number(a) - Number(b);

const widest = (fields: readonly Field[], member: keyof Bounds, pick: (...n: number[]) => number): number | undefined => {
  const bounds = fields.map((field) => boundsOf(field)[member]);
  return bounds.includes(undefined) ? undefined : pick(...bounds.map(Number));
};
