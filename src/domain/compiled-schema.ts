// Schema checks that are compiled when they are first used.
import type { Static, TSchema } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";

export type SchemaCheck<T extends TSchema> = Pick<TypeCheck<T>, "Check" | "Errors">;

/** Compiles a schema at the first value: a start uses few of the schemas of the service, and each takes up to a millisecond. */
export const schemaCheck = <T extends TSchema>(schema: T): SchemaCheck<T> => {
  let compiled: TypeCheck<T> | undefined;
  const check = () => {
    compiled ??= TypeCompiler.Compile(schema);
    return compiled;
  };
  return { Check: (value): value is Static<T> => check().Check(value), Errors: (value) => check().Errors(value) };
};
