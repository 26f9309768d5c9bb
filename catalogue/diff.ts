// The changes between two catalogues: added and removed models and routes, rates before and after, and every other member by its
// path.
import type { Model, Rate, Route } from "./schema.ts";

/** `before` or `after` is undefined for an added or removed item. Rates are decimal USD strings. */
export type Change = {
  what: "model" | "route" | "rate" | "member";
  /** Id of the model or route that changed. */
  of: string;
  /** The table and the condition of a rate, or the path of a member; empty for whole models and routes. */
  at: string;
  before: string | undefined;
  after: string | undefined;
};

const TABLES = ["rates", "video_input_rates", "image_input_rates", "cost", "image_input_cost"] as const;

const rateWords = (table: string, { when }: Rate): string => {
  const conditions = Object.entries(when).map(([name, value]) => `${name} ${String(value)}`);
  return [table, ...(conditions.length > 0 ? [conditions.join(", ")] : [])].join(" ");
};

const modelWords = ({ kind, routes, price }: Model): string => {
  const usd = routes.flatMap(({ rates }) => rates.map((rate) => Number(rate.usd)));
  const [least, most] = [Math.min(...usd), Math.max(...usd)];
  const rates = least === most ? `${least}` : `${least}–${most}`;
  return `${kind}, ${routes.length === 1 ? "1 route" : `${routes.length} routes`}, ${rates} USD per ${price.unit.replace("_", " ")}`;
};

const routeWords = ({ provider, rates }: Route): string =>
  `${provider}, ${[...new Set(rates.map(({ usd }) => usd))].join(" or ")} USD`;

/** Members as paths with their values, without the members that are compared separately. */
const membersOf = (value: unknown, without: readonly string[], path = ""): [string, string][] => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [[path, JSON.stringify(value) ?? "nothing"]];
  return Object.entries(value)
    .filter(([key]) => path !== "" || !without.includes(key))
    .flatMap(([key, below]) => membersOf(below, without, path === "" ? key : `${path}.${key}`));
};

/** Pairs the items of both sides by name, in the order of the names. */
const sides = <T>(before: Iterable<[string, T]>, after: Iterable<[string, T]>): [string, T | undefined, T | undefined][] => {
  const [old, fresh] = [new Map(before), new Map(after)];
  return [...new Set([...old.keys(), ...fresh.keys()])].sort().map((name) => [name, old.get(name), fresh.get(name)]);
};

const memberChanges = (of: string, before: object, after: object, without: readonly string[]): Change[] =>
  sides(membersOf(before, without), membersOf(after, without))
    .filter(([, old, fresh]) => old !== fresh)
    .map(([at, old, fresh]) => ({ what: "member", of, at, before: old, after: fresh }));

const rateChanges = (before: Route, after: Route): Change[] =>
  TABLES.flatMap((table) => {
    const named = (route: Route) => route[table].map((rate): [string, string] => [rateWords(table, rate), rate.usd]);
    return sides(named(before), named(after))
      .filter(([, old, fresh]) => old !== fresh)
      .map(([at, old, fresh]): Change => ({ what: "rate", of: after.id, at, before: old, after: fresh }));
  });

const routeChanges = (before: Model, after: Model): Change[] => {
  const named = ({ routes }: Model) => routes.map((route): [string, Route] => [route.id, route]);
  return sides(named(before), named(after)).flatMap(([of, old, fresh]): Change[] => {
    if (old && fresh) return [...rateChanges(old, fresh), ...memberChanges(of, old, fresh, TABLES)];
    return [{ what: "route", of, at: "", before: old && routeWords(old), after: fresh && routeWords(fresh) }];
  });
};

/** Every change between two catalogues, model by model. */
export const changesBetween = (before: readonly Model[], after: readonly Model[]): Change[] => {
  const named = (models: readonly Model[]) => models.map((model): [string, Model] => [model.id, model]);
  return sides(named(before), named(after)).flatMap(([of, old, fresh]): Change[] => {
    if (old && fresh) return [...memberChanges(of, old, fresh, ["routes"]), ...routeChanges(old, fresh)];
    return [{ what: "model", of, at: "", before: old && modelWords(old), after: fresh && modelWords(fresh) }];
  });
};
