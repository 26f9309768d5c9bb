// The published JSON Schema of dialect files equals the printed one, and every shipped dialect names it.
import { expect, test } from "bun:test";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readDialects } from "../../../src/providers/dialect/load.ts";
import { printedDialectSchema } from "../../../src/providers/dialect/schema.ts";
import { dropScratch, makeScratch } from "../../scratch.ts";

const DIALECTS = join(import.meta.dir, "../../../catalogue/dialects");
const PUBLISHED = join(DIALECTS, "dialect.schema.json");
const shipped = readdirSync(DIALECTS).filter((name) => name !== "dialect.schema.json");

test("the published schema is current (UPDATE=1 rewrites it)", () => {
  if (process.env.UPDATE === "1") writeFileSync(PUBLISHED, printedDialectSchema());
  expect(readFileSync(PUBLISHED, "utf8")).toBe(printedDialectSchema());
});

test("every shipped dialect also loads as a dialect file of the operator", () => {
  const dir = makeScratch("dialects-");
  mkdirSync(join(dir, "providers"));
  for (const name of shipped) cpSync(join(DIALECTS, name), join(dir, "providers", name));
  expect([...readDialects(dir).keys()].sort()).toEqual(shipped.map((name) => name.replace(".json", "")).sort());
  dropScratch(dir);
});

test("every shipped dialect has a $schema member for editors", () => {
  expect(shipped.length).toBeGreaterThan(20);
  for (const name of shipped)
    expect(JSON.parse(readFileSync(join(DIALECTS, name), "utf8")).$schema, name).toBe("./dialect.schema.json");
});

test.each<[name: string, change: (dialect: Record<string, unknown>) => unknown, fault: string]>([
  ["a missing member", ({ submit: _, ...rest }) => rest, "#/submit: is missing; expected an object"],
  ["an unknown member", (dialect) => ({ ...dialect, colour: 1 }), "#/colour: unknown key; allowed are "],
  [
    "an unknown member of the submission",
    ({ submit, ...rest }) => ({ ...rest, submit: { ...(submit as object), foo: 1 } }),
    "#/submit/foo: unknown key; allowed are ",
  ],
  [
    "an invalid pattern of keys",
    (dialect) => ({ ...dialect, key_form: { pattern: "^sk-(", example: "sk-1" } }),
    '#/key_form/pattern: "^sk-(" is not a regular expression',
  ],
  [
    "an example of a key that its pattern does not match",
    (dialect) => ({ ...dialect, key_form: { pattern: "^sk-", example: "key-1" } }),
    "#/key_form/example: does not match the pattern",
  ],
])("a dialect file with %s is rejected with what is allowed", (_, change, fault) => {
  const dir = makeScratch("dialects-");
  mkdirSync(join(dir, "providers"));
  const bfl = JSON.parse(readFileSync(join(DIALECTS, "bfl.json"), "utf8"));
  writeFileSync(join(dir, "providers", "mine.json"), JSON.stringify(change({ ...bfl, id: "mine" })));
  expect(() => readDialects(dir)).toThrow(fault);
  dropScratch(dir);
});
