// The published JSON Schema of dialect files is the one that the code prints, and every shipped dialect names it; UPDATE=1 writes it anew.
import { expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { printedDialectSchema } from "../../../src/providers/dialect/schema.ts";

const DIALECTS = join(import.meta.dir, "../../../src/providers/dialects");
const PUBLISHED = join(DIALECTS, "dialect.schema.json");

test("the published schema is current (UPDATE=1 rewrites it)", () => {
  if (process.env.UPDATE === "1") writeFileSync(PUBLISHED, printedDialectSchema());
  expect(readFileSync(PUBLISHED, "utf8")).toBe(printedDialectSchema());
});

test("every shipped dialect tells editors its schema", () => {
  const names = readdirSync(DIALECTS).filter((name) => name !== "dialect.schema.json");
  expect(names.length).toBeGreaterThan(20);
  for (const name of names)
    expect(JSON.parse(readFileSync(join(DIALECTS, name), "utf8")).$schema, name).toBe("./dialect.schema.json");
});
