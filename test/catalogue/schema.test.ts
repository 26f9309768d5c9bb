// The published JSON Schema of model files equals the one that the code prints; UPDATE=1 rewrites it.
import { expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BUILT_IN_MODELS } from "../../catalogue/built-in.ts";
import { ModelSchema, printedSchema } from "../../catalogue/schema.ts";

const CATALOGUE = join(import.meta.dir, "../../catalogue");
const PUBLISHED = join(CATALOGUE, "catalogue.schema.json");

test("the published schema is current (UPDATE=1 rewrites it)", () => {
  if (process.env.UPDATE === "1") writeFileSync(PUBLISHED, printedSchema());
  expect(readFileSync(PUBLISHED, "utf8")).toBe(printedSchema());
});

test("the published schema lists every member of a model file and allows no others", () => {
  const published = JSON.parse(readFileSync(PUBLISHED, "utf8"));
  expect(Object.keys(published.properties)).toEqual(Object.keys(ModelSchema.properties));
  expect(published.additionalProperties).toBe(false);
  expect(published.required).toEqual(["id", "name", "maker", "kind", "tasks", "input_kind", "fields", "price", "routes"]);
});

test("every model file is built in and has a $schema member for editors", () => {
  const names = readdirSync(join(CATALOGUE, "models")).sort();
  expect(Object.keys(BUILT_IN_MODELS).sort()).toEqual(names);
  for (const name of names) {
    const written = JSON.parse(readFileSync(join(CATALOGUE, "models", name), "utf8"));
    expect(written.$schema).toBe("../catalogue.schema.json");
    expect(BUILT_IN_MODELS[name]).toEqual(written);
    expect(`${written.id}.json`).toBe(name);
  }
});
