// Request templates: JSON with placeholders and operators; values without content are omitted.
import type { Json, JsonObject } from "../../domain/types.ts";
import { conditionReading } from "./conditions.ts";
import { DialectError, type Known, pathReading, type Reading, type Scope, valueReading } from "./placeholders.ts";

/**
 * The operators of a template besides plain JSON and texts with placeholders. Each is an object whose first member begins with
 * `$`.
 * - `{ "$each": "input.image_urls", "as": T }`: T once per item, with `{item}`; a single value is a list of one.
 * - `{ "$when": CONDITION, "then": T, "else": T }`: the first or the second; without `else`, nothing.
 * - `{ "$concat": [T, …] }`: one list of the lists' items; a value that is not a list is an item.
 * - `{ "$merge": [T, …] }`: one object of the objects' members; a later object overrides an earlier one.
 * - `{ "$map": T, "rows": { "adaptive": "auto" }, "else": T }`: the row of the value; without a row the value, or `else`. `rows`
 * may be the name of a table, e.g. `route.sizes`.
 * - `{ "$json": … }`: exactly this JSON, including braces.
 */
type Operator = "$each" | "$when" | "$concat" | "$merge" | "$map" | "$json";
const OPERATORS: Readonly<Record<Operator, readonly string[]>> = {
  $each: ["as"],
  $when: ["then", "else"],
  $concat: [],
  $merge: [],
  $map: ["rows", "else"],
  $json: [],
};
const NEEDED: Readonly<Partial<Record<Operator, string>>> = { $each: "as", $when: "then", $map: "rows" };

const isObject = (value: unknown): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);

/** Runs `work` for a part of a template and prefixes the path of a fault. */
export const within = <T>(way: string, work: () => T): T => {
  try {
    return work();
  } catch (fault) {
    if (!(fault instanceof DialectError)) throw fault;
    throw new DialectError(`/${way}${fault.message.startsWith("/") ? "" : ": "}${fault.message}`);
  }
};

const listReading = (items: readonly Json[], known: Known): Reading => {
  const each = items.map((item, at) => within(String(at), () => templateReading(item, known)));
  if (each.length === 0) return () => [];
  return (scope) => {
    const filled = each.flatMap((read) => {
      const value = read(scope);
      return value === undefined ? [] : [value];
    });
    // A list without remaining items counts as missing.
    return filled.length === 0 ? undefined : filled;
  };
};

const objectReading = (members: JsonObject, known: Known): Reading => {
  const each = Object.entries(members).map(
    ([name, member]) => [name, within(name, () => templateReading(member, known))] as const,
  );
  if (each.length === 0) return () => ({});
  return (scope) => {
    const filled: JsonObject = {};
    let isEmpty = true;
    for (const [name, read] of each) {
      const value = read(scope);
      if (value === undefined) continue;
      filled[name] = value;
      isEmpty = false;
    }
    return isEmpty ? undefined : filled;
  };
};

const partsReading = (parts: Json | undefined, known: Known): ((scope: Scope) => Json[]) => {
  if (!Array.isArray(parts)) throw new DialectError("must be a list");
  const each = parts.map((part, at) => within(String(at), () => templateReading(part, known)));
  return (scope) =>
    each.flatMap((read) => {
      const value = read(scope);
      return value === undefined ? [] : [value];
    });
};

const BUILDERS: Readonly<Record<Operator, (members: JsonObject, known: Known) => Reading>> = {
  $json:
    ({ $json }) =>
    () =>
      $json,
  $each: ({ $each, as }, known) => {
    if (typeof $each !== "string") throw new DialectError("$each must be the name of a value");
    const list = pathReading($each, known);
    const item = within("as", () => templateReading(as ?? null, [...known, "item"]));
    return (scope) => {
      const value = list(scope);
      if (value === undefined) return undefined;
      const filled = (Array.isArray(value) ? value : [value]).flatMap((one) => {
        const made = item({ ...scope, item: one });
        return made === undefined ? [] : [made];
      });
      return filled.length === 0 ? undefined : filled;
    };
  },
  $when: (members, known) => {
    const holds = within("$when", () => conditionReading(members.$when, known));
    const yes = within("then", () => templateReading(members.then ?? null, known));
    const no = Object.hasOwn(members, "else")
      ? within("else", () => templateReading(members.else ?? null, known))
      : () => undefined;
    return (scope) => (holds(scope) ? yes(scope) : no(scope));
  },
  $concat: ({ $concat }, known) => {
    const parts = within("$concat", () => partsReading($concat, known));
    return (scope) => {
      const all = parts(scope).flat();
      return all.length === 0 ? undefined : all;
    };
  },
  $merge: ({ $merge }, known) => {
    const parts = within("$merge", () => partsReading($merge, known));
    return (scope) => {
      const all = parts(scope).filter(isObject);
      return all.length === 0 ? undefined : Object.assign({}, ...all);
    };
  },
  $map: (members, known) => {
    const value = within("$map", () => templateReading(members.$map ?? null, known));
    const { rows } = members;
    const table = typeof rows === "string" ? within("rows", () => pathReading(rows, known)) : () => rows;
    if (typeof rows !== "string" && !isObject(rows)) throw new DialectError("rows must be an object or the name of an object");
    const other = Object.hasOwn(members, "else") ? within("else", () => templateReading(members.else ?? null, known)) : value;
    return (scope) => {
      const found = value(scope);
      if (found === undefined) return undefined;
      const word = String(found);
      const known = table(scope);
      return isObject(known) && Object.hasOwn(known, word) ? known[word] : other(scope);
    };
  },
};

const isOperator = (name: string | undefined): name is Operator => name !== undefined && Object.hasOwn(OPERATORS, name);

const operatorReading = (name: string, members: JsonObject, known: Known): Reading => {
  if (!isOperator(name)) throw new DialectError(`${name} is not an operator; allowed are ${Object.keys(OPERATORS).join(", ")}`);
  const allowed = [name, ...OPERATORS[name]];
  const foreign = Object.keys(members).find((member) => !allowed.includes(member));
  if (foreign !== undefined) throw new DialectError(`${foreign} is not allowed with ${name}; allowed are ${allowed.join(", ")}`);
  const needed = NEEDED[name];
  if (needed !== undefined && !Object.hasOwn(members, needed)) throw new DialectError(`${name} needs ${needed}`);
  return BUILDERS[name](members, known);
};

/**
 * Compiles a template. Missing values are omitted, and so is an object or a list that becomes empty; one that is empty in the
 * template stays. @throws DialectError with the path of the fault, e.g. `/content/0/text: "promt" is not known here`
 */
export const templateReading = (template: Json, known: Known): Reading => {
  if (typeof template === "string") return valueReading(template, known);
  if (Array.isArray(template)) return listReading(template, known);
  if (!isObject(template)) return () => template;
  const name = Object.keys(template).find((member) => member.startsWith("$"));
  return name === undefined ? objectReading(template, known) : operatorReading(name, template, known);
};
