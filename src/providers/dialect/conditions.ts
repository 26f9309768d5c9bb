// Conditions of a dialect file: presence, number and value of a request's fields.
import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { schemaCheck } from "../../domain/compiled-schema.ts";
import type { Json } from "../../domain/types.ts";
import { readPlaceholder } from "../request-body.ts";
import { DialectError, type Known, pathReading, type Scope } from "./placeholders.ts";

const closed = { additionalProperties: false } as const;
const Scalar = Type.Union([Type.String(), Type.Number(), Type.Boolean()]);
/** The name of a value, which tests its presence, or one of the objects. */
const ConditionSchema = Type.Recursive(
  (Self: TSchema) =>
    Type.Union([
      Type.String({ description: "true if the value is present, e.g. input.image_url" }),
      Type.Object({ not: Self }, closed),
      Type.Object({ all: Type.Array(Self, { minItems: 1 }) }, closed),
      Type.Object({ any: Type.Array(Self, { minItems: 1 }) }, closed),
      Type.Object({ inline: Type.String() }, { ...closed, description: "true if the value is a file inside the request" }),
      Type.Object({ value: Type.String(), is: Type.Union([Scalar, Type.Array(Scalar, { minItems: 1 })]) }, closed),
      Type.Object(
        { value: Type.String(), count: Type.Tuple([Type.Integer({ minimum: 0 }), Type.Integer({ minimum: 0 })]) },
        { ...closed, description: "minimum and maximum number of items of a list" },
      ),
    ]),
  { $id: "Condition" },
);
type Condition =
  | string
  | { not: Condition }
  | { all: Condition[] }
  | { any: Condition[] }
  | { inline: string }
  | { value: string; is: Static<typeof Scalar> | Static<typeof Scalar>[] }
  | { value: string; count: [number, number] };

const countOf = (value: Json | undefined): number => (value === undefined ? 0 : Array.isArray(value) ? value.length : 1);

const check = schemaCheck(ConditionSchema);

/** Compiles a condition. @throws DialectError for an invalid condition, and for an unknown name */
export const conditionReading = (written: unknown, known: Known): ((scope: Scope) => boolean) => {
  if (!check.Check(written))
    throw new DialectError(
      "is not a condition; allowed are a name, { not }, { all }, { any }, { inline }, { value, is } and { value, count }",
    );
  return readingOf(written as Condition, known);
};

const readingOf = (condition: Condition, known: Known): ((scope: Scope) => boolean) => {
  if (typeof condition === "string") {
    const read = pathReading(condition, known);
    return (scope) => read(scope) !== undefined;
  }
  if ("not" in condition) {
    const holds = readingOf(condition.not, known);
    return (scope) => !holds(scope);
  }
  if ("all" in condition) {
    const each = condition.all.map((one) => readingOf(one, known));
    return (scope) => each.every((holds) => holds(scope));
  }
  if ("any" in condition) {
    const each = condition.any.map((one) => readingOf(one, known));
    return (scope) => each.some((holds) => holds(scope));
  }
  if ("inline" in condition) {
    const read = pathReading(condition.inline, known);
    return (scope) => readPlaceholder(String(read(scope))) !== undefined;
  }
  const read = pathReading(condition.value, known);
  if ("count" in condition) {
    const [least, most] = condition.count;
    if (least > most) throw new DialectError(`count: ${least} to ${most} is not a range`);
    return (scope) => {
      const count = countOf(read(scope));
      return count >= least && count <= most;
    };
  }
  const wanted: readonly unknown[] = Array.isArray(condition.is) ? condition.is : [condition.is];
  return (scope) => wanted.includes(read(scope));
};
